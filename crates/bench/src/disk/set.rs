//! Cipher sets: a cipher as cryptsetup is told it, with the bits of its key.

use std::fmt;
use std::str::FromStr;

/// A cipher and the length of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CipherSet {
    /// What it is called here.
    name: String,
    /// As for `cryptsetup --cipher`.
    pub cipher: String,
    /// As for `cryptsetup --key-size`.
    pub key_bits: u32,
}

/// A set that is none.
#[derive(Debug, thiserror::Error)]
#[error("no cipher set: 2014, today, or CIPHER:BITS such as aes-xts-plain64:512")]
pub struct UnknownSet;

/// What cryptsetup takes if no cipher is named, since 1.6.0.
const DEFAULT: &str = "aes-xts-plain64";
/// The sets of a well-known comparison of databases on encrypted disks, all with `--key-size 128`.
const OF_2014: [&str; 8] = [
    "aes-ecb-plain",
    "aes-ecb-null",
    "aes-ecb-benbi",
    "aes-cbc-null",
    "aes-cbc-benbi",
    "aes-cbc-plain",
    "aes",
    "default",
];
/// What a disk is encrypted with now, what was the default before, and what suits processors without AES.
const TODAY: [(&str, u32); 4] =
    [(DEFAULT, 512), (DEFAULT, 256), ("aes-cbc-essiv:sha256", 256), ("xchacha12,aes-adiantum-plain64", 256)];

impl CipherSet {
    fn new(name: &str, key_bits: u32) -> Self {
        let cipher = if name == "default" { DEFAULT } else { name };
        Self { name: name.to_owned(), cipher: cipher.to_owned(), key_bits }
    }

    /// The eight sets of 2014.
    #[must_use]
    pub fn of_2014() -> Vec<Self> {
        OF_2014.iter().map(|name| Self::new(name, 128)).collect()
    }

    /// Those of today.
    #[must_use]
    pub fn of_today() -> Vec<Self> {
        TODAY.iter().map(|(name, bits)| Self::new(name, *bits)).collect()
    }

    /// Several, by a word: `2014`, `today`, or one as `CIPHER:BITS`.
    ///
    /// # Errors
    /// [`UnknownSet`].
    pub fn by_word(word: &str) -> Result<Vec<Self>, UnknownSet> {
        match word {
            "2014" => Ok(Self::of_2014()),
            "today" => Ok(Self::of_today()),
            one => one.parse().map(|set| vec![set]),
        }
    }

    /// These sets, each once, in their order.
    #[must_use]
    pub fn each_once<'s>(sets: impl IntoIterator<Item = &'s Self>) -> Vec<Self> {
        let mut once: Vec<Self> = Vec::new();
        for set in sets {
            if !once.contains(set) {
                once.push(set.clone());
            }
        }
        once
    }

    /// The mode, between the dashes; a bare algorithm means CBC.
    fn mode(&self) -> &str {
        self.cipher.split('-').nth(1).unwrap_or("cbc")
    }

    /// Whether it chains blocks.
    #[must_use]
    pub fn is_cbc(&self) -> bool {
        self.mode() == "cbc"
    }

    /// Whether it is XTS, of whose key one half encrypts the data.
    #[must_use]
    pub fn is_xts(&self) -> bool {
        self.mode() == "xts"
    }

    /// Bits of the key that encrypts the data.
    #[must_use]
    pub fn data_key_bits(&self) -> u32 {
        if self.is_xts() { self.key_bits / 2 } else { self.key_bits }
    }

    /// What is known of why it cannot be, beyond what cryptsetup says.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        match self.mode() {
            "xts" if !matches!(self.key_bits, 256 | 512) => Some("XTS takes two keys, and half of this is no AES key"),
            "ecb" if self.cipher.matches('-').count() > 1 => Some("ECB has no IV, and one is named"),
            _ => None,
        }
    }
}

impl fmt::Display for CipherSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.key_bits)
    }
}

impl FromStr for CipherSet {
    type Err = UnknownSet;

    fn from_str(text: &str) -> Result<Self, UnknownSet> {
        let (name, bits) = text.rsplit_once(':').ok_or(UnknownSet)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_:,()".contains(&byte);
        let bits: u32 = bits.parse().map_err(|_| UnknownSet)?;
        let good = name.bytes().all(plain) && name.starts_with(|first: char| first.is_ascii_alphanumeric());
        if good && (64..=1024).contains(&bits) && bits.is_multiple_of(8) {
            Ok(Self::new(name, bits))
        } else {
            Err(UnknownSet)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_by_words() {
        assert_eq!(CipherSet::by_word("2014").unwrap().len(), 8);
        let [set] = CipherSet::by_word("aes-cbc-essiv:sha256:256").unwrap().try_into().unwrap();
        assert_eq!((set.to_string().as_str(), set.data_key_bits()), ("aes-cbc-essiv:sha256 256", 256));
        for bad in ["2015", "aes-xts-plain64", "aes-xts-plain64:x", "--header:128", ":128", "aes:1", "a b:128"] {
            assert!(CipherSet::by_word(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn halves_and_faults() {
        let [set] = CipherSet::by_word("default:128").unwrap().try_into().unwrap();
        assert!(set.is_xts() && set.cipher == "aes-xts-plain64" && set.fault().is_some());
        let faulty = |sets: Vec<CipherSet>| sets.iter().filter(|set| set.fault().is_some()).count();
        assert_eq!((faulty(CipherSet::of_2014()), faulty(CipherSet::of_today())), (4, 0));
        let [bare] = CipherSet::by_word("aes:128").unwrap().try_into().unwrap();
        assert!(bare.is_cbc() && bare.data_key_bits() == 128);
    }
}
