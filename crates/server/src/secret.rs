//! Passwords that are not printed, and wiped on drop.

use std::fmt;

use zeroize::Zeroizing;

/// A password or another short secret, as sent to the server.
///
/// `Debug` shows neither the bytes nor their number.
#[derive(Clone)]
pub struct Password(Zeroizing<Vec<u8>>);

impl Password {
    /// Takes ownership of `bytes`.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }

    /// The secret bytes.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Whether the password is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing_of_the_secret() {
        let short = format!("{:?}", Password::new("a"));
        let long = format!("{:?}", Password::new("correct horse battery staple"));
        assert_eq!(short, long);
        assert!(!long.contains("horse"));
    }
}
