//! A value that is known only between two limits.

use serde::{Deserialize, Serialize};

/// Lower and upper limit of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Lower limit.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
}

impl Range {
    /// A value that is known exactly.
    #[must_use]
    pub const fn exactly(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// The range that two limits enclose, in any order.
    #[must_use]
    pub const fn between(one: f64, other: f64) -> Self {
        Self { low: one.min(other), high: one.max(other) }
    }

    /// Limits of the product of two values that are not negative.
    #[must_use]
    pub const fn times(self, other: Self) -> Self {
        Self { low: self.low * other.low, high: self.high * other.high }
    }

    /// Limits of the sum.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }
    }

    /// Applies an increasing function to both limits.
    #[must_use]
    pub fn map(self, function: impl Fn(f64) -> f64) -> Self {
        Self { low: function(self.low), high: function(self.high) }
    }

    /// How far a value is outside; 0 if it is within.
    #[must_use]
    pub fn distance(self, value: f64) -> f64 {
        (self.low - value).max(value - self.high).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_outside_has_a_distance() {
        let range = Range::between(4.0, 1.0);
        assert_eq!([0.0, 1.0, 2.0, 6.5].map(|value| range.distance(value)), [1.0, 0.0, 0.0, 2.5]);
        assert_eq!(range.times(Range::exactly(2.0)).plus(range), Range { low: 3.0, high: 12.0 });
    }
}
