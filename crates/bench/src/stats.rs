//! Medians and ratios with 95 % intervals, without assumptions about the distribution of the noise.
//!
//! Figures of one arm are medians. Their intervals are between two of the sorted values, interpolated so that they
//! contain the true median in 95 % of all cases (Hettmansperger and Sheather, 1986): durations have a lower limit and a
//! long tail, which the median does not mind.
//!
//! A ratio of two arms is the Hodges-Lehmann estimate of its logarithm, with the interval that belongs to Wilcoxon's
//! signed-rank test. It needs fewer rounds than the median for the same width. It assumes that noise makes a ratio
//! larger as often as it makes it smaller: if both arms are equal, this is certain, because they could be exchanged.

use serde::{Deserialize, Serialize};

/// Share that a 95 % interval omits at either end.
const TAIL: f64 = 0.025;
/// The same in standard deviations.
const DEVIATIONS: f64 = 1.959_964;
/// Numbers of values up to which exact probabilities are used.
const MAX_EXACT_MEDIAN: usize = 500;
const MAX_EXACT_RATIO: usize = 100;

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

    /// The interval of a ratio the other way round.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let of = |ratio: f64| 1.0 / ratio.max(f64::MIN_POSITIVE);
        Self { estimate: of(self.estimate), low: of(self.high), high: of(self.low) }
    }

    /// How far a ratio may be from 1, in percent.
    #[must_use]
    pub fn spread_percent(&self) -> f64 {
        (self.low - 1.0).abs().max((self.high - 1.0).abs()) * 100.0
    }
}

/// Minimum number of rounds: with fewer, even the range of all values is no 95 % interval.
pub(crate) const MIN_ROUNDS: u32 = 6;

/// What a ratio of two arms says about their difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Difference {
    /// The interval does not include 1.
    Seen,
    /// The interval includes 1.
    None {
        /// Upper limit of the difference in percent: the end of the interval that is farther from 1, or what two equal
        /// arms can differ, if that is more.
        at_most_percent: f64,
    },
    /// The interval does not include 1, but two equal arms can differ as much.
    WithinResolution {
        /// The difference that two equal arms can have on this machine, in percent.
        resolution_percent: f64,
        /// Upper limit of the difference in percent: the end of the interval that is farther from 1, or the resolution.
        #[serde(default)]
        at_most_percent: f64,
    },
    /// There are too few rounds for an interval.
    TooFewRounds,
}

impl Difference {
    /// Judges the difference by a ratio and the number of rounds that it is from.
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
        let at_most_percent = ratio.spread_percent().max(resolution_percent);
        match self {
            Self::None { .. } => Self::None { at_most_percent },
            Self::Seen if difference <= resolution_percent => {
                Self::WithinResolution { resolution_percent, at_most_percent }
            }
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

/// The median of `values` and its interval. `None` without values; with fewer than six, the interval is the range of
/// all values.
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let mut values = values.to_vec();
    let estimate = median_of(&mut values)?;
    let (depth, share) = depth(values.len());
    // `share` of the way from the value at this depth to the next one towards the middle.
    let end = |outer: usize, inner: usize| Some(values.get(outer)? * (1.0 - share) + values.get(inner)? * share);
    let last = values.len() - 1;
    let inner = (depth + 1).min(last / 2);
    Some(Interval { estimate, low: end(depth, inner)?, high: end(last - depth, last - inner)? })
}

/// Number of the sorted values to omit at either end for a 95 % interval of the median, and the part of the next ones.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of values"
)]
fn depth(values: usize) -> (usize, f64) {
    let count = values as f64;
    if values > MAX_EXACT_MEDIAN {
        return (((count - DEVIATIONS * count.sqrt()) / 2.0).floor() as usize, 0.0);
    }
    // Probability that at most `omitted` values are below the median, and that of exactly so many.
    let mut one = 0.5_f64.powi(values as i32);
    let (mut omitted, mut tail) = (0_usize, one);
    if tail > TAIL {
        return (0, 0.0);
    }
    loop {
        let next = one * (count - omitted as f64) / (omitted as f64 + 1.0);
        if tail + next > TAIL {
            let excess = (TAIL - tail) / next;
            let share = (count - omitted as f64 - 1.0) * excess;
            return (omitted, share / (omitted as f64 + 1.0 + (count - 2.0 * (omitted as f64 + 1.0)) * excess));
        }
        (one, tail, omitted) = (next, tail + next, omitted + 1);
    }
}

/// The typical `of[i] / to[i]` and its interval. `None` without values; with fewer than six, the interval is the range of
/// all ratios.
///
/// Ratios are taken within each round: another process that takes the processor for a minute slows both arms of a
/// round, and the ratio remains.
#[must_use]
pub fn ratio_interval(of: &[f64], to: &[f64]) -> Option<Interval> {
    let ratios = of.iter().zip(to).filter(|(of, to)| **of > 0.0 && **to > 0.0);
    let logarithms: Vec<f64> = ratios.map(|(of, to)| (of / to).ln()).collect();
    let mut means = Vec::with_capacity(logarithms.len() * (logarithms.len() + 1) / 2);
    for (index, one) in logarithms.iter().enumerate() {
        means.extend(logarithms.iter().skip(index).map(|other| f64::midpoint(*one, *other)));
    }
    let estimate = median_of(&mut means)?;
    let omitted = omitted_means(logarithms.len());
    let (low, high) = (means.get(omitted)?, means.get(means.len() - 1 - omitted)?);
    Some(Interval { estimate: estimate.exp(), low: low.exp(), high: high.exp() })
}

/// Number of the sorted means of two values to omit at either end for a 95 % interval: the critical value of Wilcoxon's
/// signed-rank test.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of values"
)]
fn omitted_means(values: usize) -> usize {
    let means = values * (values + 1) / 2;
    if values > MAX_EXACT_RATIO {
        let count = values as f64;
        let deviation = (count * (count + 1.0) * (2.0 * count + 1.0) / 24.0).sqrt();
        return (means as f64 / 2.0 - DEVIATIONS * deviation).floor() as usize;
    }
    // The probability of each sum of ranks: each rank is part of it in half of all cases.
    let mut probabilities = vec![0.0; means + 1];
    probabilities[0] = 1.0;
    for rank in 1..=values {
        for sum in (0..=means).rev() {
            let with = sum.checked_sub(rank).map_or(0.0, |rest| probabilities[rest]);
            probabilities[sum] = f64::midpoint(probabilities[sum], with);
        }
    }
    let mut tail = 0.0;
    let is_within = |probability: &&f64| {
        tail += **probability;
        tail <= TAIL
    };
    // The largest sum that is as improbable as the tail.
    probabilities.iter().take_while(is_within).count().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn medians_of_odd_even_and_no_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn the_interval_of_equal_values_is_a_point() {
        let interval = median_interval(&[5.0; 8]).unwrap();
        assert_eq!((interval.estimate, interval.low, interval.high), (5.0, 5.0, 5.0));
        assert_eq!(interval.relative_width(), 0.0);
    }

    #[test]
    fn the_interval_of_few_values_is_their_range() {
        for count in 1..=5 {
            let values: Vec<f64> = (1..=count).map(f64::from).collect();
            let interval = median_interval(&values).unwrap();
            assert_eq!((interval.low, interval.high), (1.0, f64::from(count)));
            let ratio = ratio_interval(&values, &vec![1.0; values.len()]).unwrap();
            assert!((ratio.low - 1.0).abs() < 1e-9 && (ratio.high - f64::from(count)).abs() < 1e-9, "{ratio:?}");
        }
        assert_eq!((median_interval(&[]), ratio_interval(&[], &[])), (None, None));
    }

    #[test]
    fn depths_are_those_of_published_tables() {
        // Depths of the 95 % interval of a median (sign test): Conover, Practical Nonparametric Statistics, table A3.
        for (values, omitted) in [(6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (25, 7), (100, 39)] {
            assert_eq!(depth(values).0, omitted, "{values}");
        }
        // Of ten values, one is below the median, or none, in 1.07 % of all cases, and two in 4.39 %: 0.325 of the latter
        // are missing to 2.5 %, and 8 x 0.325 / (2 + 6 x 0.325) = 0.658.
        let (omitted, share) = depth(10);
        assert!(omitted == 1 && (share - 0.658).abs() < 0.001, "{omitted} {share}");
        // Critical values of the signed-rank test, two-sided, 5 %.
        for (values, omitted) in [(5, 0), (6, 0), (7, 2), (8, 3), (10, 8), (20, 52), (50, 434)] {
            assert_eq!(omitted_means(values), omitted, "{values}");
        }
        // The approximations for large numbers continue the exact values.
        let (exact, near) = (depth(MAX_EXACT_MEDIAN).0, depth(MAX_EXACT_MEDIAN + 1).0);
        assert!(near.abs_diff(exact) <= 1, "{exact} {near}");
        let (exact, near) = (omitted_means(MAX_EXACT_RATIO), omitted_means(MAX_EXACT_RATIO + 1));
        assert!((exact..exact + 60).contains(&near), "{exact} {near}");
    }

    /// Values with a long tail: mostly near 1, sometimes much more; their median is `e^0`.
    fn skewed(random: &mut Random, count: usize) -> Vec<f64> {
        let uniform = |random: &mut Random| f64::from(u32::try_from(random.below(100_000)).unwrap() + 1) / 100_001.0;
        let mut value = || (uniform(random) / (1.0 - uniform(random))).ln().mul_add(0.1, 0.0).exp();
        (0..count).map(|_| value()).collect()
    }

    #[test]
    fn intervals_contain_the_truth_in_95_of_100_cases() {
        const TRIALS: u32 = 1000;
        let mut random = Random(7);
        for rounds in [6, 7, 8, 9, 13, 25, 60] {
            let (mut medians, mut ratios) = (0, 0);
            for _ in 0..TRIALS {
                let (of, to) = (skewed(&mut random, rounds), skewed(&mut random, rounds));
                let contains = |interval: Interval| u32::from(interval.low <= 1.0 && 1.0 <= interval.high);
                medians += contains(median_interval(&of).unwrap());
                ratios += contains(ratio_interval(&of, &to).unwrap());
            }
            let share = |covered: u32| f64::from(covered) / f64::from(TRIALS);
            // 1000 trials have a standard error of 0.7 %.
            assert!((0.93..0.99).contains(&share(medians)), "medians of {rounds}: {medians}");
            assert!((0.93..0.99).contains(&share(ratios)), "ratios of {rounds}: {ratios}");
        }
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        // Both arms become ten times slower: the ratio does not move.
        let ratio = ratio_interval(&[2.0, 4.0, 20.0, 40.0], &[1.0, 2.0, 10.0, 20.0]).unwrap();
        assert!([ratio.estimate, ratio.low, ratio.high].iter().all(|end| (end - 2.0).abs() < 1e-9), "{ratio:?}");
        assert_eq!(ratio_interval(&[1.0; 4], &[0.0; 4]), None);
    }

    #[test]
    fn a_difference_is_seen_despite_noise_that_both_arms_share() {
        let mut random = Random(3);
        let noise: Vec<f64> =
            (0..11).map(|_| 1.0 + 0.01 * f64::from(u32::try_from(random.below(50)).unwrap())).collect();
        let slower: Vec<f64> = noise.iter().map(|rate| rate * 0.9).collect();
        let ratio = ratio_interval(&slower, &noise).unwrap();
        assert_eq!(Difference::judge(&ratio, 11), Difference::Seen);
        assert_eq!(Difference::judge(&ratio, 11).beyond(&ratio, 2.0), Difference::Seen);
        assert_eq!(
            Difference::judge(&ratio, 11).beyond(&ratio, 12.0),
            Difference::WithinResolution { resolution_percent: 12.0, at_most_percent: 12.0 }
        );
    }

    #[test]
    fn no_difference_has_an_upper_bound_and_too_few_rounds_have_no_verdict() {
        let ratio = Interval { estimate: 0.99, low: 0.97, high: 1.01 };
        let Difference::None { at_most_percent } = Difference::judge(&ratio, 6) else { panic!("1 is within") };
        assert!((at_most_percent - 3.0).abs() < 1e-9);
        assert_eq!(Difference::judge(&ratio, 5), Difference::TooFewRounds);
    }

    #[test]
    fn an_upper_bound_is_neither_below_the_interval_nor_below_the_resolution() {
        let bound = |low: f64, high: f64, resolution: f64| {
            let ratio = Interval { estimate: f64::midpoint(low, high), low, high };
            match Difference::judge(&ratio, 6).beyond(&ratio, resolution) {
                Difference::None { at_most_percent } | Difference::WithinResolution { at_most_percent, .. } => {
                    (at_most_percent * 10.0).round() / 10.0
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(bound(0.99, 1.01, 5.0), 5.0);
        assert_eq!(bound(0.93, 1.01, 5.0), 7.0);
        assert_eq!(bound(0.92, 0.99, 5.0), 8.0);
    }
}
