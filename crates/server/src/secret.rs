//! A password that cannot be printed and is wiped when dropped.

use std::fmt;

use zeroize::Zeroizing;

/// A password, or any other short secret, as the bytes the server is sent.
///
/// `Debug` shows neither the bytes nor how many there are.
#[derive(Clone)]
pub struct Password(Zeroizing<Vec<u8>>);

impl Password {
    /// Takes over `bytes`; the caller's copy is this value's only copy.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }

    /// The secret bytes, for the moment they are needed.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Whether there is nothing to prove: accounts without a password.
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
