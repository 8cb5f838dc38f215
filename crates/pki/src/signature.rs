//! Signature algorithms of certificates. Sources: RFC 3279, RFC 4055, RFC 5758, RFC 8410.

/// A signature algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Algorithm {
    /// Its OID, with dots.
    oid: &'static str,
    /// Its name in the standard.
    pub(crate) name: &'static str,
    /// The OID in DER, without tag and length, if a chain with this algorithm is accepted.
    pub(crate) accepted: Option<&'static [u8]>,
}

/// The algorithm with this OID.
pub(crate) fn algorithm(oid: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().find(|algorithm| algorithm.oid == oid)
}

const fn accepted(oid: &'static str, name: &'static str, der: &'static [u8]) -> Algorithm {
    Algorithm { oid, name, accepted: Some(der) }
}

const fn refused(oid: &'static str, name: &'static str) -> Algorithm {
    Algorithm { oid, name, accepted: None }
}

const ALGORITHMS: &[Algorithm] = &[
    refused("1.2.840.113549.1.1.2", "md2WithRSAEncryption"),
    refused("1.2.840.113549.1.1.4", "md5WithRSAEncryption"),
    refused("1.2.840.113549.1.1.5", "sha1WithRSAEncryption"),
    refused("1.2.840.113549.1.1.10", "RSASSA-PSS"),
    accepted("1.2.840.113549.1.1.11", "sha256WithRSAEncryption", &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 0x0b]),
    accepted("1.2.840.113549.1.1.12", "sha384WithRSAEncryption", &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 0x0c]),
    accepted("1.2.840.113549.1.1.13", "sha512WithRSAEncryption", &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 0x0d]),
    refused("1.2.840.113549.1.1.14", "sha224WithRSAEncryption"),
    refused("1.2.840.10045.4.1", "ecdsa-with-SHA1"),
    refused("1.2.840.10045.4.3.1", "ecdsa-with-SHA224"),
    accepted("1.2.840.10045.4.3.2", "ecdsa-with-SHA256", &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]),
    accepted("1.2.840.10045.4.3.3", "ecdsa-with-SHA384", &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3]),
    accepted("1.2.840.10045.4.3.4", "ecdsa-with-SHA512", &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4]),
    refused("1.2.840.10040.4.3", "dsa-with-SHA1"),
    accepted("1.3.101.112", "Ed25519", &[0x2b, 0x65, 0x70]),
    refused("1.3.101.113", "Ed448"),
];
