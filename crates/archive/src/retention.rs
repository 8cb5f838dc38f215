//! Decides which backups of a host are kept.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use serde::Deserialize;

use crate::names::Number;

/// If a host's clock differs more than this from the store's, the store's time counts.
const MAX_CLOCK_ERROR: SignedDuration = SignedDuration::from_hours(26);

/// How many backups to keep. Only good backups count; a day, week, month or year is represented by its last good
/// backup. While fewer than `min_good` are good, all others are kept, too: any of them may be the last one that can be
/// restored. With 0 they never are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Number of newest backups.
    pub keep_last: u32,
    /// Number of days for which a backup is kept. Days without a good backup do not count.
    pub daily: u32,
    /// Number of weeks, from Monday to Sunday, for which a backup is kept. Weeks without a good backup do not count.
    pub weekly: u32,
    /// Number of months for which a backup is kept. Months without a good backup do not count.
    pub monthly: u32,
    /// Number of years for which a backup is kept. Years without a good backup do not count.
    pub yearly: u32,
    /// Minimum number of good backups to keep, whatever the other fields say.
    pub min_good: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self { keep_last: 7, daily: 14, weekly: 8, monthly: 12, yearly: 0, min_good: 2 }
    }
}

impl Policy {
    /// The longest time, in days, for which a backup is kept if there is one each day; 0 if it only counts backups.
    #[must_use]
    pub fn days(&self) -> u32 {
        let periods = [(self.daily, 1), (self.weekly, 7), (self.monthly, 31), (self.yearly, 366)];
        periods.into_iter().map(|(count, days)| count.saturating_mul(days)).max().unwrap_or(0)
    }
}

/// A backup, reduced to what retention needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Number of the backup.
    pub number: Number,
    /// Whether it counts: all pages in it are proven, or accepted as they are.
    pub is_good: bool,
    /// The day on which it was made, in UTC.
    pub day: Date,
}

/// Why a backup is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The newest receipt: a running backup refers to its packs.
    Newest,
    /// One of the newest good backups.
    Last,
    /// The last good backup of its day.
    Daily,
    /// The last good backup of its week.
    Weekly,
    /// The last good backup of its month.
    Monthly,
    /// The last good backup of its year.
    Yearly,
    /// One of the good backups that are always kept.
    MinGood,
    /// Not a good one, but there are fewer good ones than are always kept.
    FewGood,
}

impl Reason {
    /// Identifier of the reason, for display and for scripts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Last => "last",
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
            Self::Yearly => "yearly",
            Self::MinGood => "min-good",
            Self::FewGood => "few-good",
        }
    }
}

/// The day that counts for a backup that ended at `ended` by the host's clock and whose receipt was put at `put` by the
/// store's clock. A host with a wrong clock, or one that lies, cannot choose the day.
#[must_use]
pub fn day(ended: Timestamp, put: Timestamp) -> Date {
    let is_close = put.duration_since(ended).abs() <= MAX_CLOCK_ERROR;
    let time = if is_close { ended } else { put };
    time.to_zoned(TimeZone::UTC).date()
}

/// The backups to keep, each with all reasons. `candidates` are all backups of a host, in any order.
#[must_use]
pub fn kept(policy: &Policy, candidates: &[Candidate]) -> BTreeMap<Number, BTreeSet<Reason>> {
    let mut newest_first = candidates.to_vec();
    newest_first.sort_by_key(|candidate| std::cmp::Reverse(candidate.number));
    let mut kept: BTreeMap<Number, BTreeSet<Reason>> = BTreeMap::new();
    let mut keep = |number, reason| {
        kept.entry(number).or_default().insert(reason);
    };
    if let Some(newest) = newest_first.first() {
        keep(newest.number, Reason::Newest);
    }
    let good: Vec<&Candidate> = newest_first.iter().filter(|candidate| candidate.is_good).collect();
    for (count, reason) in [(policy.keep_last, Reason::Last), (policy.min_good, Reason::MinGood)] {
        good.iter().take(usize_of(count)).for_each(|candidate| keep(candidate.number, reason));
    }
    if good.len() < usize_of(policy.min_good) {
        let others = newest_first.iter().filter(|candidate| !candidate.is_good);
        others.for_each(|candidate| keep(candidate.number, Reason::FewGood));
    }
    let periods = [
        (policy.daily, Reason::Daily),
        (policy.weekly, Reason::Weekly),
        (policy.monthly, Reason::Monthly),
        (policy.yearly, Reason::Yearly),
    ];
    for (count, reason) in periods {
        let mut seen = BTreeSet::new();
        for candidate in &good {
            if seen.len() == usize_of(count) {
                break;
            }
            if seen.insert(first_day(reason, candidate.day)) {
                keep(candidate.number, reason);
            }
        }
    }
    kept
}

/// First day of the day, week, month or year that contains this day.
fn first_day(period: Reason, day: Date) -> Date {
    match period {
        Reason::Weekly => day.iso_week_date().first_of_week().map_or(day, |week| week.date()),
        Reason::Monthly => day.first_of_month(),
        Reason::Yearly => day.first_of_year(),
        _ => day,
    }
}

fn usize_of(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan;

    use super::*;

    const NONE: Policy = Policy { keep_last: 0, daily: 0, weekly: 0, monthly: 0, yearly: 0, min_good: 0 };

    /// A good backup each day from 1 January 2026, a Thursday.
    fn daily(count: u64) -> Vec<Candidate> {
        let first = Date::constant(2026, 1, 1);
        let day = |number: u64| first.checked_add(i64::try_from(number - 1).unwrap().days()).unwrap();
        (1..=count).map(|number| Candidate { number, is_good: true, day: day(number) }).collect()
    }

    fn numbers(policy: Policy, candidates: &[Candidate]) -> Vec<Number> {
        kept(&policy, candidates).into_keys().collect()
    }

    #[test]
    fn each_period_keeps_its_last_good_backup() {
        let all = daily(59);
        assert_eq!(numbers(NONE, &all), [59], "the newest always");
        assert_eq!(numbers(Policy { keep_last: 3, ..NONE }, &all), [57, 58, 59]);
        assert_eq!(numbers(Policy { daily: 2, ..NONE }, &all), [58, 59]);
        // Sundays: the 4th of January, and every seventh day after it; the last week ends early.
        assert_eq!(numbers(Policy { weekly: 3, ..NONE }, &all), [46, 53, 59]);
        assert_eq!(numbers(Policy { monthly: 9, ..NONE }, &all), [31, 59]);
        assert_eq!(numbers(Policy { yearly: 9, ..NONE }, &all), [59]);
        assert_eq!(numbers(NONE, &[]), Vec::<Number>::new());
    }

    #[test]
    fn no_backup_is_kept_for_longer_than_the_longest_period() {
        let days = |policy: Policy| policy.days();
        assert_eq!((days(Policy::default()), days(Policy { keep_last: 9, min_good: 2, ..NONE })), (372, 0));
        for policy in [
            Policy { daily: 9, ..NONE },
            Policy { weekly: 5, ..NONE },
            Policy { monthly: 4, ..NONE },
            Policy { yearly: 2, monthly: 3, ..NONE },
        ] {
            let oldest = numbers(policy, &daily(1000))[0];
            assert!(1000 - oldest <= u64::from(policy.days()), "{policy:?}: {oldest}");
        }
    }

    #[test]
    fn several_of_a_day_are_one() {
        let mut all = daily(2);
        let second = all[1];
        all.extend((3..=9).map(|number| Candidate { number, ..second }));
        assert_eq!(numbers(Policy { daily: 2, ..NONE }, &all), [1, 9]);
    }

    #[test]
    fn only_good_backups_count() {
        let mut all = daily(10);
        all.iter_mut().filter(|one| one.number > 4).for_each(|one| one.is_good = false);
        assert_eq!(numbers(Policy { keep_last: 2, ..NONE }, &all), [3, 4, 10]);
        assert_eq!(numbers(Policy { min_good: 2, ..NONE }, &all), [3, 4, 10]);
        assert_eq!(numbers(Policy { daily: 3, ..NONE }, &all), [2, 3, 4, 10]);
    }

    #[test]
    fn while_too_few_are_good_the_others_stay() {
        let mut all = daily(20);
        all.iter_mut().for_each(|one| one.is_good = false);
        let policy = Policy::default();
        assert_eq!(numbers(policy, &all), (1..=20).collect::<Vec<_>>());
        assert_eq!(kept(&policy, &all)[&3], BTreeSet::from([Reason::FewGood]));
        all[4].is_good = true;
        assert_eq!(numbers(policy, &all).len(), 20, "one is too few");
        all[9].is_good = true;
        assert_eq!(numbers(policy, &all), [5, 10, 20]);
    }

    #[test]
    fn if_none_has_to_be_good_only_the_newest_of_damaged_ones_stays() {
        let mut all = daily(20);
        all.iter_mut().for_each(|one| one.is_good = false);
        let policy = Policy { min_good: 0, ..Policy::default() };
        assert_eq!(numbers(policy, &all), [20]);
        all[4].is_good = true;
        assert_eq!(numbers(policy, &all), [5, 20], "the other fields keep good ones");
    }

    #[test]
    fn a_wrong_clock_does_not_choose_the_day() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let put = time("2026-03-02T01:00:00Z");
        assert_eq!(day(time("2026-03-01T23:59:00Z"), put), Date::constant(2026, 3, 1));
        assert_eq!(day(time("2020-01-01T00:00:00Z"), put), Date::constant(2026, 3, 2));
        assert_eq!(day(time("2036-01-01T00:00:00Z"), put), Date::constant(2026, 3, 2));
    }
}
