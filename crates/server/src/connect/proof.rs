//! MariaDB's proof that a self-signed certificate is its own (from 11.4).
//!
//! After a log-in by a hash of the password, the OK packet's text is `\x01` and, in hexadecimal, SHA-256 of the hash that
//! the server keeps of the password, the 20 bytes of its greeting's challenge, and the SHA-256 of its certificate. Whoever
//! sits between with a certificate of his own does not know the hash, and the server's proof is of another certificate.
//!
//! Source: MDEV-31855; confirmed on MariaDB 11.8.

use aws_lc_rs::{constant_time::verify_slices_are_equal, digest};
use data_encoding::HEXLOWER;
use rustls_pki_types::CertificateDer;

use super::TlsFacts;
use crate::{
    auth::Login,
    bytes::Bytes,
    error::Error,
    tls::{Fingerprint, verify},
};

/// Bytes of the greeting's challenge that are used.
const CHALLENGE_BYTES: usize = 20;

/// Judges the OK packet that ends a log-in: whether the server has proven that the certificate is its own.
///
/// # Errors
/// [`Error::ProofWrong`], and if it is `demanded` [`Error::ProofMissing`].
pub(super) fn judge(
    ok_packet: &[u8],
    login: &Login<'_>,
    challenge: &[u8],
    tls: &TlsFacts,
    demanded: bool,
) -> Result<(), Error> {
    let missing = |why| if demanded { Err(Error::ProofMissing { why }) } else { Ok(()) };
    let Some(der) = tls.peer_certificates.first() else { return missing("it has shown none") };
    let Some(proof) = text_of(ok_packet).and_then(|text| text.strip_prefix(b"\x01")) else {
        return missing("only MariaDB from 11.4 on does, for accounts with a password that is proven by its hash");
    };
    let Some(hash) = login.password_hash() else { return missing("the account's plug-in keeps no hash for it") };
    let challenge = challenge.get(..CHALLENGE_BYTES).ok_or(Error::Malformed { what: "challenge" })?;
    let mut expected = digest::Context::new(&digest::SHA256);
    expected.update(&hash);
    expected.update(challenge);
    expected.update(Fingerprint::of(der).as_bytes());
    let expected = HEXLOWER.encode(expected.finish().as_ref());
    verify_slices_are_equal(&proof.to_ascii_lowercase(), expected.as_bytes()).map_err(|_| Error::ProofWrong)?;
    // The proof is of the certificate, which is public; of its key the handshake was.
    if verify::key_is_checked(&CertificateDer::from(der.as_slice())) {
        return Ok(());
    }
    missing("its certificate's key is too short to be checked")
}

/// The text of an OK packet.
///
/// Source: MySQL's "OK_Packet", for a client without `CLIENT_SESSION_TRACK`.
fn text_of(ok_packet: &[u8]) -> Option<&[u8]> {
    let mut bytes = Bytes::new(ok_packet);
    bytes.take(1)?;
    // Rows changed and the last id; then two bytes of status and two of warnings.
    bytes.length_encoded()?;
    bytes.length_encoded()?;
    bytes.take(4)?;
    let rest = bytes.rest();
    // MariaDB writes its length before it, MySQL does not.
    let mut counted = Bytes::new(rest);
    match counted.length_encoded_string() {
        Some(text) if counted.is_empty() => Some(text),
        _ => Some(rest),
    }
}
