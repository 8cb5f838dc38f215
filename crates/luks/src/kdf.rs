//! Key derivation of a slot, and what it costs an attacker per guess.

/// How the key of a slot is derived from a passphrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kdf {
    /// PBKDF2 (RFC 8018).
    Pbkdf2 {
        /// Hash of the HMAC, in lower case.
        hash: String,
        /// Number of iterations.
        iterations: u64,
    },
    /// Argon2 (RFC 9106).
    Argon2 {
        /// `argon2i` or `argon2id`.
        variant: String,
        /// Number of passes.
        time: u64,
        /// Memory in KiB.
        memory_kib: u64,
        /// Number of lanes.
        cpus: u64,
    },
    /// A function that this release does not know.
    Other(String),
}

/// Minimum PBKDF2 iterations for a passphrase. Source: OWASP Password Storage Cheat Sheet, 2023.
fn min_iterations(hash: &str) -> u64 {
    match hash {
        "sha512" => 210_000,
        "sha1" => 1_300_000,
        _ => 600_000,
    }
}
/// PBKDF2 iterations for a random key, which nobody can guess: the fewest that LUKS allows, so that the volume opens at
/// once. Source: cryptsetup(8), `--pbkdf-force-iterations`.
pub const RANDOM_KEY_ITERATIONS: u32 = 1000;

/// Minimum memory of Argon2 for a passphrase, in KiB.
const MIN_MEMORY_KIB: u64 = 64 << 10;
/// Minimum passes of Argon2 for a passphrase.
const MIN_PASSES: u64 = 3;

/// More memory than cryptsetup chooses or accepts (`--pbkdf-memory` ends at 4 GiB).
const HUGE_MEMORY_KIB: u64 = 4 << 20;
/// PBKDF2 iterations that take a fast core over a minute.
const HUGE_ITERATIONS: u64 = 200_000_000;
/// Argon2 passes that take minutes.
const HUGE_PASSES: u64 = 1_000;

impl Kdf {
    /// Why the derivation is too cheap for a passphrase, if it is.
    pub(crate) fn weakness(&self) -> Option<String> {
        match self {
            Self::Pbkdf2 { hash, iterations } => {
                let fewest = min_iterations(hash);
                let weakness = || format!("PBKDF2-{hash} with {iterations} of at least {fewest} iterations");
                (*iterations < fewest).then(weakness)
            }
            Self::Argon2 { variant, time, memory_kib, .. } => {
                let least = format!("less than {MIN_MEMORY_KIB} KiB and {MIN_PASSES}");
                (*memory_kib < MIN_MEMORY_KIB || *time < MIN_PASSES)
                    .then(|| format!("{variant} with {memory_kib} KiB and {time} passes, {least}"))
            }
            Self::Other(_) => None,
        }
    }

    /// What the derivation demands, if that is more than any sane header would: computing it may exhaust the machine.
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

    /// The hash, for PBKDF2.
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
    fn the_minimum_of_iterations_depends_on_the_hash() {
        for (hash, least) in [("sha256", 600_000), ("sha512", 210_000), ("sha1", 1_300_000), ("whirlpool", 600_000)] {
            assert!(pbkdf2(hash, least - 1).weakness().is_some(), "{hash}");
            assert!(pbkdf2(hash, least).weakness().is_none(), "{hash}");
        }
        assert!(argon2(3, 65_536).weakness().is_none());
        assert!(argon2(2, 1 << 20).weakness().is_some());
        assert!(argon2(9, 65_535).weakness().is_some());
    }

    #[test]
    fn a_huge_cost_is_reported_and_a_usual_one_is_not() {
        assert!(argon2(4, 1 << 40).excess().is_some());
        assert!(argon2(u64::MAX, 65_536).excess().is_some());
        assert!(pbkdf2("sha256", u64::MAX).excess().is_some());
        assert!(argon2(4, 4 << 20).excess().is_none());
        assert!(pbkdf2("sha256", 5_000_000).excess().is_none());
    }
}
