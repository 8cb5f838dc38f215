//! Pairing codes as people paste them. A code that parses is written as itself.

use transfer::pairing::PairingCode;

pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(code) = text.parse::<PairingCode>() {
        assert_eq!(code.to_string(), text.trim().to_ascii_lowercase());
        assert!((1..=4).contains(&code.sockets().count()));
    }
}
