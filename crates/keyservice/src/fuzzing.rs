//! Entry points of the fuzz targets: the parsers for answers of a Vault, of a KMIP service and of AWS KMS.

use zeroize::Zeroizing;

use crate::{kmip::message, kms, kms_fault::KmsFault, kv, secret};

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

/// Parses any bytes as an answer of AWS KMS, of success and of failure.
///
/// # Panics
/// If a key is longer than the answer.
pub fn kms(bytes: &[u8]) {
    assert!(kms::plaintext(bytes).map_or(0, |key| key.len()) <= bytes.len());
    let _ = KmsFault::of_answer(400, bytes, "eu-central-1").to_string();
}
