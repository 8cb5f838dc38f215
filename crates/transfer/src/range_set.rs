//! Sets of mostly consecutive numbers, such as the present chunks of a file: memory for each gap,
//! not for each number.

use std::ops::Range;

/// A set of numbers, as sorted ranges that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeSet(Vec<Range<u64>>);

impl RangeSet {
    /// Adds a number; `false` if it was already in the set.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        let behind = self.0.partition_point(|run| run.end < number);
        match self.0.get_mut(behind) {
            Some(run) if run.contains(&number) => return false,
            Some(run) if run.end == number => {
                run.end += 1;
                let end = run.end;
                if let Some(next) = self.0.get(behind + 1).filter(|next| next.start == end).cloned() {
                    self.0.remove(behind + 1);
                    self.0.iter_mut().skip(behind).take(1).for_each(|run| run.end = next.end);
                }
            }
            Some(run) if run.start == number + 1 => run.start = number,
            _ => self.0.insert(behind, number..number + 1),
        }
        true
    }

    /// Adds a range of numbers.
    pub(crate) fn extend(&mut self, numbers: Range<u64>) {
        if numbers.is_empty() {
            return;
        }
        let from = self.0.partition_point(|run| run.end < numbers.start);
        let to = self.0.partition_point(|run| run.start <= numbers.end);
        let touched = self.0.get(from..to).unwrap_or_default();
        let start = touched.first().map_or(numbers.start, |run| run.start.min(numbers.start));
        let end = touched.last().map_or(numbers.end, |run| run.end.max(numbers.end));
        self.0.splice(from..to.max(from), std::iter::once(start..end));
    }

    /// Removes a range of numbers.
    pub(crate) fn remove(&mut self, numbers: Range<u64>) {
        if numbers.is_empty() {
            return;
        }
        let kept = std::mem::take(&mut self.0).into_iter().flat_map(|run| {
            let before = run.start..run.end.min(numbers.start);
            let behind = run.start.max(numbers.end)..run.end;
            [before, behind]
        });
        self.0 = kept.filter(|run| !run.is_empty()).collect();
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        let behind = self.0.partition_point(|run| run.end <= number);
        self.0.get(behind).is_some_and(|run| run.contains(&number))
    }

    /// Whether the set contains the whole range.
    pub(crate) fn has_all(&self, numbers: Range<u64>) -> bool {
        let behind = self.0.partition_point(|run| run.end <= numbers.start);
        numbers.is_empty() || self.0.get(behind).is_some_and(|run| run.start <= numbers.start && numbers.end <= run.end)
    }

    /// Number of ranges after the first.
    pub(crate) const fn gaps(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// Whether the set is exactly `0..end`.
    pub(crate) fn is_all(&self, end: u64) -> bool {
        matches!(self.0.as_slice(), [only] if *only == (0..end))
    }

    /// The ranges in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().cloned()
    }

    /// The parts of the set inside a range.
    pub(crate) fn within(&self, numbers: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let from = self.0.partition_point(|run| run.end <= numbers.start);
        let to = self.0.partition_point(|run| run.start < numbers.end);
        let cut = move |run: &Range<u64>| run.start.max(numbers.start)..run.end.min(numbers.end);
        self.0.get(from..to).unwrap_or_default().iter().map(cut)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_behave_like_a_set(steps in proptest::collection::vec((0..4_u8, 0..40_u64, 0..6_u64), 0..60)) {
            let (mut runs, mut set) = (RangeSet::default(), BTreeSet::new());
            for (what, number, more) in steps {
                match what {
                    0 | 1 => prop_assert_eq!(runs.insert(number), set.insert(number)),
                    2 => {
                        runs.extend(number..number + more);
                        set.extend(number..number + more);
                    }
                    _ => {
                        runs.remove(number..number + more);
                        set.retain(|known| !(number..number + more).contains(known));
                    }
                }
                prop_assert_eq!(runs.iter().flatten().collect::<Vec<_>>(), set.iter().copied().collect::<Vec<_>>());
                prop_assert!(runs.0.windows(2).all(|pair| pair[0].end < pair[1].start));
                prop_assert!((0..50).all(|number| runs.contains(number) == set.contains(&number)));
                prop_assert!((0..40).all(|number| runs.has_all(number..number + 3) == (number..number + 3).all(|n| set.contains(&n))));
                prop_assert_eq!(runs.is_all(3), set.iter().copied().eq(0..3));
                let within: Vec<u64> = runs.within(5..20).flatten().collect();
                prop_assert_eq!(within, set.range(5..20).copied().collect::<Vec<_>>());
            }
        }
    }
}
