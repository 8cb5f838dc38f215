//! The journal of a run: the packs that it has stored. If it ends without a receipt, the next run need not store their
//! pages again.
//!
//! ```text
//! 000123-1764376000123.part/    of run 123, with the milliseconds of its start
//!     journal-files.json        fingerprints of the recipients; for each entry: path in hexadecimal, and state as in files.json
//!     journal                   for each stored pack, a line: BLAKE3 of the rest in hexadecimal, JSON: length, hash, parts of files
//!     hashes                    of the pages read so far
//! ```
//!
//! A line is written after its pack is stored. The next run uses a page of the pack if it reads a page with the same hash
//! at the same position of the same file, and if the repository has the pack with the right length. The page is judged
//! like one that has changed: the verdicts of the other run are lost.

use std::{
    collections::{BTreeSet, HashMap},
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use archive::{Digest, Run as FileRun, names, receipt::Object};
use codec::path::RelativePath;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use transfer::plan::Plan;

use super::{Scope, files::Files, frames::PackedPart, unit_map::UnitMap};
use crate::{
    Error, Repository,
    state::{Attempt, Draft, FileState, JOURNAL, JOURNAL_FILES, PAGE_HASH_BYTES, PAGES, State},
};

/// The journal that a run writes.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
}

/// A stored pack.
#[derive(Serialize, Deserialize)]
struct PackLine {
    sha256: Digest,
    bytes: u64,
    /// MariaDB keys that pages of this pack, or of an earlier one, need: id and version.
    keys: BTreeSet<(u32, u32)>,
    parts: Vec<PartLine>,
}

/// A frame of a pack.
#[derive(Serialize, Deserialize)]
struct PartLine {
    /// Number of the file.
    f: usize,
    /// Offset of the frame in the plain text of the pack, and its packed length.
    z: u64,
    zn: u32,
    /// Parts of the file: offset and length.
    runs: Vec<(u64, u64)>,
}

/// For whom a run encrypts, and what it reads.
#[derive(Serialize, Deserialize)]
struct FileList {
    recipients: BTreeSet<String>,
    files: Vec<FileLine>,
}

/// An entry of the list of files: path and state.
type FileLine = Option<(String, FileState)>;

impl Journal {
    /// Starts the journal of a run that encrypts to recipients with these fingerprints.
    pub(super) fn begin(
        draft: &Draft,
        recipients: BTreeSet<String>,
        plan: &Plan,
        files: &Files,
    ) -> Result<Self, Error> {
        let line = |(number, planned): (usize, &transfer::plan::PlannedEntry)| {
            Some((HEXLOWER.encode(planned.entry.path.as_bytes()), files.get(number)?.state))
        };
        let list = FileList { recipients, files: plan.entries.iter().enumerate().map(line).collect() };
        let (path, mut file) = draft.temporary_file(JOURNAL_FILES)?;
        let bytes = serde_json::to_vec(&list).map_err(io::Error::from);
        bytes.and_then(|bytes| file.write_all(&bytes)).map_err(Error::io(&path, "cannot be written"))?;
        let (path, file) = draft.temporary_file(JOURNAL)?;
        Ok(Self { file, path })
    }

    /// Records a pack that is stored.
    pub(super) fn add(&self, pack: Object, keys: &BTreeSet<(u32, u32)>, parts: &[PackedPart]) -> Result<(), Error> {
        let part = |PackedPart { file, extents, frame }: &PackedPart| PartLine {
            f: *file,
            z: frame.at,
            zn: frame.bytes,
            runs: extents.iter().map(|extent| (extent.at, extent.bytes)).collect(),
        };
        let Object { sha256, bytes } = pack;
        let line = PackLine { sha256, bytes, keys: keys.clone(), parts: parts.iter().map(part).collect() };
        let text = serde_json::to_string(&line).map_err(io::Error::from);
        let written = text.and_then(|text| (&self.file).write_all(checked_line(&text).as_bytes()));
        written.map_err(Error::io(&self.path, "cannot be written"))
    }
}

/// What runs without a receipt have stored.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// Start of the first of these runs.
    pub(super) began: Option<Timestamp>,
    pub(super) packs: Vec<Object>,
    /// MariaDB keys that their pages need.
    pub(super) keys: BTreeSet<(u32, u32)>,
    files: HashMap<RelativePath, Vec<Arc<StoredParts>>>,
    /// Why what a run has stored cannot be used, and is stored again.
    pub(super) fault: Option<Error>,
}

/// A file of which a run without a receipt has stored parts.
#[derive(Debug)]
pub(super) struct StoredParts {
    /// State of the file in that run.
    pub(super) state: FileState,
    /// Number of its units.
    pub(super) units: u64,
    /// Locations of the units of all files that were stored.
    pub(super) map: UnitMap,
    /// Hashes of the pages of all files.
    pub(super) pages: Arc<File>,
}

impl Attempts {
    /// Reads the journals. Packs that are missing, truncated, out of scope or for other recipients are not used, and none
    /// of a repository that this host may not read. `first_pack` is the number of the first pack.
    pub(super) fn read(
        repository: &Repository,
        host: &str,
        state: &State,
        scope: &Scope,
        recipients: &BTreeSet<String>,
        first_pack: usize,
    ) -> Result<Self, Error> {
        let found = if repository.may_read() { state.attempts()? } else { Vec::new() };
        if found.is_empty() {
            return Ok(Self::default());
        }
        let lengths = repository.lengths(host)?;
        let is_there = |pack: &Digest, bytes| scope.uses(pack) && lengths.get(&names::pack(host, pack)) == Some(&bytes);
        let mut attempts = Self::default();
        // The oldest first: a salvage takes what the pack with the highest number has of a page.
        for attempt in &found {
            let map = UnitMap::new(state.scratch()?);
            match attempts.add(attempt, map, recipients, first_pack, &is_there) {
                Err(Error::Lists(source)) => return Err(Error::Lists(source)),
                added => attempts.fault = attempts.fault.take().or_else(|| added.err()),
            }
        }
        Ok(attempts)
    }

    /// The parts of a file that were stored with this state.
    pub(super) fn of(&self, path: &RelativePath, state: &FileState) -> Vec<Arc<StoredParts>> {
        let is_same = |parts: &&Arc<StoredParts>| {
            (parts.state.unit_bytes, parts.state.context) == (state.unit_bytes, state.context)
        };
        self.files.get(path).into_iter().flatten().filter(is_same).cloned().collect()
    }

    fn add(
        &mut self,
        attempt: &Attempt,
        map: UnitMap,
        recipients: &BTreeSet<String>,
        first_pack: usize,
        is_there: &dyn Fn(&Digest, u64) -> bool,
    ) -> Result<(), Error> {
        let [list, pages, lines] = [JOURNAL_FILES, PAGES, JOURNAL].map(|name| attempt.directory.join(name));
        let text = fs::read(&list).map_err(Error::io(&list, "cannot be read"))?;
        let parsed: Result<FileList, _> = serde_json::from_slice(&text).map_err(io::Error::from);
        let FileList { files, recipients: of_run } = parsed.map_err(Error::io(&list, "cannot be used"))?;
        if of_run != *recipients {
            return Ok(());
        }
        let pages = Arc::new(File::open(&pages).map_err(Error::io(&pages, "cannot be read"))?);
        let journal = BufReader::new(File::open(&lines).map_err(Error::io(&lines, "cannot be read"))?);
        let (packs_before, mut stored) = (self.packs.len(), BTreeSet::new());
        for line in journal.split(b'\n') {
            let line = line.map_err(Error::io(&lines, "cannot be read"))?;
            // A kill may have cut the last line off.
            let Some(PackLine { sha256, bytes, keys, parts }) = parse_line(&line) else { break };
            if !is_there(&sha256, bytes) {
                continue;
            }
            let pack = u32::try_from(first_pack.saturating_add(self.packs.len())).unwrap_or(u32::MAX);
            self.packs.push(Object { sha256, bytes });
            self.keys.extend(keys);
            for part in parts {
                let Some(Some((_, state))) = files.get(part.f) else { continue };
                stored.insert(part.f);
                part.runs(pack).try_for_each(|run| map.put(state, &run)).map_err(|error| not_put(&lines, error))?;
            }
        }
        for file in stored {
            let Some(Some((path, state))) = files.get(file) else { continue };
            let Some(path) = HEXLOWER.decode(path.as_bytes()).ok().and_then(|path| RelativePath::parse(&path)) else {
                continue;
            };
            // The units of the next file follow.
            let next =
                files.iter().skip(file.saturating_add(1)).flatten().next().map_or(u64::MAX, |(_, next)| next.pages_at);
            let units = next.saturating_sub(state.pages_at) / PAGE_HASH_BYTES;
            let parts = StoredParts { state: *state, units, map: map.clone(), pages: Arc::clone(&pages) };
            self.files.entry(path).or_default().push(Arc::new(parts));
        }
        if self.packs.len() > packs_before {
            self.began = self.began.into_iter().chain([attempt.began]).min();
        }
        Ok(())
    }
}

/// Why a part of a journal is not in the map: it is no part of this format, or the map cannot be written.
fn not_put(journal: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidInput => Error::io(journal, "cannot be used")(error),
        _ => Error::Lists(error),
    }
}

/// A line that shows whether it is damaged: a wrong location would be in the backup.
fn checked_line(text: &str) -> String {
    format!("{} {text}\n", blake3::hash(text.as_bytes()).to_hex())
}

/// The pack of a line; `None` if the line is damaged or cut off.
fn parse_line(line: &[u8]) -> Option<PackLine> {
    let (hash, text) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let is_sound = blake3::hash(text.as_bytes()).to_hex().as_str() == hash;
    is_sound.then(|| serde_json::from_str(text).ok()).flatten()
}

impl PartLine {
    fn runs(self, pack: u32) -> impl Iterator<Item = FileRun> {
        let Self { z: frame_at, zn: frame_bytes, runs, .. } = self;
        runs.into_iter().scan(0_u32, move |end, (at, bytes)| {
            let offset = *end;
            *end = end.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
            Some(FileRun { at, bytes, pack, offset, frame_at, frame_bytes })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack() -> PackLine {
        let parts = vec![PartLine { f: 0, z: 700, zn: 90, runs: vec![(0, 16 << 10)] }];
        PackLine { sha256: Digest::compute(b"pack"), bytes: 9, keys: BTreeSet::new(), parts }
    }

    fn state() -> FileState {
        serde_json::from_str(r#"{"unit_bytes":16384,"context":0,"pages_at":0}"#).unwrap()
    }

    /// Reads the journal of a run; `text` has its lines.
    fn read(text: &str, files: &str) -> (Attempts, Result<(), Error>) {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [(JOURNAL, text), (JOURNAL_FILES, files), (PAGES, "")] {
            fs::write(directory.path().join(name), text).unwrap();
        }
        let attempt = Attempt { directory: directory.path().to_owned(), began: Timestamp::UNIX_EPOCH };
        let (mut attempts, map) = (Attempts::default(), UnitMap::new(tempfile::tempfile().unwrap()));
        let added = attempts.add(&attempt, map, &BTreeSet::new(), 0, &|_, _| true);
        (attempts, added)
    }

    #[test]
    fn a_damaged_line_of_a_journal_is_not_used() {
        let list = FileList { recipients: BTreeSet::new(), files: vec![Some((HEXLOWER.encode(b"t.ibd"), state()))] };
        let files = serde_json::to_string(&list).unwrap();
        let line = checked_line(&serde_json::to_string(&pack()).unwrap());
        let parts = |text: &str| {
            let (attempts, added) = read(text, &files);
            added.unwrap();
            (attempts.packs.len(), attempts.of(&RelativePath::parse(b"t.ibd").unwrap(), &state()).len())
        };
        assert_eq!(parts(&line), (1, 1));
        assert_eq!(parts(&format!("{line}{}", &line[..line.len() / 2])), (1, 1), "cut off by a kill");
        assert_eq!(parts(&line.replace("\"z\":700", "\"z\":701")), (0, 0), "another location");
    }

    #[test]
    fn it_is_said_why_a_journal_cannot_be_used() {
        let (attempts, added) = read("", "{");
        assert!(attempts.packs.is_empty());
        let fault = added.unwrap_err().to_string();
        assert!(fault.contains(JOURNAL_FILES) && fault.contains("cannot be used"), "{fault}");
        let list = FileList { recipients: BTreeSet::from(["another".to_owned()]), files: Vec::new() };
        read("", &serde_json::to_string(&list).unwrap()).1.expect("only for other recipients");
    }
}
