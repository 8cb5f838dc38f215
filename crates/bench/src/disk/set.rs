//! Cipher sets: a cipher in cryptsetup's notation, and its key size.

use std::fmt;
use std::str::FromStr;

/// A cipher and its key size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CipherSet {
    /// The name in reports.
    name: String,
    /// Argument of `cryptsetup --cipher`.
    pub cipher: String,
    /// Argument of `cryptsetup --key-size`.
    pub key_bits: u32,
}

/// The text is neither `2014` nor `today` nor `CIPHER:BITS`.
#[derive(Debug, thiserror::Error)]
#[error("not a cipher set: use 2014, today, or CIPHER:BITS such as aes-xts-plain64:512")]
pub struct UnknownSet;

/// Default cipher of cryptsetup since 1.6.0.
const DEFAULT: &str = "aes-xts-plain64";
/// The sets of a well-known comparison of databases on encrypted disks; all with `--key-size 128`.
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
/// The current default, the previous default, and a cipher for processors without AES instructions.
const TODAY: [(&str, u32); 4] =
    [(DEFAULT, 512), (DEFAULT, 256), ("aes-cbc-essiv:sha256", 256), ("xchacha12,aes-adiantum-plain64", 256)];

impl CipherSet {
    fn new(name: &str, key_bits: u32) -> Self {
        let cipher = if name == "default" { DEFAULT } else { name };
        Self { name: name.to_owned(), cipher: cipher.to_owned(), key_bits }
    }

    /// The eight sets of the comparison of 2014.
    #[must_use]
    pub fn benchmark_2014() -> Vec<Self> {
        OF_2014.iter().map(|name| Self::new(name, 128)).collect()
    }

    /// The current sets.
    #[must_use]
    pub fn current() -> Vec<Self> {
        TODAY.iter().map(|(name, bits)| Self::new(name, *bits)).collect()
    }

    /// Parses `2014`, `today`, or one set as `CIPHER:BITS`.
    ///
    /// # Errors
    /// [`UnknownSet`].
    pub fn parse_all(word: &str) -> Result<Vec<Self>, UnknownSet> {
        match word {
            "2014" => Ok(Self::benchmark_2014()),
            "today" => Ok(Self::current()),
            one => one.parse().map(|set| vec![set]),
        }
    }

    /// The given sets without duplicates, in their order.
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

    /// The mode: the part between the dashes. An algorithm alone means CBC.
    fn mode(&self) -> &str {
        self.cipher.split('-').nth(1).unwrap_or("cbc")
    }

    /// Whether the mode is CBC.
    #[must_use]
    pub fn is_cbc(&self) -> bool {
        self.mode() == "cbc"
    }

    /// Whether the mode is XTS, which uses one half of the key for the data.
    #[must_use]
    pub fn is_xts(&self) -> bool {
        self.mode() == "xts"
    }

    /// Size of the key that encrypts the data, in bits.
    #[must_use]
    pub fn data_key_bits(&self) -> u32 {
        if self.is_xts() { self.key_bits / 2 } else { self.key_bits }
    }

    /// Why cryptsetup refuses the set, where its own message does not say so.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        match self.mode() {
            "xts" if !matches!(self.key_bits, 256 | 512) => {
                Some("XTS uses two keys, and half of this size is not an AES key size")
            }
            "ecb" if self.cipher.matches('-').count() > 1 => Some("ECB has no IV, but the cipher names one"),
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
    fn sets_by_name() {
        assert_eq!(CipherSet::parse_all("2014").unwrap().len(), 8);
        let [set] = CipherSet::parse_all("aes-cbc-essiv:sha256:256").unwrap().try_into().unwrap();
        assert_eq!((set.to_string().as_str(), set.data_key_bits()), ("aes-cbc-essiv:sha256 256", 256));
        for bad in ["2015", "aes-xts-plain64", "aes-xts-plain64:x", "--header:128", ":128", "aes:1", "a b:128"] {
            assert!(CipherSet::parse_all(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn xts_halves_its_key_and_impossible_sizes_are_faults() {
        let [set] = CipherSet::parse_all("default:128").unwrap().try_into().unwrap();
        assert!(set.is_xts() && set.cipher == "aes-xts-plain64" && set.fault().is_some());
        let faulty = |sets: Vec<CipherSet>| sets.iter().filter(|set| set.fault().is_some()).count();
        assert_eq!((faulty(CipherSet::benchmark_2014()), faulty(CipherSet::current())), (4, 0));
        let [bare] = CipherSet::parse_all("aes:128").unwrap().try_into().unwrap();
        assert!(bare.is_cbc() && bare.data_key_bits() == 128);
    }
}
