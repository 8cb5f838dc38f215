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

    /// How far a ratio may be from 1, in percent.
    #[must_use]
    pub fn spread_percent(&self) -> f64 {
        (self.low - 1.0).abs().max((self.high - 1.0).abs()) * 100.0
    }
}

/// Minimum number of rounds: fewer give no meaningful interval.
pub(crate) const MIN_ROUNDS: u32 = 5;

/// What a ratio of two arms says about their difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Difference {
    /// The interval does not include 1.
    Seen,
    /// The interval includes 1.
    None {
        /// Upper limit of the difference in percent: the end of the interval that is farther from 1.
        at_most_percent: f64,
    },
    /// The interval does not include 1, but the difference is no greater than that of two equal arms.
    WithinResolution {
        /// The difference that two equal arms can have on this machine, in percent.
        resolution_percent: f64,
    },
    /// There are too few rounds for an interval.
    TooFewRounds,
}

impl Difference {
    /// Judges the difference by a ratio and the number of rounds.
    #[must_use]
    pub fn judge(ratio: &Interval, rounds: u32) -> Self {
        if rounds < MIN_ROUNDS {
            Self::TooFewRounds
        } else if ratio.low <= 1.0 && ratio.high >= 1.0 {
            Self::None { at_most_percent: ratio.spread_percent() }
        } else {
            Self::Seen
        }
    }

    /// Judges again, given that two equal arms can differ by `resolution_percent`.
    #[must_use]
    pub fn beyond(self, ratio: &Interval, resolution_percent: f64) -> Self {
        let difference = (ratio.estimate - 1.0).abs() * 100.0;
        match self {
            Self::Seen if difference <= resolution_percent => Self::WithinResolution { resolution_percent },
            other => other,
        }
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
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A uniform number below `end`; the bias is at most `end` in 2^64.
    pub(crate) fn below(&mut self, end: usize) -> usize {
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
    fn the_interval_contains_the_median_and_lies_within_the_values() {
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
    fn about_95_percent_of_the_intervals_contain_the_median() {
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

    /// Two arms with the same distribution of rates.
    fn equal_arms(random: &mut Random, rounds: usize) -> Interval {
        let mut rates = || -> Vec<f64> {
            let mut rate = || 900.0 + 0.2 * f64::from(u32::try_from(random.below(1000)).unwrap());
            (0..rounds).map(|_| rate()).collect()
        };
        let (of, to) = (rates(), rates());
        ratio_interval(&of, &to, 1).unwrap()
    }

    #[test]
    fn equal_arms_rarely_differ() {
        let mut random = Random(11);
        let mut seen = 0;
        for _ in 0..200 {
            seen += u32::from(Difference::judge(&equal_arms(&mut random, 11), 11) == Difference::Seen);
        }
        assert!(seen <= 20, "{seen} of 200");
    }

    #[test]
    fn a_difference_is_seen_despite_noise_that_both_arms_share() {
        let mut random = Random(3);
        let noise: Vec<f64> =
            (0..11).map(|_| 1.0 + 0.01 * f64::from(u32::try_from(random.below(50)).unwrap())).collect();
        let slower: Vec<f64> = noise.iter().map(|rate| rate * 0.9).collect();
        let ratio = ratio_interval(&slower, &noise, 1).unwrap();
        assert_eq!(Difference::judge(&ratio, 11), Difference::Seen);
        assert_eq!(Difference::judge(&ratio, 11).beyond(&ratio, 2.0), Difference::Seen);
        assert_eq!(
            Difference::judge(&ratio, 11).beyond(&ratio, 12.0),
            Difference::WithinResolution { resolution_percent: 12.0 }
        );
    }

    #[test]
    fn no_difference_has_an_upper_bound_and_too_few_rounds_have_no_verdict() {
        let ratio = Interval { estimate: 0.99, low: 0.97, high: 1.01 };
        let Difference::None { at_most_percent } = Difference::judge(&ratio, 5) else { panic!("1 is within") };
        assert!((at_most_percent - 3.0).abs() < 1e-9);
        assert_eq!(Difference::judge(&ratio, 4), Difference::TooFewRounds);
    }
}
