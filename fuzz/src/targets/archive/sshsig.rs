//! Any text as a signature, a private key, or a list of signers.

use archive::sshsig::{AllowedSigners, Signature, SigningKey};

pub(crate) fn run(bytes: &[u8]) {
    if let Ok(signature) = Signature::parse(bytes) {
        let _ = signature.verify("sealant-receipt", b"a message");
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = SigningKey::parse(text);
    if let (Ok(signers), Ok(signature)) = (AllowedSigners::parse(text), Signature::parse(bytes))
        && let Ok(key) = signature.verify("n", b"")
    {
        let _ = signers.allow(key, "db1", "n");
    }
}
