//! Measures the rate of each cipher suite, and selects the best one for both sides.

use std::{
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

use crate::wire::SUITES;

/// How long each suite is measured.
const BUDGET: Duration = Duration::from_millis(4);
/// Bytes of a TLS record.
const RECORD_BYTES: usize = 16 << 10;

/// Starts the measurement in the background, so that the first connection need not wait for it.
pub fn prepare() {
    // Without a thread, [`suite_rates`] measures when it is called.
    let _ = thread::Builder::new().spawn(|| {
        let _ = suite_rates();
    });
}

/// Rates of this host, measured once.
#[must_use]
pub(crate) fn suite_rates() -> [u32; SUITES] {
    static SPEEDS: OnceLock<[u32; SUITES]> = OnceLock::new();
    *SPEEDS.get_or_init(measure)
}

/// Rates in MB/s, in the order of [`Suite::ALL`](crate::tls::Suite::ALL).
#[must_use]
pub fn measure() -> [u32; SUITES] {
    [&AES_128_GCM, &AES_256_GCM, &CHACHA20_POLY1305].map(|algorithm| speed(algorithm).unwrap_or(1))
}

fn speed(algorithm: &'static Algorithm) -> Option<u32> {
    let key = LessSafeKey::new(UnboundKey::new(algorithm, &vec![7; algorithm.key_len()]).ok()?);
    let mut record = vec![0; RECORD_BYTES];
    let (began, mut records) = (Instant::now(), 0_u32);
    while began.elapsed() < BUDGET {
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        let _tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), &mut record).ok()?;
        records += 1;
    }
    let bytes = f64::from(records) * 16_384.0;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "MB/s of a processor")]
    Some((bytes / began.elapsed().as_secs_f64() / 1e6).max(1.0) as u32)
}

/// The suite with which both sides together spend the least time per byte. Suites within a tenth of
/// each other count as equal; the one with the longer key is preferred.
#[must_use]
pub(crate) fn fastest_suite(ours: [u32; SUITES], theirs: [u32; SUITES]) -> usize {
    let cost = |suite: usize| {
        let of = |speeds: [u32; SUITES]| 1.0 / f64::from(speeds.get(suite).copied().unwrap_or(1).max(1));
        of(ours) + of(theirs)
    };
    // AES-256 is preferred, then ChaCha20, which has 256 bits too.
    let mut best = 1;
    for suite in [2, 0] {
        if cost(suite) < cost(best) * 0.9 {
            best = suite;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_suite_for_both_sides_is_chosen() {
        assert_eq!(fastest_suite([5000, 4900, 1500], [5000, 4900, 1500]), 1);
        assert_eq!(fastest_suite([9000, 6000, 1500], [9000, 6000, 1500]), 0);
        assert_eq!(fastest_suite([100, 90, 400], [5000, 4000, 1500]), 2);
    }

    #[test]
    fn every_suite_has_a_speed() {
        assert!(measure().iter().all(|speed| *speed > 1));
    }
}
