//! Facts about each file from before it is read: its pages, its key, its state in the last backup.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::SystemTime,
};

use archive::manifest::FileHead;
use codec::{
    hash::chunks_of,
    page::{HEAD_BYTES, SpaceKeys},
    path::RelativePath,
};
use innodb::{keys::KeySource, tablespace::Page0};
use jiff::Timestamp;
use transfer::{
    plan::{Plan, Stamp},
    sender::SourceFile,
};

use super::journal::{Attempts, StoredParts};
use crate::{
    Config, Error,
    config::{PageStorage, Scan},
    file_keys::FileKeys,
    heads::{self, RedoKeys, is_redo},
    state::{Base, FileState, PAGE_HASH_BYTES, Seen, State},
};

/// Length of the units compared in files without pages.
const UNIT_BYTES: usize = 16 << 10;

/// All files of a plan, by number.
pub(super) struct Files {
    files: Vec<Option<FilePlan>>,
    /// Keys of the files, if they are to be stored.
    pub(super) keys: Option<FileKeys>,
    pub(super) checkpoint_lsn: Option<u64>,
}

/// A file to back up.
#[derive(Debug)]
pub(super) struct FilePlan {
    pub(super) unit_bytes: usize,
    /// Whether a unit is a page of a tablespace, so that pages from different offsets can be decrypted together.
    pub(super) is_tablespace: bool,
    pub(super) space: Option<SpaceKeys>,
    pub(super) head: Option<FileHead>,
    pub(super) state: FileState,
    /// Number of its first chunk among those of all files.
    pub(super) first_chunk: u64,
    /// The file in the last backup.
    pub(super) before: Option<PreviousFile>,
    /// Whether it need not be read: it was sound, and has not been written since it was read.
    pub(super) is_unwritten: bool,
    /// What runs without a receipt have stored of it.
    pub(super) attempts: Vec<Arc<StoredParts>>,
}

/// A file in the last backup.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreviousFile {
    pub(super) number: usize,
    pub(super) state: FileState,
}

impl Files {
    /// Reads the head of each file.
    pub(super) fn read(
        plan: &Plan,
        keys: &dyn KeySource,
        config: &Config,
        (base, attempts): (Option<&Base>, &Attempts),
        state: &State,
        looked: SystemTime,
    ) -> Result<Self, Error> {
        let (pages, now) = (config.pages, Timestamp::now().as_second());
        let mut file_keys = (!config.key_recipients.is_empty()).then(FileKeys::default);
        // Only those of logs are needed at once; all of them could take gigabytes.
        let log_heads = read_log_heads(plan)?;
        let with_paths = || log_heads.iter().map(|(path, head)| (*path, head.as_slice()));
        let checkpoint_lsn = heads::newest_checkpoint(with_paths());
        let logs = RedoKeys::new(with_paths());
        let before = base.map(numbers).unwrap_or_default();
        let (mut files, mut pages_at, mut first_chunk) = (Vec::with_capacity(plan.entries.len()), 0_u64, 0_u64);
        for (number, planned) in plan.entries.iter().enumerate() {
            let Some(bytes) = planned.file_bytes() else {
                files.push(None);
                continue;
            };
            let (path, head) = (&planned.entry.path, SourceFile::open(plan, number)?.head(HEAD_BYTES)?);
            if let Some(file_keys) = &mut file_keys {
                file_keys.add(&head, keys);
            }
            let mut file = FilePlan::new(path, &head, keys, pages, &logs, state);
            (file.state.pages_at, file.first_chunk) = (pages_at, first_chunk);
            file.before = base.and_then(|base| file.in_base(path, base, &before));
            let stamp = planned.stamp(looked);
            let known = file.before.and_then(|before| unwritten_since(&before.state, stamp, config.scan, now));
            file.is_unwritten = file.is_tablespace && known.is_some();
            file.state.seen = known.or_else(|| stamp.map(|stamp| Seen { stamp, read_at: now }));
            file.attempts = attempts.of(path, &file.state);
            pages_at = pages_at.saturating_add(bytes.div_ceil(file.unit_bytes as u64).saturating_mul(PAGE_HASH_BYTES));
            first_chunk = first_chunk.saturating_add(chunks_of(bytes));
            files.push(Some(file));
        }
        Ok(Self { files, keys: file_keys, checkpoint_lsn })
    }

    /// Files of which nothing was read.
    #[cfg(test)]
    pub(super) const fn of(files: Vec<Option<FilePlan>>) -> Self {
        Self { files, keys: None, checkpoint_lsn: None }
    }

    pub(super) fn get(&self, number: usize) -> Option<&FilePlan> {
        self.files.get(number).and_then(Option::as_ref)
    }

    pub(super) fn count(&self) -> u64 {
        self.files.iter().flatten().count() as u64
    }

    /// The state of each file, to be stored. `sound` has the files whose pages were all sound, and the lowest LSN
    /// among the pages that each one's key decrypted.
    pub(super) fn states(&self, sound: &BTreeMap<usize, u64>) -> Vec<Option<FileState>> {
        let state = |(number, file): (usize, &Option<FilePlan>)| {
            let (state, decrypted_from) = (file.as_ref()?.state, sound.get(&number));
            Some(FileState { sound: decrypted_from.is_some(), decrypted_from: *decrypted_from.unwrap_or(&0), ..state })
        };
        self.files.iter().enumerate().map(state).collect()
    }
}

impl FilePlan {
    fn new(
        path: &RelativePath,
        head: &[u8],
        keys: &dyn KeySource,
        pages: PageStorage,
        logs: &RedoKeys,
        state: &State,
    ) -> Self {
        let page_bytes = Page0::parse(head).ok().and_then(|page0| usize::try_from(page0.physical_page_bytes).ok());
        let page_bytes = page_bytes.filter(|bytes| bytes.is_power_of_two() && (1 << 10..=64 << 10).contains(bytes));
        let (unit_bytes, is_tablespace) = (page_bytes.unwrap_or(UNIT_BYTES), page_bytes.is_some());
        let space = if pages.are_decrypted() { logs.space(path, head, keys) } else { None };
        let kept = heads::head_bytes(unit_bytes, is_tablespace).min(head.len());
        let context = space.as_ref().map_or(0, |space| state.hash(&space.context(keys)));
        Self {
            unit_bytes,
            is_tablespace,
            head: space.as_ref().and_then(|_| head.get(..kept)).map(FileHead::new),
            space,
            state: FileState {
                unit_bytes: u32::try_from(unit_bytes).unwrap_or(u32::MAX),
                context,
                pages_at: 0,
                sound: false,
                decrypted_from: 0,
                seen: None,
            },
            first_chunk: 0,
            before: None,
            is_unwritten: false,
            attempts: Vec::new(),
        }
    }

    /// The state of a file in the last backup, if its key is the same. Pages that were decrypted with another key
    /// cannot be encrypted with this one, so then the whole file counts as changed.
    fn in_base(
        &self,
        path: &RelativePath,
        base: &Base,
        numbers: &HashMap<&RelativePath, usize>,
    ) -> Option<PreviousFile> {
        let number = *numbers.get(path)?;
        let before = (*base.files.get(number)?)?;
        let is_same = (before.unit_bytes, before.context) == (self.state.unit_bytes, self.state.context);
        is_same.then_some(PreviousFile { number, state: before })
    }
}

/// What the last backup knows of a file that need not be read; `stamp` is its metadata now, `now` the time in seconds.
/// Damaged files are always read.
fn unwritten_since(before: &FileState, stamp: Option<Stamp>, scan: Scan, now: i64) -> Option<Seen> {
    let Scan::Changed { full_scan_days } = scan else { return None };
    let seen = before.seen.filter(|seen| before.sound && Some(seen.stamp) == stamp)?;
    let days = now.checked_sub(seen.read_at)?.div_euclid(24 * 3600);
    (0..i64::from(full_scan_days)).contains(&days).then_some(seen)
}

/// The heads of redo logs.
fn read_log_heads(plan: &Plan) -> Result<Vec<(&RelativePath, Vec<u8>)>, Error> {
    let logs = plan.entries.iter().enumerate().filter(|(_, planned)| planned.file_bytes().is_some());
    let logs = logs.filter(|(_, planned)| is_redo(&planned.entry.path));
    logs.map(|(number, planned)| Ok((&planned.entry.path, SourceFile::open(plan, number)?.head(HEAD_BYTES)?))).collect()
}

fn numbers(base: &Base) -> HashMap<&RelativePath, usize> {
    base.manifest.files.iter().enumerate().map(|(number, file)| (&file.entry.path, number)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DAY: i64 = 24 * 3600;

    #[test]
    fn a_file_is_not_read_if_it_was_sound_and_is_as_it_was() {
        let stamp = |inode: u64| -> Option<Stamp> {
            serde_json::from_value(json!({ "inode": inode, "bytes": 3, "modified": [4, 5], "changed": [6, 7] })).ok()
        };
        let seen = stamp(1).map(|stamp| Seen { stamp, read_at: 0 });
        let before = FileState { unit_bytes: 16384, context: 0, pages_at: 0, sound: true, decrypted_from: 0, seen };
        let changed = Scan::Changed { full_scan_days: 7 };
        assert_eq!(unwritten_since(&before, stamp(1), changed, 7 * DAY - 1), seen);
        assert_eq!(unwritten_since(&before, stamp(1), changed, 7 * DAY), None, "it is to be read again");
        assert_eq!(unwritten_since(&before, stamp(1), changed, -1), None, "the clock was set back");
        assert_eq!(unwritten_since(&before, stamp(2), changed, DAY), None, "another file");
        assert_eq!(unwritten_since(&before, None, changed, DAY), None, "it was just written");
        assert_eq!(unwritten_since(&before, stamp(1), Scan::All, DAY), None);
        for before in [FileState { sound: false, ..before }, FileState { seen: None, ..before }] {
            assert_eq!(unwritten_since(&before, stamp(1), changed, DAY), None, "{before:?}");
        }
    }
}
