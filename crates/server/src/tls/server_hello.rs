//! Parses a server's answer to a ClientHello, before encryption starts.
//!
//! Source: RFC 8446 sections 4.1.3 and 4.1.4, RFC 5246 section 7.4, RFC 8422 section 5.4.

use pki::modulus_bits;

use crate::{bytes::Bytes, tls::suites};

/// The `random` that marks a HelloRetryRequest.
const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Maximum number of certificates in a chain.
const MAX_CHAIN: usize = 32;

/// The server's choices in a ServerHello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerHello {
    /// Version number, from `supported_versions` if present.
    pub version: u16,
    /// Cipher suite.
    pub suite: u16,
    /// Whether it is a HelloRetryRequest, which also names the version, suite and group that the server chose.
    pub retry: bool,
    /// Key share group (TLS 1.3).
    pub group: Option<u16>,
    /// Whether `renegotiation_info` is present (RFC 5746).
    pub secure_renegotiation: bool,
    /// Whether `extended_master_secret` is present (RFC 7627).
    pub extended_master_secret: bool,
}

/// Parses a ServerHello's body; `None` if it is malformed.
pub fn parse(body: &[u8]) -> Option<ServerHello> {
    let mut bytes = Bytes::new(body);
    let mut hello = ServerHello {
        version: bytes.u16_be()?,
        suite: 0,
        retry: bytes.array::<32>()? == RETRY_RANDOM,
        group: None,
        secure_renegotiation: false,
        extended_master_secret: false,
    };
    let session_id = bytes.vector8()?;
    if session_id.len() > 32 {
        return None;
    }
    hello.suite = bytes.u16_be()?;
    let _compression = bytes.u8()?;
    if bytes.is_empty() {
        return Some(hello);
    }
    let mut extensions = Bytes::new(bytes.vector16()?);
    while !extensions.is_empty() {
        let kind = extensions.u16_be()?;
        let mut data = Bytes::new(extensions.vector16()?);
        match kind {
            0x0017 => hello.extended_master_secret = true,
            0x002b => hello.version = data.u16_be()?,
            // Both forms begin with the group.
            0x0033 => hello.group = Some(data.u16_be()?),
            0xff01 => hello.secure_renegotiation = true,
            _ => {}
        }
    }
    Some(hello)
}

/// The certificates of a Certificate message before TLS 1.3, the server's own first.
pub fn certificates(body: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut bytes = Bytes::new(body);
    let mut list = Bytes::new(bytes.vector24()?);
    let mut chain = Vec::new();
    while !list.is_empty() && chain.len() < MAX_CHAIN {
        chain.push(list.vector24()?.to_vec());
    }
    Some(chain)
}

/// Parameters in a ServerKeyExchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyExchange {
    /// A named curve.
    Curve(u16),
    /// A finite field group of this many bits.
    FiniteField(u32),
}

/// Parses a ServerKeyExchange for the chosen suite.
pub fn key_exchange(suite: u16, body: &[u8]) -> Option<KeyExchange> {
    let name = suites::name(suite);
    let mut bytes = Bytes::new(body);
    if name.contains("ECDH") {
        // 3: named_curve. Explicit curves are not used in practice.
        (bytes.u8()? == 3).then_some(())?;
        bytes.u16_be().map(KeyExchange::Curve)
    } else if name.contains("DH") {
        modulus_bits(bytes.vector16()?).map(KeyExchange::FiniteField)
    } else {
        None
    }
}

/// IANA name of a group, or its number.
pub fn group_name(group: u16) -> String {
    match group {
        0x0013 => "secp192r1",
        0x0015 => "secp224r1",
        0x0016 => "secp256k1",
        0x0017 => "secp256r1",
        0x0018 => "secp384r1",
        0x0019 => "secp521r1",
        0x001d => "x25519",
        0x001e => "x448",
        0x0100 => "ffdhe2048",
        0x0101 => "ffdhe3072",
        0x0102 => "ffdhe4096",
        0x0103 => "ffdhe6144",
        0x0104 => "ffdhe8192",
        0x0201 => "MLKEM768",
        0x11eb => "SecP256r1MLKEM768",
        0x11ec => "X25519MLKEM768",
        0x11ed => "SecP384r1MLKEM1024",
        other => return format!("{other:#06x}"),
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hello(random: [u8; 32], extensions: &[u8]) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend_from_slice(&random);
        body.extend_from_slice(&[0, 0x13, 0x02, 0]);
        body.extend_from_slice(&u16::try_from(extensions.len()).unwrap().to_be_bytes());
        body.extend_from_slice(extensions);
        body
    }

    #[test]
    fn tls13_is_known_by_its_extension() {
        let body = hello(RETRY_RANDOM, &[0, 0x2b, 0, 2, 3, 4, 0, 0x33, 0, 2, 0x11, 0xec]);
        let parsed = parse(&body).unwrap();
        assert_eq!((parsed.version, parsed.suite), (0x0304, 0x1302));
        assert!(parsed.retry);
        assert_eq!(parsed.group.map(group_name).as_deref(), Some("X25519MLKEM768"));
    }

    #[test]
    fn extensions_of_tls12_are_seen() {
        let body = hello([0; 32], &[0, 0x17, 0, 0, 0xff, 1, 0, 1, 0]);
        let parsed = parse(&body).unwrap();
        assert!(parsed.secure_renegotiation && parsed.extended_master_secret && !parsed.retry);
        assert_eq!(parsed.version, 0x0303);
    }

    #[test]
    fn key_exchange_shows_curve_or_size() {
        assert_eq!(key_exchange(0xc02f, &[3, 0, 0x1d, 32]), Some(KeyExchange::Curve(0x1d)));
        let mut dhe = vec![0, 128, 0x80];
        dhe.resize(130, 1);
        assert_eq!(key_exchange(0x0033, &dhe), Some(KeyExchange::FiniteField(1024)));
        assert_eq!(key_exchange(0x002f, &dhe), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(data: Vec<u8>, suite: u16) {
            let _ = parse(&data);
            let _ = certificates(&data);
            let _ = key_exchange(suite, &data);
        }
    }
}
