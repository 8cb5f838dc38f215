//! Builds ClientHellos that offer exactly what a probe tests.
//!
//! Source: RFC 8446 section 4.1.2, RFC 5246 section 7.4.1.2, RFC 6101 for SSL 3.0.

use aws_lc_rs::rand;

use crate::tls::{
    TlsVersion,
    record::{handshake_record, prefixed16},
};

/// Replaces an empty `renegotiation_info` where extensions cannot be sent (RFC 5746).
const RENEGOTIATION_SCSV: u16 = 0x00ff;

/// X25519MLKEM768, x25519, secp256r1, secp384r1, secp521r1, x448, ffdhe2048 to ffdhe8192.
const GROUPS_13: &[u16] = &[0x11ec, 0x001d, 0x0017, 0x0018, 0x0019, 0x001e, 0x0100, 0x0101, 0x0102, 0x0103, 0x0104];

/// The curves of servers before TLS 1.3; without the FFDHE groups, which would replace the server's own Diffie-Hellman
/// parameters (RFC 7919).
const GROUPS_12: &[u16] = &[0x001d, 0x0017, 0x0018, 0x0019, 0x001e];

/// ECDSA, RSA-PSS, EdDSA, ML-DSA, RSA PKCS#1; SHA-1 and DSA for old servers.
const SIGNATURES: &[u16] = &[
    0x0403, 0x0503, 0x0603, 0x0804, 0x0805, 0x0806, 0x0809, 0x080a, 0x080b, 0x0807, 0x0808, 0x0904, 0x0905, 0x0906,
    0x0401, 0x0501, 0x0601, 0x0402, 0x0203, 0x0201, 0x0202,
];

/// A record with a ClientHello for one version and these suites, without server name.
///
/// The key share is 32 random bytes: a valid X25519 public key whose secret nobody knows, which suffices because the
/// handshake is never completed.
///
/// Returns `None` if the system has no random bytes.
pub fn encode(version: TlsVersion, suites: &[u16]) -> Option<Vec<u8>> {
    let mut random = [0; 96];
    rand::fill(&mut random).ok()?;
    let (hello_random, rest) = random.split_at_checked(32)?;
    let (session_id, key_share) = rest.split_at_checked(32)?;

    let is_13 = version == TlsVersion::Tls13;
    let legacy = if is_13 { TlsVersion::Tls12 } else { version };
    let mut body = Vec::with_capacity(512);
    body.extend_from_slice(&legacy.wire().to_be_bytes());
    body.extend_from_slice(hello_random);
    if is_13 {
        // Middleboxes expect a session id (RFC 8446, appendix D.4).
        body.push(32);
        body.extend_from_slice(session_id);
    } else {
        body.push(0);
    }
    prefixed16(&mut body, |body| {
        numbers(body, suites);
        if version == TlsVersion::Ssl3 {
            numbers(body, &[RENEGOTIATION_SCSV]);
        }
    });
    // One compression method: none.
    body.extend_from_slice(&[1, 0]);
    if version != TlsVersion::Ssl3 {
        prefixed16(&mut body, |body| extensions(body, version, key_share));
    }
    // Old servers refuse an unknown record version.
    let record_version = match version {
        TlsVersion::Ssl3 => TlsVersion::Ssl3,
        _ => TlsVersion::Tls10,
    };
    Some(handshake_record(record_version.wire(), 1, &body))
}

fn extensions(out: &mut Vec<u8>, version: TlsVersion, key_share: &[u8]) {
    let is_13 = version == TlsVersion::Tls13;
    // supported_groups
    extension(out, 0x000a, |out| {
        prefixed16(out, |out| numbers(out, if is_13 { GROUPS_13 } else { GROUPS_12 }));
    });
    if version >= TlsVersion::Tls12 {
        // signature_algorithms
        extension(out, 0x000d, |out| prefixed16(out, |out| numbers(out, SIGNATURES)));
    }
    if is_13 {
        // supported_versions, psk_key_exchange_modes (psk_dhe_ke), key_share (x25519)
        extension(out, 0x002b, |out| out.extend_from_slice(&[2, 3, 4]));
        extension(out, 0x002d, |out| out.extend_from_slice(&[1, 1]));
        extension(out, 0x0033, |out| {
            prefixed16(out, |out| {
                numbers(out, &[0x001d]);
                prefixed16(out, |out| out.extend_from_slice(key_share));
            });
        });
    } else {
        // ec_point_formats (uncompressed), extended_master_secret, renegotiation_info
        extension(out, 0x000b, |out| out.extend_from_slice(&[1, 0]));
        extension(out, 0x0017, |_| {});
        extension(out, 0xff01, |out| out.push(0));
    }
}

fn extension(out: &mut Vec<u8>, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&kind.to_be_bytes());
    prefixed16(out, fill);
}

fn numbers(out: &mut Vec<u8>, numbers: &[u16]) {
    for number in numbers {
        out.extend_from_slice(&number.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::record::{Deframer, Message};

    #[test]
    fn every_version_makes_one_whole_message() {
        for version in TlsVersion::ALL {
            let mut deframer = Deframer::default();
            deframer.push(&encode(version, &[0x1301, 0x002f]).unwrap()).unwrap();
            let message = deframer.next_message().unwrap();
            assert!(matches!(message, Some(Message::Handshake { kind: 1, .. })));
            assert_eq!(deframer.next_message(), Ok(None));
        }
    }

    #[test]
    fn ssl3_has_no_extensions() {
        let hello = encode(TlsVersion::Ssl3, &[0x000a]).unwrap();
        assert!(hello.ends_with(&[0, 4, 0, 0x0a, 0, 0xff, 1, 0]));
    }
}
