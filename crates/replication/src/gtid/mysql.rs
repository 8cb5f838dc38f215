//! MySQL's GTIDs: `uuid:number`, and from 8.3 on `uuid:tag:number`.
//!
//! Source: "GTID Format and Storage" of the MySQL manual. A set is written `uuid[:tag]:first-last[:first-last…]`, with
//! commas between parts; a tag applies to the intervals after it, until the next tag.

use std::{collections::BTreeMap, fmt, str::FromStr};

use super::NotGtids;

/// The largest number of a transaction, 2^63 - 2.
const LAST: u64 = (i64::MAX as u64).saturating_sub(1);

/// Origin of transactions: a server's UUID in lower case, and a tag or the empty text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Origin {
    uuid: String,
    tag: String,
}

/// Numbers `first` to `last`, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Interval {
    first: u64,
    last: u64,
}

/// A set of transactions, as in `gtid_executed` and `gtid_purged`.
///
/// Intervals of an origin are in order, and neither touch nor overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidSet(BTreeMap<Origin, Vec<Interval>>);

/// The transactions of one origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges {
    /// The server's UUID, in lower case.
    pub uuid: String,
    /// Tag, empty without.
    pub tag: String,
    /// Numbers from the first to the last, inclusive.
    pub numbers: Vec<(u64, u64)>,
}

impl GtidSet {
    /// Adds one transaction. `uuid` is in lower case.
    pub fn insert(&mut self, uuid: &str, tag: &str, number: u64) {
        let origin = Origin { uuid: uuid.to_owned(), tag: tag.to_owned() };
        let intervals = self.0.entry(origin).or_default();
        match intervals.last_mut() {
            // Nearly always: the transaction after the newest.
            Some(last) if number == last.last.saturating_add(1) => last.last = number,
            Some(last) if (last.first..=last.last).contains(&number) => {}
            _ => {
                intervals.push(Interval { first: number, last: number });
                merge(intervals);
            }
        }
    }

    /// The transactions of each origin, in the order of their names.
    pub fn ranges(&self) -> impl Iterator<Item = Ranges> {
        self.0.iter().map(|(origin, intervals)| Ranges {
            uuid: origin.uuid.clone(),
            tag: origin.tag.clone(),
            numbers: intervals.iter().map(|it| (it.first, it.last)).collect(),
        })
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `other` contains every transaction of this set: `GTID_SUBSET(self, other)`.
    #[must_use]
    pub fn is_subset_of(&self, other: &Self) -> bool {
        self.0.iter().all(|(origin, intervals)| {
            let theirs = other.0.get(origin).map(Vec::as_slice).unwrap_or_default();
            intervals.iter().all(|ours| theirs.iter().any(|it| it.first <= ours.first && ours.last <= it.last))
        })
    }

    /// The transactions that `other` does not contain: `GTID_SUBTRACT(self, other)`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut rest = Self::default();
        for (origin, intervals) in &self.0 {
            let theirs = other.0.get(origin).map(Vec::as_slice).unwrap_or_default();
            let left = theirs.iter().fold(intervals.clone(), |left, gone| {
                left.into_iter().flat_map(|interval| interval.without(*gone)).collect()
            });
            if !left.is_empty() {
                rest.0.insert(origin.clone(), left);
            }
        }
        rest
    }

    /// Adds all transactions of `other`.
    pub fn add(&mut self, other: &Self) {
        for (origin, intervals) in &other.0 {
            self.0.entry(origin.clone()).or_default().extend(intervals);
        }
        self.normalise();
    }

    fn normalise(&mut self) {
        self.0.retain(|_, intervals| !intervals.is_empty());
        self.0.values_mut().for_each(merge);
    }
}

/// Sorts intervals and joins those that touch.
fn merge(intervals: &mut Vec<Interval>) {
    intervals.sort_unstable();
    let mut merged: Vec<Interval> = Vec::with_capacity(intervals.len());
    for interval in intervals.drain(..) {
        match merged.last_mut() {
            Some(before) if interval.first <= before.last.saturating_add(1) => {
                before.last = before.last.max(interval.last);
            }
            _ => merged.push(interval),
        }
    }
    *intervals = merged;
}

/// Ranges may overlap and repeat origins; empty ones are left out.
impl FromIterator<Ranges> for GtidSet {
    fn from_iter<I: IntoIterator<Item = Ranges>>(all: I) -> Self {
        let mut set = Self::default();
        for Ranges { uuid, tag, numbers } in all {
            let intervals = numbers.into_iter().filter(|(first, last)| first <= last);
            let intervals = intervals.map(|(first, last)| Interval { first, last });
            set.0.entry(Origin { uuid, tag }).or_default().extend(intervals);
        }
        set.normalise();
        set
    }
}

impl Interval {
    fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| -> Option<u64> {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|number| is_number && (1..=LAST).contains(number))
        };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Some(Self { first: number(first.trim())?, last: number(last.trim())? }).filter(|it| it.first <= it.last)
    }

    /// What remains on either side after `gone` is removed.
    fn without(self, gone: Self) -> impl Iterator<Item = Self> {
        let before = Self { first: self.first, last: self.last.min(gone.first.saturating_sub(1)) };
        let behind = Self { first: self.first.max(gone.last.saturating_add(1)), last: self.last };
        [before, behind].into_iter().filter(|it| it.first <= it.last)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last { write!(f, "{}", self.first) } else { write!(f, "{}-{}", self.first, self.last) }
    }
}

/// The server's notation, without line breaks.
impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut uuid = None;
        for (origin, intervals) in &self.0 {
            if uuid != Some(&origin.uuid) {
                f.write_str(if uuid.is_some() { "," } else { "" })?;
                f.write_str(&origin.uuid)?;
                uuid = Some(&origin.uuid);
            }
            if !origin.tag.is_empty() {
                write!(f, ":{}", origin.tag)?;
            }
            intervals.iter().try_for_each(|interval| write!(f, ":{interval}"))?;
        }
        Ok(())
    }
}

impl FromStr for GtidSet {
    type Err = NotGtids;

    fn from_str(text: &str) -> Result<Self, NotGtids> {
        let mut set = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            set.take(part).ok_or_else(|| NotGtids::new(part, "GTID set of MySQL"))?;
        }
        set.normalise();
        Ok(set)
    }
}

impl GtidSet {
    /// Adds one `uuid[:tag]:interval…`.
    fn take(&mut self, part: &str) -> Option<()> {
        let mut fields = part.split(':').map(str::trim);
        let uuid = fields.next().filter(|uuid| is_uuid(uuid))?.to_ascii_lowercase();
        let mut origin = Origin { uuid, tag: String::new() };
        let mut intervals = 0_usize;
        for field in fields {
            if is_tag(field) {
                origin.tag = field.to_ascii_lowercase();
                continue;
            }
            self.0.entry(origin.clone()).or_default().push(Interval::parse(field)?);
            intervals = intervals.saturating_add(1);
        }
        (intervals > 0).then_some(())
    }
}

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// A letter or an underscore, then letters, digits and underscores: 32 at most.
fn is_tag(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    const B: &str = "3e11fa48-71ca-11e1-9e33-c80aa9429562";

    fn set(text: &str) -> GtidSet {
        text.replace('A', A).replace('B', B).parse().unwrap()
    }

    #[test]
    fn sets_are_written_as_servers_write_them() {
        let text = |text: &str| set(text).to_string().replace(A, "A").replace(B, "B");
        assert_eq!(text("A:5-7:1-3:4,\nB:9"), "A:1-7,B:9");
        assert_eq!(text("B:1:tag_1:5-7:9:x:1,A:2"), "A:2,B:1:tag_1:5-7:9:x:1");
        assert_eq!(text(""), "");
        assert_eq!("3E11FA47-71CA-11E1-9E33-C80AA9429562:1".parse(), Ok(set("A:1")));
    }

    #[test]
    fn a_tag_has_separate_numbers() {
        assert!(!set("A:t:1").is_subset_of(&set("A:1-9")));
        assert!(set("A:t:1").is_subset_of(&set("A:1-9:t:1-2")));
    }

    #[test]
    fn missing_transactions_are_listed() {
        assert_eq!(set("A:1-9,B:1").without(&set("A:3-4:8")), set("A:1-2:5-7:9,B:1"));
        assert!(set("A:3").without(&set("A:1-9")).is_empty());
    }

    #[test]
    fn transactions_are_added_one_by_one() {
        let mut found = set("A:1-3:9,B:1");
        for number in [4, 4, 2, 7, 6, 5, 8] {
            found.insert(A, "", number);
        }
        found.insert(A, "t", 1);
        assert_eq!(found, set("A:1-9:t:1,B:1"));
        assert_eq!(found.ranges().collect::<GtidSet>(), found);
    }

    #[test]
    fn what_is_no_set_is_refused() {
        let bad =
            ["A", "A:", "A:0", "A:5-4", "A:+1", "A:t", "A:1'; DROP DATABASE mysql; -- ", "zz:1", "0-1-77", "A:1-2-3"];
        for bad in bad {
            assert!(bad.replace('A', A).parse::<GtidSet>().is_err(), "{bad}");
        }
    }

    fn any_set() -> impl Strategy<Value = GtidSet> {
        let interval = (1_u64..60, 1_u64..60).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b)));
        let part = (prop::sample::select(vec!["A", "B", "A:t"]), prop::collection::vec(interval, 1..6))
            .prop_map(|(origin, intervals)| format!("{origin}:{}", intervals.join(":")));
        prop::collection::vec(part, 0..4).prop_map(|parts| set(&parts.join(",")))
    }

    proptest! {
        #[test]
        fn a_set_survives_being_written(set in any_set()) {
            prop_assert_eq!(set.to_string().parse(), Ok(set));
        }

        #[test]
        fn difference_and_union_belong_together(a in any_set(), b in any_set()) {
            let rest = a.without(&b);
            prop_assert_eq!(rest.is_empty(), a.is_subset_of(&b));
            prop_assert!(rest.is_subset_of(&a));
            let mut both = b.clone();
            both.add(&rest);
            prop_assert!(a.is_subset_of(&both) && b.is_subset_of(&both));
            prop_assert_eq!(both.without(&b), rest);
        }
    }
}
