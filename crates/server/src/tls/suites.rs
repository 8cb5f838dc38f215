//! Cipher suites by number, and their strength.
//!
//! Source: IANA "TLS Cipher Suites" registry. PSK, SRP and Kerberos suites are omitted: no MySQL-family server can be
//! configured for them.

use crate::tls::TlsVersion;

/// Number and IANA name of every suite that a probe offers, by number.
pub const SUITES: &[(u16, &str)] = &[
    (0x0001, "TLS_RSA_WITH_NULL_MD5"),
    (0x0002, "TLS_RSA_WITH_NULL_SHA"),
    (0x0003, "TLS_RSA_EXPORT_WITH_RC4_40_MD5"),
    (0x0004, "TLS_RSA_WITH_RC4_128_MD5"),
    (0x0005, "TLS_RSA_WITH_RC4_128_SHA"),
    (0x0006, "TLS_RSA_EXPORT_WITH_RC2_CBC_40_MD5"),
    (0x0007, "TLS_RSA_WITH_IDEA_CBC_SHA"),
    (0x0008, "TLS_RSA_EXPORT_WITH_DES40_CBC_SHA"),
    (0x0009, "TLS_RSA_WITH_DES_CBC_SHA"),
    (0x000a, "TLS_RSA_WITH_3DES_EDE_CBC_SHA"),
    (0x000b, "TLS_DH_DSS_EXPORT_WITH_DES40_CBC_SHA"),
    (0x000c, "TLS_DH_DSS_WITH_DES_CBC_SHA"),
    (0x000d, "TLS_DH_DSS_WITH_3DES_EDE_CBC_SHA"),
    (0x000e, "TLS_DH_RSA_EXPORT_WITH_DES40_CBC_SHA"),
    (0x000f, "TLS_DH_RSA_WITH_DES_CBC_SHA"),
    (0x0010, "TLS_DH_RSA_WITH_3DES_EDE_CBC_SHA"),
    (0x0011, "TLS_DHE_DSS_EXPORT_WITH_DES40_CBC_SHA"),
    (0x0012, "TLS_DHE_DSS_WITH_DES_CBC_SHA"),
    (0x0013, "TLS_DHE_DSS_WITH_3DES_EDE_CBC_SHA"),
    (0x0014, "TLS_DHE_RSA_EXPORT_WITH_DES40_CBC_SHA"),
    (0x0015, "TLS_DHE_RSA_WITH_DES_CBC_SHA"),
    (0x0016, "TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA"),
    (0x0017, "TLS_DH_anon_EXPORT_WITH_RC4_40_MD5"),
    (0x0018, "TLS_DH_anon_WITH_RC4_128_MD5"),
    (0x0019, "TLS_DH_anon_EXPORT_WITH_DES40_CBC_SHA"),
    (0x001a, "TLS_DH_anon_WITH_DES_CBC_SHA"),
    (0x001b, "TLS_DH_anon_WITH_3DES_EDE_CBC_SHA"),
    (0x002f, "TLS_RSA_WITH_AES_128_CBC_SHA"),
    (0x0030, "TLS_DH_DSS_WITH_AES_128_CBC_SHA"),
    (0x0031, "TLS_DH_RSA_WITH_AES_128_CBC_SHA"),
    (0x0032, "TLS_DHE_DSS_WITH_AES_128_CBC_SHA"),
    (0x0033, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA"),
    (0x0034, "TLS_DH_anon_WITH_AES_128_CBC_SHA"),
    (0x0035, "TLS_RSA_WITH_AES_256_CBC_SHA"),
    (0x0036, "TLS_DH_DSS_WITH_AES_256_CBC_SHA"),
    (0x0037, "TLS_DH_RSA_WITH_AES_256_CBC_SHA"),
    (0x0038, "TLS_DHE_DSS_WITH_AES_256_CBC_SHA"),
    (0x0039, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA"),
    (0x003a, "TLS_DH_anon_WITH_AES_256_CBC_SHA"),
    (0x003b, "TLS_RSA_WITH_NULL_SHA256"),
    (0x003c, "TLS_RSA_WITH_AES_128_CBC_SHA256"),
    (0x003d, "TLS_RSA_WITH_AES_256_CBC_SHA256"),
    (0x003e, "TLS_DH_DSS_WITH_AES_128_CBC_SHA256"),
    (0x003f, "TLS_DH_RSA_WITH_AES_128_CBC_SHA256"),
    (0x0040, "TLS_DHE_DSS_WITH_AES_128_CBC_SHA256"),
    (0x0041, "TLS_RSA_WITH_CAMELLIA_128_CBC_SHA"),
    (0x0044, "TLS_DHE_DSS_WITH_CAMELLIA_128_CBC_SHA"),
    (0x0045, "TLS_DHE_RSA_WITH_CAMELLIA_128_CBC_SHA"),
    (0x0046, "TLS_DH_anon_WITH_CAMELLIA_128_CBC_SHA"),
    (0x0067, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256"),
    (0x0068, "TLS_DH_DSS_WITH_AES_256_CBC_SHA256"),
    (0x0069, "TLS_DH_RSA_WITH_AES_256_CBC_SHA256"),
    (0x006a, "TLS_DHE_DSS_WITH_AES_256_CBC_SHA256"),
    (0x006b, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256"),
    (0x006c, "TLS_DH_anon_WITH_AES_128_CBC_SHA256"),
    (0x006d, "TLS_DH_anon_WITH_AES_256_CBC_SHA256"),
    (0x0084, "TLS_RSA_WITH_CAMELLIA_256_CBC_SHA"),
    (0x0087, "TLS_DHE_DSS_WITH_CAMELLIA_256_CBC_SHA"),
    (0x0088, "TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA"),
    (0x0089, "TLS_DH_anon_WITH_CAMELLIA_256_CBC_SHA"),
    (0x0096, "TLS_RSA_WITH_SEED_CBC_SHA"),
    (0x0099, "TLS_DHE_DSS_WITH_SEED_CBC_SHA"),
    (0x009a, "TLS_DHE_RSA_WITH_SEED_CBC_SHA"),
    (0x009b, "TLS_DH_anon_WITH_SEED_CBC_SHA"),
    (0x009c, "TLS_RSA_WITH_AES_128_GCM_SHA256"),
    (0x009d, "TLS_RSA_WITH_AES_256_GCM_SHA384"),
    (0x009e, "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"),
    (0x009f, "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384"),
    (0x00a0, "TLS_DH_RSA_WITH_AES_128_GCM_SHA256"),
    (0x00a1, "TLS_DH_RSA_WITH_AES_256_GCM_SHA384"),
    (0x00a2, "TLS_DHE_DSS_WITH_AES_128_GCM_SHA256"),
    (0x00a3, "TLS_DHE_DSS_WITH_AES_256_GCM_SHA384"),
    (0x00a4, "TLS_DH_DSS_WITH_AES_128_GCM_SHA256"),
    (0x00a5, "TLS_DH_DSS_WITH_AES_256_GCM_SHA384"),
    (0x00a6, "TLS_DH_anon_WITH_AES_128_GCM_SHA256"),
    (0x00a7, "TLS_DH_anon_WITH_AES_256_GCM_SHA384"),
    (0x00ba, "TLS_RSA_WITH_CAMELLIA_128_CBC_SHA256"),
    (0x00bd, "TLS_DHE_DSS_WITH_CAMELLIA_128_CBC_SHA256"),
    (0x00be, "TLS_DHE_RSA_WITH_CAMELLIA_128_CBC_SHA256"),
    (0x00bf, "TLS_DH_anon_WITH_CAMELLIA_128_CBC_SHA256"),
    (0x00c0, "TLS_RSA_WITH_CAMELLIA_256_CBC_SHA256"),
    (0x00c3, "TLS_DHE_DSS_WITH_CAMELLIA_256_CBC_SHA256"),
    (0x00c4, "TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA256"),
    (0x00c5, "TLS_DH_anon_WITH_CAMELLIA_256_CBC_SHA256"),
    (0x1301, "TLS_AES_128_GCM_SHA256"),
    (0x1302, "TLS_AES_256_GCM_SHA384"),
    (0x1303, "TLS_CHACHA20_POLY1305_SHA256"),
    (0x1304, "TLS_AES_128_CCM_SHA256"),
    (0x1305, "TLS_AES_128_CCM_8_SHA256"),
    (0xc002, "TLS_ECDH_ECDSA_WITH_RC4_128_SHA"),
    (0xc003, "TLS_ECDH_ECDSA_WITH_3DES_EDE_CBC_SHA"),
    (0xc004, "TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA"),
    (0xc005, "TLS_ECDH_ECDSA_WITH_AES_256_CBC_SHA"),
    (0xc006, "TLS_ECDHE_ECDSA_WITH_NULL_SHA"),
    (0xc007, "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA"),
    (0xc008, "TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA"),
    (0xc009, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"),
    (0xc00a, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"),
    (0xc00c, "TLS_ECDH_RSA_WITH_RC4_128_SHA"),
    (0xc00d, "TLS_ECDH_RSA_WITH_3DES_EDE_CBC_SHA"),
    (0xc00e, "TLS_ECDH_RSA_WITH_AES_128_CBC_SHA"),
    (0xc00f, "TLS_ECDH_RSA_WITH_AES_256_CBC_SHA"),
    (0xc010, "TLS_ECDHE_RSA_WITH_NULL_SHA"),
    (0xc011, "TLS_ECDHE_RSA_WITH_RC4_128_SHA"),
    (0xc012, "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA"),
    (0xc013, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"),
    (0xc014, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"),
    (0xc015, "TLS_ECDH_anon_WITH_NULL_SHA"),
    (0xc016, "TLS_ECDH_anon_WITH_RC4_128_SHA"),
    (0xc017, "TLS_ECDH_anon_WITH_3DES_EDE_CBC_SHA"),
    (0xc018, "TLS_ECDH_anon_WITH_AES_128_CBC_SHA"),
    (0xc019, "TLS_ECDH_anon_WITH_AES_256_CBC_SHA"),
    (0xc023, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"),
    (0xc024, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384"),
    (0xc025, "TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA256"),
    (0xc026, "TLS_ECDH_ECDSA_WITH_AES_256_CBC_SHA384"),
    (0xc027, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"),
    (0xc028, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384"),
    (0xc029, "TLS_ECDH_RSA_WITH_AES_128_CBC_SHA256"),
    (0xc02a, "TLS_ECDH_RSA_WITH_AES_256_CBC_SHA384"),
    (0xc02b, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    (0xc02c, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    (0xc02d, "TLS_ECDH_ECDSA_WITH_AES_128_GCM_SHA256"),
    (0xc02e, "TLS_ECDH_ECDSA_WITH_AES_256_GCM_SHA384"),
    (0xc02f, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    (0xc030, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
    (0xc031, "TLS_ECDH_RSA_WITH_AES_128_GCM_SHA256"),
    (0xc032, "TLS_ECDH_RSA_WITH_AES_256_GCM_SHA384"),
    (0xc050, "TLS_RSA_WITH_ARIA_128_GCM_SHA256"),
    (0xc051, "TLS_RSA_WITH_ARIA_256_GCM_SHA384"),
    (0xc052, "TLS_DHE_RSA_WITH_ARIA_128_GCM_SHA256"),
    (0xc053, "TLS_DHE_RSA_WITH_ARIA_256_GCM_SHA384"),
    (0xc056, "TLS_DHE_DSS_WITH_ARIA_128_GCM_SHA256"),
    (0xc057, "TLS_DHE_DSS_WITH_ARIA_256_GCM_SHA384"),
    (0xc05c, "TLS_ECDHE_ECDSA_WITH_ARIA_128_GCM_SHA256"),
    (0xc05d, "TLS_ECDHE_ECDSA_WITH_ARIA_256_GCM_SHA384"),
    (0xc060, "TLS_ECDHE_RSA_WITH_ARIA_128_GCM_SHA256"),
    (0xc061, "TLS_ECDHE_RSA_WITH_ARIA_256_GCM_SHA384"),
    (0xc072, "TLS_ECDHE_ECDSA_WITH_CAMELLIA_128_CBC_SHA256"),
    (0xc073, "TLS_ECDHE_ECDSA_WITH_CAMELLIA_256_CBC_SHA384"),
    (0xc076, "TLS_ECDHE_RSA_WITH_CAMELLIA_128_CBC_SHA256"),
    (0xc077, "TLS_ECDHE_RSA_WITH_CAMELLIA_256_CBC_SHA384"),
    (0xc09c, "TLS_RSA_WITH_AES_128_CCM"),
    (0xc09d, "TLS_RSA_WITH_AES_256_CCM"),
    (0xc09e, "TLS_DHE_RSA_WITH_AES_128_CCM"),
    (0xc09f, "TLS_DHE_RSA_WITH_AES_256_CCM"),
    (0xc0a0, "TLS_RSA_WITH_AES_128_CCM_8"),
    (0xc0a1, "TLS_RSA_WITH_AES_256_CCM_8"),
    (0xc0a2, "TLS_DHE_RSA_WITH_AES_128_CCM_8"),
    (0xc0a3, "TLS_DHE_RSA_WITH_AES_256_CCM_8"),
    (0xc0ac, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM"),
    (0xc0ad, "TLS_ECDHE_ECDSA_WITH_AES_256_CCM"),
    (0xc0ae, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8"),
    (0xc0af, "TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8"),
    (0xcca8, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    (0xcca9, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
    (0xccaa, "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
];

/// IANA name, or `0x` and four digits for a number not in [`SUITES`].
pub fn name(id: u16) -> String {
    known(id).map_or_else(|| format!("{id:#06x}"), ToOwned::to_owned)
}

fn known(id: u16) -> Option<&'static str> {
    let position = SUITES.binary_search_by_key(&id, |(id, _)| *id).ok()?;
    SUITES.get(position).map(|(_, name)| *name)
}

/// Strength of a suite, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    /// No encryption, no authentication, or a breakable cipher: NULL, anonymous, EXPORT, DES, 3DES, RC2, RC4, IDEA,
    /// SEED or MD5.
    Broken,
    /// One stolen server key decrypts every recorded connection.
    NoForwardSecrecy,
    /// Forward secret, but CBC with a separate MAC.
    NotAead,
    /// Forward secret and AEAD.
    Good,
}

impl Strength {
    /// All strengths, weakest first.
    pub const ALL: [Self; 4] = [Self::Broken, Self::NoForwardSecrecy, Self::NotAead, Self::Good];
}

/// Strength of a suite, by its name; unknown ones count as broken.
pub fn strength(id: u16) -> Strength {
    const BROKEN: [&str; 8] = ["NULL", "anon", "EXPORT", "DES", "RC2", "RC4", "IDEA", "SEED"];
    let Some(name) = known(id) else {
        return Strength::Broken;
    };
    if BROKEN.iter().any(|part| name.contains(part)) || name.ends_with("MD5") {
        Strength::Broken
    } else if id >> 8 == 0x13 {
        Strength::Good
    } else if !name.contains("DHE_") {
        Strength::NoForwardSecrecy
    } else if is_aead(name) {
        Strength::Good
    } else {
        Strength::NotAead
    }
}

/// Whether a suite is weaker than [`Strength::Good`], by the name that OpenSSL gives it, as in `ssl_cipher`.
pub fn is_weak_openssl(name: &str) -> bool {
    let is_forward_secret = ["ECDHE-", "DHE-", "TLS_"].iter().any(|prefix| name.starts_with(prefix));
    !(is_aead(name) && is_forward_secret)
}

/// Whether a suite has authenticated encryption, by its name in either notation.
fn is_aead(name: &str) -> bool {
    ["GCM", "CCM", "POLY1305"].iter().any(|mode| name.contains(mode))
}

/// The suites that can be used with a version.
pub fn candidates(version: TlsVersion) -> impl Iterator<Item = u16> {
    SUITES.iter().map(|(id, _)| *id).filter(move |id| {
        let is_tls13 = id >> 8 == 0x13;
        match version {
            TlsVersion::Tls13 => is_tls13,
            TlsVersion::Tls12 => !is_tls13,
            // Suites with their own hash or an AEAD exist since TLS 1.2.
            _ => {
                !is_tls13
                    && known(*id)
                        .is_some_and(|name| (name.ends_with("_SHA") || name.ends_with("_MD5")) && !name.contains("GCM"))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_without_doubles() {
        assert!(SUITES.is_sorted_by(|(one, _), (two, _)| one < two));
    }

    #[test]
    fn suites_are_graded_as_checks_expect() {
        let cases = [
            (0x1301, Strength::Good),
            (0xc02f, Strength::Good),
            (0x009e, Strength::Good),
            (0xc013, Strength::NotAead),
            (0x0033, Strength::NotAead),
            (0x002f, Strength::NoForwardSecrecy),
            (0x009c, Strength::NoForwardSecrecy),
            (0xc031, Strength::NoForwardSecrecy),
            (0xc012, Strength::Broken),
            (0x0016, Strength::Broken),
            (0x0005, Strength::Broken),
            (0xc018, Strength::Broken),
            (0xfafa, Strength::Broken),
        ];
        for (id, expected) in cases {
            assert_eq!(strength(id), expected, "{}", name(id));
        }
    }

    #[test]
    fn names_of_openssl_are_graded_alike() {
        let good = ["TLS_AES_256_GCM_SHA384", "ECDHE-RSA-AES128-GCM-SHA256", "DHE-RSA-CHACHA20-POLY1305"];
        assert!(!good.into_iter().any(is_weak_openssl));
        let weak = ["ECDHE-RSA-AES128-SHA", "AES128-GCM-SHA256", "ADH-AES128-GCM-SHA256", "DES-CBC3-SHA", ""];
        assert!(weak.into_iter().all(is_weak_openssl));
    }

    #[test]
    fn old_versions_are_offered_only_their_suites() {
        assert!(candidates(TlsVersion::Tls10).any(|id| id == 0x002f));
        assert!(!candidates(TlsVersion::Tls10).any(|id| id == 0xc02f));
        assert!(candidates(TlsVersion::Tls13).all(|id| id >> 8 == 0x13));
    }
}
