//! The cipher suites of TLS 1.3, by name.

use std::fmt;

use crate::wire::SUITES;

/// A cipher suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// AES-128-GCM.
    Aes128Gcm,
    /// AES-256-GCM.
    Aes256Gcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

impl Suite {
    /// All suites, in the order of [`tls13::SUITES`] and of the rates that both sides report.
    pub const ALL: [Self; SUITES] = [Self::Aes128Gcm, Self::Aes256Gcm, Self::ChaCha20Poly1305];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Gcm => "AES-128-GCM",
            Self::Aes256Gcm => "AES-256-GCM",
            Self::ChaCha20Poly1305 => "ChaCha20-Poly1305",
        }
    }

    /// Its index in [`Self::ALL`].
    pub(crate) fn index(self) -> usize {
        Self::ALL.into_iter().position(|suite| suite == self).unwrap_or_default()
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_in_the_order_of_the_tls_library() {
        for (suite, theirs) in Suite::ALL.into_iter().zip(tls13::SUITES) {
            let theirs = format!("{:?}", theirs.suite()).replace("SHA256", "").replace("SHA384", "");
            let name = suite.name().to_ascii_uppercase().replace('-', "_");
            assert_eq!(theirs.trim_end_matches('_'), format!("TLS13_{name}"));
            assert_eq!(Suite::ALL.get(suite.index()), Some(&suite));
        }
    }
}
