//! Names of objects.

use std::{fmt, str::FromStr};

/// The longest name: as object stores have it, and short enough for any path.
const MAX_BYTES: usize = 512;

/// A name: parts of letters, digits, `.`, `_` and `-`, none of which begins with a dot, with `/` between them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Not a name of an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no name of an object")]
pub struct NoName(String);

impl Name {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NoName;

    fn from_str(text: &str) -> Result<Self, NoName> {
        let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(sound);
        let fits = text.len() <= MAX_BYTES && text.split('/').all(part);
        if fits { Ok(Self(text.to_owned())) } else { Err(NoName(text.to_owned())) }
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
