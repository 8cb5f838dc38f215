//! Entry points of the fuzz targets: the parsers for answers of a Vault and of a KMIP service.

use zeroize::Zeroizing;

use crate::{kmip::message, kv, secret};

/// Parses any bytes as the answer about a mount, as a list of names, and as a secret of both versions.
///
/// # Panics
/// If a field that is borrowed from the answer is longer than the answer.
pub fn answer(bytes: &[u8]) {
    if let Ok(engine) = kv::engine_of(bytes, "secret/mysql") {
        let _ = (engine.secret("1"), engine.list());
    }
    let names = secret::names(bytes).unwrap_or_default();
    let _ = secret::withdrawn(bytes);
    for is_second in [false, true] {
        let Ok(answer) = secret::Answer::new(Zeroizing::new(bytes.to_vec()), is_second) else { continue };
        let _ = answer.version();
        for name in names.iter().take(8).map(String::as_str).chain(["data", "key"]) {
            assert!(answer.text(name).map_or(0, str::len) <= bytes.len());
            let _ = answer.unescaped(name);
        }
    }
}

/// Parses any bytes as the value of a response message of KMIP.
///
/// # Panics
/// If a key is longer than the answer.
pub fn kmip(bytes: &[u8]) {
    let ids = message::identifiers(bytes).unwrap_or_default();
    for id in ids.iter().take(8).map(String::as_str).chain(["1"]) {
        let _ = message::info(bytes, id);
        assert!(message::key(bytes, id).map_or(0, <[u8]>::len) <= bytes.len());
    }
}
