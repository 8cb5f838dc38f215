//! Names of objects.

use std::{fmt, str::FromStr};

/// Maximum length: below the limit of common object stores, and short enough for any path.
const MAX_BYTES: usize = 512;

/// An object's name: parts joined by `/`. A part has letters, digits, `.`, `_` and `-`, and does not begin with a dot.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// The text is not an object's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a valid object name")]
pub struct InvalidName(String);

impl Name {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(sound);
        let fits = text.len() <= MAX_BYTES && text.split('/').all(part);
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidName(text.to_owned())) }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_lead_out() {
        for bad in ["", "/", "/a", "a/", "a//b", "..", "a/../b", ".a", "a/.b", "a b", "a\0", "ä", &"a".repeat(513)] {
            assert!(bad.parse::<Name>().is_err(), "{bad:?}");
        }
        for good in ["a", "hosts/db-1/packs/ab/abcd.age", "a_b.json.sig"] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
    }
}
