//! MariaDB's proof that a self-signed certificate is its own (from 11.4).
//!
//! After a login with a hash of the password, the OK packet's text is `\x01` and the hexadecimal SHA-256 over the
//! stored password hash, the 20 bytes of the greeting's challenge, and the SHA-256 of the certificate. A man in the
//! middle does not know the hash, and the server's proof covers the server's certificate.
//!
//! Source: MDEV-31855; confirmed on MariaDB 11.8.

use aws_lc_rs::{constant_time::verify_slices_are_equal, digest};
use data_encoding::HEXLOWER;
use pki::{Fingerprint, key_is_checked};
use rustls_pki_types::CertificateDer;

use super::TlsFacts;
use crate::{auth::PluginLogin, bytes::Bytes, error::Error};

/// Length of the part of the greeting's challenge that is used.
const CHALLENGE_BYTES: usize = 20;

/// Checks the proof in the OK packet that ends a login.
///
/// # Errors
/// [`Error::ProofWrong`]; [`Error::ProofMissing`] if it is `demanded`.
pub(super) fn judge(
    ok_packet: &[u8],
    login: &PluginLogin<'_>,
    challenge: &[u8],
    tls: &TlsFacts,
    demanded: bool,
) -> Result<(), Error> {
    let missing = |why| if demanded { Err(Error::ProofMissing { why }) } else { Ok(()) };
    let Some(der) = tls.peer_certificates.first() else { return missing("it presented none") };
    let Some(proof) = text_of(ok_packet).and_then(|text| text.strip_prefix(b"\x01")) else {
        return missing("only MariaDB from 11.4 on does, for accounts with a password that is proven by its hash");
    };
    let Some(hash) = login.password_hash() else { return missing("the account's plug-in keeps no hash for it") };
    let challenge = challenge.get(..CHALLENGE_BYTES).ok_or(Error::Malformed { what: "challenge" })?;
    let mut expected = digest::Context::new(&digest::SHA256);
    expected.update(&hash);
    expected.update(challenge);
    expected.update(Fingerprint::from_der(der).as_bytes());
    let expected = HEXLOWER.encode(expected.finish().as_ref());
    verify_slices_are_equal(&proof.to_ascii_lowercase(), expected.as_bytes()).map_err(|_| Error::ProofWrong)?;
    // The proof covers the certificate, which is public; the handshake proved possession of its key.
    if key_is_checked(&CertificateDer::from(der.as_slice())) {
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
    // Affected rows and last insert id; then two bytes of status and two of warnings.
    bytes.length_encoded()?;
    bytes.length_encoded()?;
    bytes.take(4)?;
    let rest = bytes.rest();
    // MariaDB writes the length before the text, MySQL does not.
    let mut counted = Bytes::new(rest);
    match counted.length_encoded_string() {
        Some(text) if counted.is_empty() => Some(text),
        _ => Some(rest),
    }
}
