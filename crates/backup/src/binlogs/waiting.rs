//! The parts that wait in the spool, in order, and the file that lists them.
//!
//! Each part is a line of JSON in the list, a file of the spool named after the first part: `SHA256.list`. Lines are only
//! appended. The state has the name of the list, and how many of its lines count and how many of these parts are stored;
//! so it stays short, however many parts wait. A line that a killed run appended without saving its state does not count.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{BufRead, BufReader, ErrorKind, Write},
    path::{Path, PathBuf},
};

use archive::Digest;
use files::{WriteOptions, write_atomic};
use innodb::binlog::LogPosition;
use serde::{Deserialize, Serialize};

use super::spool::SpooledPart;
use crate::Error;

/// Ending of the names of lists.
pub(super) const LIST: &str = ".list";
/// Number of stored parts in a list from which on a new list is begun, if fewer still wait.
const MAX_STORED: u64 = 1000;

/// The parts that wait, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Recorded", into = "Recorded")]
pub(super) struct Waiting {
    parts: VecDeque<SpooledPart>,
    /// Length of the files of the parts.
    bytes: u64,
    /// The file that lists the parts; `None` if the state itself does.
    list: Option<List>,
    /// Lists that this one has replaced. The saved state may still name the last of them.
    replaced: Vec<Digest>,
}

/// A list, as recorded in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct List {
    /// SHA-256 of the first part, after which it is named.
    #[serde(rename = "list")]
    name: Digest,
    /// Number of its lines that count.
    lines: u64,
    /// How many of these parts are stored.
    stored: u64,
    /// Whether the file has further lines, which do not count.
    #[serde(skip)]
    is_longer: bool,
}

/// What the state has of the parts that wait.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Recorded {
    /// The parts themselves: in states of older releases, which had no lists.
    Parts(Vec<SpooledPart>),
    /// The list that has them.
    List(List),
}

impl List {
    fn path(&self, directory: &Path) -> PathBuf {
        list_path(directory, &self.name)
    }
}

fn list_path(directory: &Path, name: &Digest) -> PathBuf {
    directory.join(format!("{name}{LIST}"))
}

impl From<Recorded> for Waiting {
    fn from(recorded: Recorded) -> Self {
        match recorded {
            Recorded::Parts(parts) => parts.into(),
            Recorded::List(list) => Self { list: Some(list), ..Self::default() },
        }
    }
}

impl From<Waiting> for Recorded {
    fn from(waiting: Waiting) -> Self {
        waiting.list.map_or_else(|| Self::Parts(waiting.parts.into()), Self::List)
    }
}

impl From<Vec<SpooledPart>> for Waiting {
    fn from(parts: Vec<SpooledPart>) -> Self {
        let bytes = parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.segment.object.bytes));
        Self { parts: parts.into(), bytes, ..Self::default() }
    }
}

impl Waiting {
    /// Reads the list that the state names. `directory`: the spool; `end`: the end of the archive in the state, where the
    /// last part ends or the log after it begins.
    ///
    /// # Errors
    /// [`Error::Io`]. Lines that are missing or damaged are parts that are lost; see [`Self::lost`].
    pub(super) fn load(&mut self, directory: &Path, end: &LogPosition) -> Result<(), Error> {
        let Some(mut list) = self.list.filter(|_| self.parts.is_empty()) else { return Ok(()) };
        let path = list.path(directory);
        let mut lines = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            file => BufReader::new(file.map_err(Error::io(&path, "cannot be read"))?).split(b'\n'),
        };
        let mut parts = Vec::new();
        for line in lines.by_ref().take(usize::try_from(list.lines).unwrap_or(usize::MAX)) {
            let line = line.map_err(Error::io(&path, "cannot be read"))?;
            let Ok(part) = serde_json::from_slice(&line) else { break };
            parts.push(part);
        }
        list.is_longer = lines.next().is_some();
        let is_whole = parts.len() as u64 == list.lines;
        end_at_next_log(&mut parts, end, is_whole);
        let stored = usize::try_from(list.stored).unwrap_or(usize::MAX).min(parts.len());
        *self = Self { list: Some(list), ..parts.split_off(stored).into() };
        Ok(())
    }

    /// Number of parts that cannot be found, because the list is missing or damaged.
    pub(super) fn lost(&self) -> u64 {
        self.list.map_or(0, |list| list.lines.saturating_sub(list.stored).saturating_sub(self.parts.len() as u64))
    }

    /// Whether nothing waits, and nothing was lost.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.lost() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Length of the files of the parts.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &SpooledPart> + ExactSizeIterator {
        self.parts.iter()
    }

    pub(super) fn first(&self) -> Option<&SpooledPart> {
        self.parts.front()
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut SpooledPart> {
        self.parts.back_mut()
    }

    /// The file of the list in `directory`; `None` if none is named.
    pub(super) fn list_path(&self, directory: &Path) -> Option<PathBuf> {
        self.list.filter(|_| !self.is_empty()).map(|list| list.path(directory))
    }

    /// Drops all parts but the first `count`.
    pub(super) fn truncate(&mut self, count: usize) {
        let is_cut = count < self.parts.len() || self.lost() > 0;
        self.parts.truncate(count);
        self.bytes = self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.segment.object.bytes));
        if let Some(list) = self.list.as_mut().filter(|_| is_cut) {
            list.lines = list.stored.saturating_add(self.parts.len() as u64);
            list.is_longer = true;
        }
        self.end_list();
    }

    /// Takes the first part, which is stored.
    pub(super) fn remove_first(&mut self) {
        let Some(part) = self.parts.pop_front() else { return };
        self.bytes = self.bytes.saturating_sub(part.segment.object.bytes);
        if let Some(list) = &mut self.list {
            list.stored = list.stored.saturating_add(1);
        }
        self.end_list();
    }

    /// Appends a part to the list in `directory` and to the parts.
    ///
    /// # Errors
    /// [`Error::Io`]; then the part is not among them.
    pub(super) fn append(&mut self, directory: &Path, part: SpooledPart) -> Result<(), Error> {
        let list = self.list.filter(|list| !list.is_longer && !is_mostly_stored(list, self.parts.len()));
        self.list = Some(match list {
            Some(list) => {
                // A line of which only a part was written does not count, but would be before the next one.
                self.list = Some(List { is_longer: true, ..list });
                append_line(&list.path(directory), &part)?;
                List { lines: list.lines.saturating_add(1), ..list }
            }
            None => self.begin_list(directory, &part)?,
        });
        self.bytes = self.bytes.saturating_add(part.segment.object.bytes);
        self.parts.push_back(part);
        Ok(())
    }

    /// Writes a new list. A list of the same name that the saved state may still name has the same parts.
    fn begin_list(&mut self, directory: &Path, part: &SpooledPart) -> Result<List, Error> {
        let name = self.parts.front().unwrap_or(part).segment.object.sha256;
        let list = List { name, lines: (self.parts.len() as u64).saturating_add(1), stored: 0, is_longer: false };
        let path = list.path(directory);
        let mut text = Vec::new();
        for part in self.parts.iter().chain([part]) {
            text.extend(line(part).map_err(Error::io(&path, "cannot be written"))?);
        }
        let written = write_atomic(&path, &text, WriteOptions::SECRET.replacing(true));
        written.map_err(Error::io(&path, "cannot be written"))?;
        self.replaced.extend(self.list.map(|old| old.name));
        self.replaced.retain(|old| *old != name);
        Ok(list)
    }

    /// Removes the lists that others have replaced. The saved state must name the current one. What cannot be removed is
    /// left for the next save: the state is saved all the same.
    pub(super) fn remove_replaced(&mut self, directory: &Path) {
        self.replaced.retain(|name| {
            // All of them are removed when nothing waits any more.
            matches!(fs::remove_file(list_path(directory, name)), Err(error) if error.kind() != ErrorKind::NotFound)
        });
    }

    /// Forgets the list when it has no parts that wait.
    fn end_list(&mut self) {
        self.list = self.list.filter(|_| !self.parts.is_empty());
    }
}

fn is_mostly_stored(list: &List, waiting: usize) -> bool {
    list.stored > MAX_STORED && list.stored > waiting as u64
}

/// Restores where parts end: if the log ends after a part, that is the beginning of the next log. The list does not
/// show it, since the server names the next log later.
fn end_at_next_log(parts: &mut [SpooledPart], end: &LogPosition, is_whole: bool) {
    let starts =
        parts.iter().skip(1).map(|part| LogPosition { file: part.segment.file.clone(), offset: part.segment.start });
    let next: Vec<Option<LogPosition>> = starts.map(Some).chain([is_whole.then(|| end.clone())]).collect();
    for (part, next) in parts.iter_mut().zip(next) {
        let Some(next) = next.filter(|next| next.file != part.segment.file) else { continue };
        part.after.iter_mut().for_each(|after| after.end = next.clone());
    }
}

fn append_line(path: &Path, part: &SpooledPart) -> Result<(), Error> {
    let write = || {
        let mut file = fs::OpenOptions::new().append(true).open(path)?;
        file.write_all(&line(part)?)?;
        file.sync_data()
    };
    write().map_err(Error::io(path, "cannot be written"))
}

fn line(part: &SpooledPart) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(part)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use archive::{binlog::Segment, receipt::Object};

    use super::{super::spool::Checkpoint, *};

    const FIRST_LOG: &str = "b.000001";

    fn at(file: &str, offset: u64) -> LogPosition {
        LogPosition { file: file.to_owned(), offset }
    }

    fn part(file: &str, start: u64) -> SpooledPart {
        let object = Object { sha256: Digest::compute(format!("{file} {start}").as_bytes()), bytes: 10 };
        let end = start + 100;
        let segment =
            Segment { file: file.to_owned(), start, end, object, event_bytes: 1, events: 1, first: 1, last: 1 };
        let after = Some(Checkpoint { end: at(file, end), gtid: format!("up to {end}") });
        SpooledPart { segment, since: jiff::Timestamp::UNIX_EPOCH, after }
    }

    /// What another run reads after this state was saved.
    fn saved(waiting: &Waiting, directory: &Path, end: &LogPosition) -> Waiting {
        let mut read: Waiting = serde_json::from_slice(&serde_json::to_vec(waiting).unwrap()).unwrap();
        read.load(directory, end).unwrap();
        read
    }

    fn starts(waiting: &Waiting) -> Vec<u64> {
        waiting.iter().map(|part| part.segment.start).collect()
    }

    #[test]
    fn a_list_that_cannot_be_removed_is_left_for_the_next_save() {
        let directory = tempfile::tempdir().unwrap();
        let names = [b"a", b"b"].map(|text| Digest::compute(text));
        let [stuck, other] = names.map(|name| list_path(directory.path(), &name));
        fs::create_dir(&stuck).unwrap();
        fs::write(&other, "").unwrap();
        let mut waiting = Waiting { replaced: names.to_vec(), ..Waiting::default() };
        waiting.remove_replaced(directory.path());
        assert!(!other.exists() && waiting.replaced == names[..1]);
        fs::remove_dir(&stuck).unwrap();
        fs::write(&stuck, "").unwrap();
        waiting.remove_replaced(directory.path());
        assert!(!stuck.exists() && waiting.replaced.is_empty());
    }

    #[test]
    fn parts_are_appended_and_stored_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let mut waiting = Waiting::default();
        for number in 0..5 {
            waiting.append(directory.path(), part(FIRST_LOG, 100 * number)).unwrap();
            let read = saved(&waiting, directory.path(), &at(FIRST_LOG, 100 * number + 100));
            assert_eq!(read, waiting);
        }
        waiting.remove_first();
        waiting.remove_first();
        let before = waiting.clone();
        waiting.append(directory.path(), part(FIRST_LOG, 500)).unwrap();
        assert_eq!(waiting.bytes(), 40);
        assert_eq!(starts(&saved(&waiting, directory.path(), &at(FIRST_LOG, 600))), [200, 300, 400, 500]);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        // A run that was killed before it saved the state knows nothing of the last line.
        let mut killed = saved(&before, directory.path(), &at(FIRST_LOG, 500));
        assert_eq!((starts(&killed), killed.lost()), (vec![200, 300, 400], 0));
        killed.append(directory.path(), part(FIRST_LOG, 700)).unwrap();
        assert_eq!(starts(&saved(&killed, directory.path(), &at(FIRST_LOG, 800))), [200, 300, 400, 700]);
        (0..4).for_each(|_| killed.remove_first());
        assert!(killed.is_empty() && killed.list_path(directory.path()).is_none() && killed.bytes() == 0);
    }

    #[test]
    fn the_state_stays_short_and_so_does_the_list() {
        let directory = tempfile::tempdir().unwrap();
        let (mut waiting, mut longest) = (Waiting::default(), 0);
        for number in 0..3000 {
            waiting.append(directory.path(), part(FIRST_LOG, 100 * number)).unwrap();
            assert!(serde_json::to_vec(&waiting).unwrap().len() < 200);
            if number >= 5 {
                waiting.remove_first();
            }
            waiting.remove_replaced(directory.path());
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
            let list = waiting.list_path(directory.path()).unwrap();
            longest = longest.max(fs::metadata(list).unwrap().len());
        }
        let line = line(&part(FIRST_LOG, 100_000)).unwrap().len() as u64;
        assert!(longest < 1100 * line, "{longest}");
        let first = 2995 * 100;
        assert_eq!(starts(&saved(&waiting, directory.path(), &at(FIRST_LOG, 300_000)))[0], first);
    }

    #[test]
    fn what_is_lost_of_the_list_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let mut waiting = Waiting::default();
        (0..4).for_each(|number| waiting.append(directory.path(), part(FIRST_LOG, 100 * number)).unwrap());
        let list = waiting.list_path(directory.path()).unwrap();
        let text = fs::read(&list).unwrap();
        for (length, left) in [(text.len(), 4), (text.len() - 10, 3), (10, 0)] {
            fs::write(&list, &text[..length]).unwrap();
            let read = saved(&waiting, directory.path(), &at(FIRST_LOG, 400));
            assert_eq!((read.len(), read.lost()), (left, 4 - left as u64), "{length}");
        }
        fs::remove_file(&list).unwrap();
        assert_eq!(saved(&waiting, directory.path(), &at(FIRST_LOG, 400)).lost(), 4);
        // After the loss was accepted, further parts are listed anew.
        fs::write(&list, &text[..text.len() - 10]).unwrap();
        let mut read = saved(&waiting, directory.path(), &at(FIRST_LOG, 400));
        read.truncate(3);
        assert_eq!(read.lost(), 0);
        read.append(directory.path(), part(FIRST_LOG, 900)).unwrap();
        assert_eq!(starts(&saved(&read, directory.path(), &at(FIRST_LOG, 1000))), [0, 100, 200, 900]);
    }

    #[test]
    fn a_part_that_could_not_be_listed_does_not_wait() {
        let directory = tempfile::tempdir().unwrap();
        let mut waiting = Waiting::default();
        waiting.append(directory.path(), part(FIRST_LOG, 0)).unwrap();
        let list = waiting.list_path(directory.path()).unwrap();
        // As on a full disk: half of a line is written.
        File::options().append(true).open(&list).unwrap().write_all(b"{\"segment\":").unwrap();
        fs::rename(&list, directory.path().join("elsewhere")).unwrap();
        waiting.append(directory.path(), part(FIRST_LOG, 100)).unwrap_err();
        assert_eq!((starts(&waiting), waiting.bytes()), (vec![0], 10));
        fs::rename(directory.path().join("elsewhere"), &list).unwrap();
        assert_eq!(starts(&saved(&waiting, directory.path(), &at(FIRST_LOG, 100))), [0]);
        waiting.append(directory.path(), part(FIRST_LOG, 200)).unwrap();
        assert_eq!(starts(&saved(&waiting, directory.path(), &at(FIRST_LOG, 300))), [0, 200]);
    }

    #[test]
    fn a_part_at_the_end_of_a_log_ends_where_the_next_begins() {
        let directory = tempfile::tempdir().unwrap();
        let mut waiting = Waiting::default();
        for part in [part(FIRST_LOG, 4), part(FIRST_LOG, 104), part("b.000002", 4), part("b.000003", 4)] {
            waiting.append(directory.path(), part).unwrap();
        }
        let ends = |end: LogPosition| -> Vec<String> {
            let read = saved(&waiting, directory.path(), &end);
            read.iter().map(|part| part.after.as_ref().unwrap().end.to_string()).collect()
        };
        assert_eq!(ends(at("b.000003", 104)), ["b.000001:104", "b.000002:4", "b.000003:4", "b.000003:104"]);
        assert_eq!(ends(at("b.000004", 4))[3], "b.000004:4");
    }

    #[test]
    fn parts_in_the_state_of_an_older_release_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let old = serde_json::to_vec(&[part(FIRST_LOG, 0), part(FIRST_LOG, 100)]).unwrap();
        let mut waiting: Waiting = serde_json::from_slice(&old).unwrap();
        waiting.load(directory.path(), &at(FIRST_LOG, 200)).unwrap();
        assert_eq!((starts(&waiting), waiting.lost()), (vec![0, 100], 0));
        waiting.remove_first();
        assert_eq!(starts(&saved(&waiting, directory.path(), &at(FIRST_LOG, 200))), [100]);
        waiting.append(directory.path(), part(FIRST_LOG, 200)).unwrap();
        assert!(serde_json::to_string(&waiting).unwrap().starts_with("{\"list\":"));
        assert_eq!(starts(&saved(&waiting, directory.path(), &at(FIRST_LOG, 300))), [100, 200]);
    }
}
