//! Facts of X.509 certificates, without judging them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use data_encoding::HEXLOWER;
use files::sha256_hex;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use x509_parser::{
    certificate::X509Certificate,
    extensions::{ExtendedKeyUsage, GeneralName},
    oid_registry::Oid,
    prelude::FromDer,
    public_key::PublicKey,
    x509::{SubjectPublicKeyInfo, X509Name},
};

use crate::{CertificateFault, ders_from_pem, signature};

/// Largest accepted certificate; real ones stay below 8 KiB.
const MAX_DER_BYTES: usize = 256 * 1024;

/// What a certificate says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// Subject as `CN=…, O=…`.
    pub subject: String,
    /// Issuer as `CN=…, O=…`.
    pub issuer: String,
    /// Serial number, lower-case hexadecimal without separators.
    pub serial_hex: String,
    /// X.509 version: 1 or 3 in practice.
    pub version: u32,
    /// Start of validity.
    pub not_before: Timestamp,
    /// End of validity.
    pub not_after: Timestamp,
    /// `RSA`, `EC P-256`, `Ed25519`, … or the algorithm's OID.
    pub key_type: String,
    /// Size of the public key in bits, where the type has one.
    pub key_bits: Option<u32>,
    /// `sha256WithRSAEncryption`, `ecdsa-with-SHA384`, … or the OID.
    pub signature_algorithm: String,
    /// DNS names of the subject alternative name.
    pub san_dns: Vec<String>,
    /// Addresses of the subject alternative name.
    pub san_ip: Vec<IpAddr>,
    /// The subject's common name.
    pub common_name: Option<String>,
    /// Whether the basic constraints make it a CA.
    pub is_ca: bool,
    /// Extended key usages: `serverAuth`, `clientAuth`, … or OIDs; empty means any.
    pub ext_key_usage: Vec<String>,
    /// Whether subject and issuer are equal.
    pub self_signed: bool,
    /// SHA-256 of the whole certificate, hexadecimal.
    pub sha256: String,
    /// SHA-256 of the public key structure, hexadecimal; equal for equal keys.
    pub spki_sha256: String,
}

impl Certificate {
    /// Describes a certificate from the wire or a file.
    ///
    /// Source: RFC 5280 section 4.1; version 1 certificates, as MySQL 5.7's
    /// `mysql_ssl_rsa_setup` made them, have no extensions.
    ///
    /// # Errors
    /// [`CertificateFault`] if the bytes are not a certificate.
    pub fn from_der(der: &[u8]) -> Result<Self, CertificateFault> {
        let parsed = parse(der)?;
        let (key_type, key_bits) = key_kind(parsed.public_key());
        let (san_dns, san_ip) = alternative_names(&parsed);
        Ok(Self {
            subject: parsed.subject().to_string(),
            issuer: parsed.issuer().to_string(),
            serial_hex: HEXLOWER.encode(parsed.raw_serial()),
            version: parsed.version().0.saturating_add(1),
            not_before: timestamp(parsed.validity().not_before.timestamp())?,
            not_after: timestamp(parsed.validity().not_after.timestamp())?,
            key_type,
            key_bits,
            signature_algorithm: signature_name(&parsed.signature_algorithm.algorithm),
            san_dns,
            san_ip,
            common_name: common_name(parsed.subject()),
            is_ca: parsed.is_ca(),
            ext_key_usage: parsed
                .extended_key_usage()
                .ok()
                .flatten()
                .map(|usage| usage_names(usage.value))
                .unwrap_or_default(),
            self_signed: parsed.subject().as_raw() == parsed.issuer().as_raw(),
            sha256: sha256_hex(der),
            spki_sha256: sha256_hex(parsed.public_key().raw),
        })
    }

    /// Describes all certificates in a PEM file, in order.
    ///
    /// Other sections, such as keys, are skipped.
    ///
    /// # Errors
    /// [`CertificateFault`] of the first one that cannot be read, or
    /// [`CertificateFault::Empty`].
    pub fn from_pem(pem: &[u8]) -> Result<Vec<Self>, CertificateFault> {
        ders_from_pem(pem)?.iter().map(|der| Self::from_der(der)).collect()
    }

    /// Names that a client may check: the alternative names, or the common name if there are none (the rule of MySQL's
    /// and MariaDB's clients).
    pub fn names(&self) -> Vec<String> {
        if self.san_dns.is_empty() && self.san_ip.is_empty() {
            return self.common_name.iter().cloned().collect();
        }
        let addresses = self.san_ip.iter().map(ToString::to_string);
        self.san_dns.iter().cloned().chain(addresses).collect()
    }

    /// Whether the certificate names `host`, as a client checks it.
    ///
    /// Addresses match only address entries. A `*` stands for exactly one leftmost label (RFC 6125, section 6.4.3).
    pub fn names_host(&self, host: &str) -> bool {
        if let Ok(address) = host.parse::<IpAddr>() {
            let only_common_name = self.san_dns.is_empty() && self.san_ip.is_empty();
            return self.san_ip.contains(&address) || (only_common_name && self.common_name.as_deref() == Some(host));
        }
        self.names().iter().any(|name| dns_name_matches(name, host))
    }
}

pub(crate) fn parse(der: &[u8]) -> Result<X509Certificate<'_>, CertificateFault> {
    if der.len() > MAX_DER_BYTES {
        return Err(CertificateFault::TooLarge { bytes: der.len() });
    }
    let (rest, parsed) =
        X509Certificate::from_der(der).map_err(|error| CertificateFault::Der { reason: error.to_string() })?;
    if !rest.is_empty() {
        return Err(CertificateFault::Der { reason: "bytes after its end".to_owned() });
    }
    Ok(parsed)
}

fn timestamp(seconds: i64) -> Result<Timestamp, CertificateFault> {
    Timestamp::from_second(seconds).map_err(|_| CertificateFault::Date)
}

fn common_name(subject: &X509Name<'_>) -> Option<String> {
    // The last one is the most specific (RFC 2818, section 3.1).
    subject.iter_common_name().last().and_then(|name| name.as_str().ok()).map(ToOwned::to_owned)
}

fn alternative_names(certificate: &X509Certificate<'_>) -> (Vec<String>, Vec<IpAddr>) {
    let Ok(Some(extension)) = certificate.subject_alternative_name() else {
        return (Vec::new(), Vec::new());
    };
    let (mut dns, mut addresses) = (Vec::new(), Vec::new());
    for name in &extension.value.general_names {
        match name {
            GeneralName::DNSName(name) => dns.push((*name).to_owned()),
            GeneralName::IPAddress(bytes) => addresses.extend(ip_address(bytes)),
            _ => {}
        }
    }
    (dns, addresses)
}

pub(crate) fn ip_address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(v4).into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|v6| Ipv6Addr::from(v6).into())
}

fn dns_name_matches(pattern: &str, host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    if pattern.eq_ignore_ascii_case(host) {
        return true;
    }
    let (Some(parent), Some((label, host_parent))) = (pattern.strip_prefix("*."), host.split_once('.')) else {
        return false;
    };
    !label.is_empty() && parent.contains('.') && parent.eq_ignore_ascii_case(host_parent)
}

fn key_kind(key: &SubjectPublicKeyInfo<'_>) -> (String, Option<u32>) {
    let oid = key.algorithm.algorithm.to_id_string();
    match oid.as_str() {
        "1.2.840.113549.1.1.1" | "1.2.840.113549.1.1.10" => {
            let bits = match key.parsed() {
                Ok(PublicKey::RSA(rsa)) => modulus_bits(rsa.modulus),
                _ => None,
            };
            ("RSA".to_owned(), bits)
        }
        "1.2.840.10045.2.1" => {
            let curve = key
                .algorithm
                .parameters
                .as_ref()
                .and_then(|parameters| parameters.as_oid().ok())
                .map(|oid| oid.to_id_string());
            match curve.as_deref() {
                Some("1.2.840.10045.3.1.1") => ("EC P-192".to_owned(), Some(192)),
                Some("1.3.132.0.33") => ("EC P-224".to_owned(), Some(224)),
                Some("1.2.840.10045.3.1.7") => ("EC P-256".to_owned(), Some(256)),
                Some("1.3.132.0.10") => ("EC secp256k1".to_owned(), Some(256)),
                Some("1.3.132.0.34") => ("EC P-384".to_owned(), Some(384)),
                Some("1.3.132.0.35") => ("EC P-521".to_owned(), Some(521)),
                Some(other) => (format!("EC {other}"), None),
                None => ("EC".to_owned(), None),
            }
        }
        "1.3.101.112" => ("Ed25519".to_owned(), Some(256)),
        "1.3.101.113" => ("Ed448".to_owned(), Some(456)),
        "1.2.840.10040.4.1" => ("DSA".to_owned(), None),
        "2.16.840.1.101.3.4.3.17" => ("ML-DSA-44".to_owned(), None),
        "2.16.840.1.101.3.4.3.18" => ("ML-DSA-65".to_owned(), None),
        "2.16.840.1.101.3.4.3.19" => ("ML-DSA-87".to_owned(), None),
        _ => (oid, None),
    }
}

/// Bits of a big-endian number, without leading zeros.
pub fn modulus_bits(bytes: &[u8]) -> Option<u32> {
    let first = bytes.iter().position(|byte| *byte != 0)?;
    let significant = bytes.get(first..)?;
    let top = significant.first()?;
    let bits = significant.len().checked_mul(8)?;
    u32::try_from(bits).ok()?.checked_sub(top.leading_zeros())
}

fn signature_name(oid: &Oid<'_>) -> String {
    let oid = oid.to_id_string();
    match signature::algorithm(&oid) {
        Some(algorithm) => algorithm.name.to_owned(),
        None => oid,
    }
}

fn usage_names(usage: &ExtendedKeyUsage<'_>) -> Vec<String> {
    let known = [
        (usage.any, "any"),
        (usage.server_auth, "serverAuth"),
        (usage.client_auth, "clientAuth"),
        (usage.code_signing, "codeSigning"),
        (usage.email_protection, "emailProtection"),
        (usage.time_stamping, "timeStamping"),
        (usage.ocsp_signing, "OCSPSigning"),
    ];
    known
        .iter()
        .filter(|(set, _)| *set)
        .map(|(_, name)| (*name).to_owned())
        .chain(usage.other.iter().map(Oid::to_id_string))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wildcards_stand_for_one_label() {
        assert!(dns_name_matches("db.example.org", "DB.example.org"));
        assert!(dns_name_matches("*.example.org", "db.example.org"));
        assert!(!dns_name_matches("*.example.org", "a.db.example.org"));
        assert!(!dns_name_matches("*.example.org", "example.org"));
        assert!(!dns_name_matches("*.org", "example.org"));
        assert!(!dns_name_matches("*", "localhost"));
    }

    #[test]
    fn modulus_bits_ignore_leading_zeros() {
        assert_eq!(modulus_bits(&[0, 0x80, 0]), Some(16));
        assert_eq!(modulus_bits(&[0x01, 0xff]), Some(9));
        assert_eq!(modulus_bits(&[0, 0]), None);
    }

    #[test]
    fn a_file_without_certificates_says_so() {
        assert_eq!(Certificate::from_pem(b"hello"), Err(CertificateFault::Empty));
        assert!(matches!(
            Certificate::from_pem(b"-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n"),
            Err(CertificateFault::Pem { .. })
        ));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(data: Vec<u8>) {
            let _ = Certificate::from_der(&data);
            let _ = Certificate::from_pem(&data);
        }
    }
}
