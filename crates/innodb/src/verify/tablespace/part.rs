//! Results of many pages, collected by many threads.

use std::collections::BTreeMap;

use crate::{
    bytes::{as_u64, bump},
    ids::KeyVersion,
    verify::{
        Check, Finding, MAX_FINDINGS, ReportBuilder, RequiredKey,
        tablespace::judgement::{DecryptOutcome, Judgement, State},
    },
};

/// Results of one thread for its runs of pages.
#[derive(Debug, Default)]
pub struct Part {
    builder: ReportBuilder,
    versions: BTreeMap<KeyVersion, Version>,
    mixed: Runs,
    /// Clear copies of pages of encrypted tablespaces.
    clear_copies: Runs,
    /// The last extent descriptor page read, decrypted, with its page number.
    pub(super) descriptor: Option<(u64, Option<Vec<u8>>)>,
}

/// Encrypted pages of one key version (MariaDB).
#[derive(Debug, Default)]
struct Version {
    without_key_file: u64,
    without_key: u64,
    decrypted: u64,
    failed: u64,
    failures: Vec<(u64, u64)>,
}

/// Maximum number of mixed runs, key versions, and failures per version that are kept.
const MAX_KEPT: usize = MAX_FINDINGS;

impl Part {
    /// Counts page `index` of the file, at `offset`.
    pub(crate) fn count(&mut self, index: u64, offset: u64, judgement: Judgement) {
        let units = &mut self.builder.units;
        bump(&mut units.total);
        let bad = judgement.is_bad();
        match judgement.state {
            _ if bad => bump(&mut units.bad),
            State::Empty => bump(&mut units.empty),
            State::Clear => bump(&mut units.clear),
            State::Encrypted => bump(&mut units.encrypted),
        }
        if !bad && judgement.mixed {
            self.mixed.push(index);
        }
        if !bad && judgement.clear_copy {
            self.clear_copies.push(index);
        }
        if let Some((version, outcome)) = judgement.outcome
            && (self.versions.len() < MAX_KEPT || self.versions.contains_key(&version))
        {
            self.versions.entry(version).or_default().count(outcome, bad, index, offset);
        }
        for (check, detail) in judgement.problems.into_iter().chain(judgement.notes) {
            self.builder.push(Finding { unit: Some(index), offset: Some(offset), check, detail });
        }
    }

    /// Counts pages that an earlier run judged. `encrypted` says whether the tablespace is encrypted.
    pub(crate) const fn count_unchanged(&mut self, pages: u64, encrypted: bool) {
        let units = &mut self.builder.units;
        units.total = units.total.saturating_add(pages);
        let state = if encrypted { &mut units.encrypted } else { &mut units.clear };
        *state = state.saturating_add(pages);
    }

    /// Counts pages that the system could not read.
    pub fn unreadable(&mut self, first: u64, pages: u64, offset: u64, reason: &str) {
        let units = &mut self.builder.units;
        units.total = units.total.saturating_add(pages);
        units.bad = units.bad.saturating_add(pages);
        let detail = format!("{pages} pages cannot be read: {reason}");
        self.builder.find(Some(first), Some(offset), Check::Read, detail);
    }

    /// Adds the results of another thread.
    pub fn merge(&mut self, other: Self) {
        self.builder.merge(other.builder);
        for (version, pages) in other.versions {
            self.versions.entry(version).or_default().merge(pages);
        }
        self.mixed.merge(other.mixed);
        self.clear_copies.merge(other.clear_copies);
    }

    /// Adds everything to the builder of the file. Returns the key that the file needs, with its
    /// versions.
    pub(crate) fn conclude(
        self,
        key: Option<RequiredKey>,
        page_bytes: u64,
        builder: &mut ReportBuilder,
    ) -> Option<RequiredKey> {
        builder.merge(self.builder);
        let key = conclude_versions(key, self.versions, builder);
        if builder.units.encrypted > 0 {
            self.mixed.conclude(("is in the clear", "are in the clear"), page_bytes, builder);
        }
        // Clear copies are a leak in any file, even if nothing around them is encrypted.
        let phrases = (
            "holds a clear copy of a page of an encrypted tablespace",
            "hold clear copies of pages of encrypted tablespaces",
        );
        self.clear_copies.conclude(phrases, page_bytes, builder);
        key
    }
}

/// Runs of consecutive pages, by first and last page.
#[derive(Debug, Default)]
struct Runs {
    kept: Vec<(u64, u64)>,
    left_out: u64,
}

impl Runs {
    fn push(&mut self, index: u64) {
        if let Some((_, last)) = self.kept.last_mut()
            && index == last.saturating_add(1)
        {
            *last = index;
        } else if self.kept.len() < MAX_KEPT {
            self.kept.push((index, index));
        } else {
            bump(&mut self.left_out);
        }
    }

    fn merge(&mut self, other: Self) {
        self.kept.extend(other.kept);
        coalesce(&mut self.kept);
        let beyond = as_u64(self.kept.len().saturating_sub(MAX_KEPT));
        self.kept.truncate(MAX_KEPT);
        self.left_out = self.left_out.saturating_add(beyond).saturating_add(other.left_out);
    }

    /// Reports the runs; `phrases` describe one page and several pages.
    fn conclude(self, phrases: (&str, &str), page_bytes: u64, builder: &mut ReportBuilder) {
        for (first, last) in self.kept {
            let detail = match last.saturating_sub(first) {
                0 => format!("page {first} {}", phrases.0),
                more => format!("pages {first} to {last} ({}) {}", more.saturating_add(1), phrases.1),
            };
            builder.find(Some(first), Some(first.saturating_mul(page_bytes)), Check::Mixed, detail);
        }
        if self.left_out > 0 {
            builder.find(None, None, Check::Mixed, format!("{} more runs of pages {}", self.left_out, phrases.1));
        }
    }
}

impl Version {
    fn count(&mut self, outcome: DecryptOutcome, bad: bool, index: u64, offset: u64) {
        match outcome {
            DecryptOutcome::NoKeyFile => bump(&mut self.without_key_file),
            DecryptOutcome::NoKey => bump(&mut self.without_key),
            DecryptOutcome::Decrypted => bump(&mut self.decrypted),
            DecryptOutcome::Failed if bad => {}
            DecryptOutcome::Failed => {
                bump(&mut self.failed);
                if self.failures.len() < MAX_KEPT {
                    self.failures.push((index, offset));
                }
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.without_key_file = self.without_key_file.saturating_add(other.without_key_file);
        self.without_key = self.without_key.saturating_add(other.without_key);
        self.decrypted = self.decrypted.saturating_add(other.decrypted);
        self.failed = self.failed.saturating_add(other.failed);
        self.failures.extend(other.failures);
        self.failures.truncate(MAX_KEPT);
    }
}

/// A key that decrypts no page of its version is the wrong one. If it decrypts some, the other
/// pages are damaged.
fn conclude_versions(
    key: Option<RequiredKey>,
    versions: BTreeMap<KeyVersion, Version>,
    builder: &mut ReportBuilder,
) -> Option<RequiredKey> {
    let Some(RequiredKey::MariaDb { key_id, .. }) = key else {
        if versions.values().any(|pages| pages.without_key_file > 0 || pages.without_key > 0) {
            builder.unproven();
        }
        return key;
    };
    let asked = RequiredKey::MariaDb { key_id, versions: versions.keys().copied().collect() };
    for (version, pages) in versions {
        if pages.without_key_file > 0 {
            builder.unproven();
        }
        if pages.without_key > 0 {
            let count = pages.without_key;
            builder.find(
                None,
                None,
                Check::Key,
                format!("key {key_id} version {version} is not given; {count} pages need it"),
            );
        }
        if pages.failed > 0 && pages.decrypted == 0 {
            let detail = format!(
                "key {key_id} version {version} decrypts none of {} pages, whose ciphertext is valid",
                pages.failed
            );
            builder.find(None, None, Check::KeyOpens, detail);
            continue;
        }
        builder.units.bad = builder.units.bad.saturating_add(pages.failed);
        builder.units.encrypted = builder.units.encrypted.saturating_sub(pages.failed);
        for (index, offset) in pages.failures {
            let detail =
                format!("key {key_id} version {version} does not decrypt it, although it decrypts other pages");
            builder.find(Some(index), Some(offset), Check::OpenedChecksum, detail);
        }
    }
    Some(asked)
}

/// Merges runs that touch.
fn coalesce(runs: &mut Vec<(u64, u64)>) {
    runs.sort_unstable();
    runs.dedup_by(|next, run| {
        let joins = run.1.checked_add(1).is_some_and(|end| next.0 <= end);
        if joins {
            run.1 = run.1.max(next.1);
        }
        joins
    });
}
