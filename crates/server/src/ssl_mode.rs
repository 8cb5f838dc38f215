//! The values of `ssl-mode`, an option of clients, of Group Replication and of the scripts of Galera.

/// What a side requires of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Clear text.
    Disabled,
    /// TLS if the peer offers it, otherwise clear text.
    Preferred,
    /// TLS; any certificate will do.
    Required,
    /// TLS, and a certificate of a trusted authority.
    VerifyCa,
    /// The same, and the certificate must name the peer.
    VerifyIdentity,
}

impl SslMode {
    const ALL: [Self; 5] = [Self::Disabled, Self::Preferred, Self::Required, Self::VerifyCa, Self::VerifyIdentity];

    /// The mode of this name in any case, also with hyphens.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.trim().replace('-', "_");
        Self::ALL.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(&name))
    }

    /// Its name, as the manuals write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disabled => "DISABLED",
            Self::Preferred => "PREFERRED",
            Self::Required => "REQUIRED",
            Self::VerifyCa => "VERIFY_CA",
            Self::VerifyIdentity => "VERIFY_IDENTITY",
        }
    }

    /// Whether clear text is refused.
    #[must_use]
    pub const fn requires_tls(self) -> bool {
        !matches!(self, Self::Disabled | Self::Preferred)
    }

    /// Whether the peer's certificate is verified.
    #[must_use]
    pub const fn verifies(self) -> bool {
        matches!(self, Self::VerifyCa | Self::VerifyIdentity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_known_in_any_case() {
        for mode in SslMode::ALL {
            assert_eq!(SslMode::parse(&mode.name().to_ascii_lowercase()), Some(mode));
        }
        assert_eq!(SslMode::parse("verify-ca"), Some(SslMode::VerifyCa));
        assert_eq!((SslMode::parse(""), SslMode::parse("VERIFY_")), (None, None));
    }

    #[test]
    fn only_two_modes_verify_and_only_two_accept_clear_text() {
        let of = |test: fn(SslMode) -> bool| SslMode::ALL.map(test);
        assert_eq!(of(SslMode::requires_tls), [false, false, true, true, true]);
        assert_eq!(of(SslMode::verifies), [false, false, false, true, true]);
    }
}
