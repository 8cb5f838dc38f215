//! Key derivation of a slot: what an attacker pays for each guess.

/// How a passphrase becomes the key of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kdf {
    /// PBKDF2 (RFC 8018).
    Pbkdf2 {
        /// HMAC's hash, lower case.
        hash: String,
        /// Rounds.
        iterations: u64,
    },
    /// Argon2 (RFC 9106).
    Argon2 {
        /// `argon2i` or `argon2id`.
        variant: String,
        /// Passes.
        time: u64,
        /// KiB.
        memory_kib: u64,
        /// Lanes.
        cpus: u64,
    },
    /// Something of the future.
    Other(String),
}

/// Fewest PBKDF2 rounds for a passphrase. Source: OWASP Password Storage Cheat Sheet, 2023.
fn fewest_iterations(hash: &str) -> u64 {
    match hash {
        "sha512" => 210_000,
        "sha1" => 1_300_000,
        _ => 600_000,
    }
}
/// Least memory of Argon2 for a passphrase, KiB.
const LEAST_MEMORY_KIB: u64 = 64 << 10;
/// Fewest passes of Argon2 for a passphrase.
const FEWEST_PASSES: u64 = 3;

/// More than cryptsetup ever chooses or accepts (`--pbkdf-memory` ends at 4 GiB).
const HUGE_MEMORY_KIB: u64 = 4 << 20;
/// A minute and more of PBKDF2 on a fast core.
const HUGE_ITERATIONS: u64 = 200_000_000;
/// Passes of Argon2 that take minutes.
const HUGE_PASSES: u64 = 1_000;

impl Kdf {
    /// Why it is too cheap for a passphrase, if it is.
    pub(crate) fn weakness(&self) -> Option<String> {
        match self {
            Self::Pbkdf2 { hash, iterations } => {
                let fewest = fewest_iterations(hash);
                (*iterations < fewest).then(|| format!("PBKDF2-{hash} with {iterations} of at least {fewest} iterations"))
            }
            Self::Argon2 { variant, time, memory_kib, .. } => (*memory_kib < LEAST_MEMORY_KIB || *time < FEWEST_PASSES)
                .then(|| format!("{variant} with {memory_kib} KiB and {time} passes, less than {LEAST_MEMORY_KIB} KiB and {FEWEST_PASSES}")),
            Self::Other(_) => None,
        }
    }

    /// What it asks for, if that is more than a sane header would: opening it may exhaust the machine.
    pub(crate) fn excess(&self) -> Option<String> {
        match self {
            Self::Pbkdf2 { iterations, .. } => {
                (*iterations > HUGE_ITERATIONS).then(|| format!("{iterations} PBKDF2 iterations"))
            }
            Self::Argon2 { variant, time, memory_kib, .. } => (*memory_kib > HUGE_MEMORY_KIB || *time > HUGE_PASSES)
                .then(|| format!("{memory_kib} KiB and {time} passes of {variant}")),
            Self::Other(_) => None,
        }
    }

    /// The hash of PBKDF2.
    pub(crate) fn hash(&self) -> Option<&str> {
        match self {
            Self::Pbkdf2 { hash, .. } => Some(hash),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pbkdf2(hash: &str, iterations: u64) -> Kdf {
        Kdf::Pbkdf2 { hash: hash.to_owned(), iterations }
    }

    fn argon2(time: u64, memory_kib: u64) -> Kdf {
        Kdf::Argon2 { variant: "argon2id".to_owned(), time, memory_kib, cpus: 4 }
    }

    #[test]
    fn the_limits_are_those_of_the_hash() {
        for (hash, least) in [("sha256", 600_000), ("sha512", 210_000), ("sha1", 1_300_000), ("whirlpool", 600_000)] {
            assert!(pbkdf2(hash, least - 1).weakness().is_some(), "{hash}");
            assert!(pbkdf2(hash, least).weakness().is_none(), "{hash}");
        }
        assert!(argon2(3, 65_536).weakness().is_none());
        assert!(argon2(2, 1 << 20).weakness().is_some());
        assert!(argon2(9, 65_535).weakness().is_some());
    }

    #[test]
    fn a_huge_cost_is_named_and_a_usual_one_is_not() {
        assert!(argon2(4, 1 << 40).excess().is_some());
        assert!(argon2(u64::MAX, 65_536).excess().is_some());
        assert!(pbkdf2("sha256", u64::MAX).excess().is_some());
        assert!(argon2(4, 4 << 20).excess().is_none());
        assert!(pbkdf2("sha256", 5_000_000).excess().is_none());
    }
}
