//! Builds age files from the specification, so that tests can break each rule alone.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{self, Read, Write};

use agefile::{Decryptor, Encryptor, Error, Identity, Recipient};
use aws_lc_rs::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey},
    agreement::{PrivateKey, UnparsedPublicKey, X25519, agree},
    hkdf, hmac,
};
use data_encoding::BASE64_NOPAD;

pub(crate) const FILE_KEY: [u8; 16] = *b"YELLOW SUBMARINE";
pub(crate) const VERSION: &str = "age-encryption.org/v1\n";

/// The specification's example identity.
pub(crate) fn identity() -> Identity {
    "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX".parse().expect("an identity")
}

pub(crate) fn encrypt(plain: &[u8], recipients: &[Recipient]) -> Vec<u8> {
    let mut encryptor = Encryptor::new(Vec::new(), recipients).expect("begun");
    encryptor.write_all(plain).expect("written");
    encryptor.finish().expect("finished")
}

/// The plain text read before the end or the error, and the result.
pub(crate) fn decrypt(file: &[u8], identities: &[Identity]) -> (Vec<u8>, Result<(), Error>) {
    let mut plain = Vec::new();
    let read = Decryptor::new(file, identities)
        .and_then(|mut decryptor| decryptor.read_to_end(&mut plain).map(drop).map_err(inner_error));
    (plain, read)
}

/// The crate's error inside an I/O error.
pub(crate) fn inner_error(error: io::Error) -> Error {
    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
    *error.into_inner().expect("an error of the crate").downcast().expect("an error of the crate")
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    BASE64_NOPAD.encode(bytes)
}

/// First line and body of a stanza for this recipient.
pub(crate) fn x25519(recipient: &Recipient) -> (String, String) {
    let ephemeral = PrivateKey::from_private_key(&X25519, &[9; 32]).expect("a key");
    let share = ephemeral.compute_public_key().expect("its public half");
    let salt = [share.as_ref(), recipient.as_bytes()].concat();
    let theirs = UnparsedPublicKey::new(&X25519, recipient.as_bytes());
    let derive = |secret: &[u8]| Ok(derived(secret, &salt, b"age-encryption.org/v1/X25519"));
    let key = agree(&ephemeral, theirs, (), derive).expect("agreed");
    (format!("-> X25519 {}\n", base64(share.as_ref())), format!("{}\n", base64(&seal(&key, [0; 12], &FILE_KEY))))
}

/// A complete stanza.
pub(crate) fn stanza(recipient: &Recipient) -> String {
    let (first, body) = x25519(recipient);
    first + &body
}

/// Appends the last line with a matching MAC.
pub(crate) fn with_mac(lines: &str) -> Vec<u8> {
    let covered = format!("{lines}---");
    let key = hmac::Key::new(hmac::HMAC_SHA256, &derived(&FILE_KEY, &[], b"header"));
    format!("{covered} {}\n", base64(hmac::sign(&key, covered.as_bytes()).as_ref())).into_bytes()
}

/// A header with these stanzas and a matching MAC, and a payload of one byte.
pub(crate) fn file(stanzas: &str) -> Vec<u8> {
    [with_mac(&format!("{VERSION}{stanzas}")), payload(&[(b"!", true)])].concat()
}

/// A nonce and these chunks; the flag marks the last chunk.
pub(crate) fn payload(chunks: &[(&[u8], bool)]) -> Vec<u8> {
    let mut payload = vec![5; 16];
    let key = derived(&FILE_KEY, &payload, b"payload");
    for (number, (chunk, last)) in (0_u64..).zip(chunks) {
        let mut nonce = [0; 12];
        nonce[3..11].copy_from_slice(&number.to_be_bytes());
        nonce[11] = u8::from(*last);
        payload.extend(seal(&key, nonce, chunk));
    }
    payload
}

fn derived(secret: &[u8], salt: &[u8], info: &[u8]) -> [u8; 32] {
    let mut key = [0; 32];
    let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret);
    prk.expand(&[info], hkdf::HKDF_SHA256).and_then(|okm| okm.fill(&mut key)).expect("derived");
    key
}

fn seal(key: &[u8], nonce: [u8; 12], plain: &[u8]) -> Vec<u8> {
    let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("a key"));
    let mut encrypted = plain.to_vec();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut encrypted).expect("encrypted");
    encrypted
}
