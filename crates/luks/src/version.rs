//! Releases of cryptsetup.

/// A release of cryptsetup, such as 2.6.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub(crate) u32, pub(crate) u32, pub(crate) u32);

impl Version {
    /// The release with these numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self(major, minor, patch)
    }

    /// Parses the output of `cryptsetup --version`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().nth(1)?.split(['.', '-']).map(str::parse);
        let (major, minor) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        Some(Self(major, minor, numbers.next().and_then(Result::ok).unwrap_or_default()))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}
