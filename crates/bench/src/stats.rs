//! Medians and ratios with bootstrap intervals.
//!
//! The percentile bootstrap (Efron 1979): resample with replacement many times; the middle 95 % of the resampled
//! medians form the interval. It assumes no distribution, which suits durations: they have a lower limit and a long
//! tail.

use serde::{Deserialize, Serialize};

/// Number of resamples; 2.5 % of them are 100.
const RESAMPLES: usize = 4000;
/// Share that a 95 % interval omits at either end.
const TAIL: f64 = 0.025;

/// An estimate and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The median.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Width as a share of the estimate; infinite for an estimate of 0.
    #[must_use]
    pub fn relative_width(&self) -> f64 {
        if self.estimate == 0.0 { f64::INFINITY } else { (self.high - self.low) / self.estimate.abs() }
    }
}

/// The median of `values`; `None` if there are none.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    median_of(&mut values)
}

/// Sorts `values`.
fn median_of(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len().is_multiple_of(2) {
        let lower = *values.get(middle.checked_sub(1)?)?;
        Some(f64::midpoint(lower, upper))
    } else {
        Some(upper)
    }
}

/// The median of `values` and its interval, deterministic for a `seed`. `None` without values; for a single value the
/// interval is that value.
#[must_use]
pub fn median_interval(values: &[f64], seed: u64) -> Option<Interval> {
    let estimate = median(values)?;
    let mut random = Random(seed);
    let mut resample = vec![0.0; values.len()];
    let mut medians = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for value in &mut resample {
            *value = values[random.below(values.len())];
        }
        medians.extend(median_of(&mut resample));
    }
    medians.sort_unstable_by(f64::total_cmp);
    Some(Interval { estimate, low: quantile(&medians, TAIL)?, high: quantile(&medians, 1.0 - TAIL)? })
}

/// The median of `of[i] / to[i]` and its interval.
///
/// Ratios are taken within each round: another process that takes the processor for a minute slows both arms of a
/// round, and the ratio remains.
#[must_use]
pub fn ratio_interval(of: &[f64], to: &[f64], seed: u64) -> Option<Interval> {
    let ratios: Vec<f64> = of.iter().zip(to).filter(|(_, to)| **to > 0.0).map(|(of, to)| of / to).collect();
    median_interval(&ratios, seed)
}

/// The `share`-quantile of sorted values.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index between 0 and the last"
    )]
    let at = (last as f64 * share).round() as usize;
    sorted.get(at.min(last)).copied()
}

/// `SplitMix64` (Steele, Lea, Flood 2014): small, fast, the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A uniform number below `end`; the bias is at most `end` in 2^64.
    fn below(&mut self, end: usize) -> usize {
        let wide = u128::from(self.next()) * u128::try_from(end).unwrap_or(0);
        usize::try_from(wide >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_even_and_no_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn the_generator_gives_its_published_sequence() {
        // From the reference implementation, seed 1234567.
        let mut random = Random(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn the_interval_of_equal_values_is_a_point() {
        let interval = median_interval(&[5.0; 8], 1).unwrap();
        assert_eq!((interval.estimate, interval.low, interval.high), (5.0, 5.0, 5.0));
        assert_eq!(interval.relative_width(), 0.0);
    }

    #[test]
    fn the_interval_holds_the_median_and_lies_within_the_values() {
        let values: Vec<f64> = (1..=101).map(f64::from).collect();
        let interval = median_interval(&values, 1).unwrap();
        assert_eq!(interval.estimate, 51.0);
        // The median of 101 values has a standard error of about sqrt(pi / 2) * 29.3 / sqrt(101),
        // or, for a uniform distribution, 101 / (2 * sqrt(101)) = 5.
        assert!((37.0..=45.0).contains(&interval.low), "{interval:?}");
        assert!((57.0..=65.0).contains(&interval.high), "{interval:?}");
        assert_eq!(median_interval(&values, 1), Some(interval));
    }

    #[test]
    fn the_interval_covers_the_truth_about_as_often_as_it_says() {
        let mut random = Random(7);
        let mut covered = 0;
        for seed in 0..200 {
            let values: Vec<f64> = (0..25).map(|_| f64::from(u32::try_from(random.below(1000)).unwrap())).collect();
            let interval = median_interval(&values, seed).unwrap();
            covered += u32::from(interval.low <= 499.5 && 499.5 <= interval.high);
        }
        assert!((178..=199).contains(&covered), "{covered} of 200");
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        // Both arms become ten times slower: the ratio does not move.
        let of = [2.0, 4.0, 20.0, 40.0];
        let to = [1.0, 2.0, 10.0, 20.0];
        let ratio = ratio_interval(&of, &to, 1).unwrap();
        assert_eq!((ratio.estimate, ratio.low, ratio.high), (2.0, 2.0, 2.0));
        assert_eq!(ratio_interval(&of, &[0.0; 4], 1), None);
    }
}
