//! Proves the server's files page by page with keys, using `verify`.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use ::verify::{Depth, FileResult, Plan, Settings};
use innodb::file_kind::{self, FileKind};
use innodb::server_file;
use innodb::tablespace::TablespaceKind;
use innodb::verify::{Check, Units, Verdict};
use jiff::Timestamp;

use super::request::{Limits, Progress, report};
use super::stores::{KeyCopies, LoadedStores, Store};
use super::view::View;
use crate::facts::files::{Content, FileFact};
use crate::facts::host::Role;
use crate::facts::proof::{MAX_FILES, Proof, Unread, UnsoundFile};

/// Maximum number of findings kept for one file.
const MAX_FINDINGS: usize = 5;
/// Delay before a running server's suspicious files are read again: by then a rotation of keys, or the growth of a
/// file, is complete.
const PAUSE: Duration = Duration::from_secs(1);

/// Files to prove, and how.
pub(super) struct FileProofRun<'a> {
    pub(super) view: &'a View,
    pub(super) files: &'a [FileFact],
    /// The server's own key stores.
    pub(super) found: &'a [Store],
    /// Whether a server is running on the files.
    pub(super) live: bool,
    pub(super) limits: &'a Limits,
    pub(super) progress: Option<&'a dyn Fn(Progress)>,
}

/// Results for files, and files that could not be read.
#[derive(Default)]
struct Results {
    files: Vec<FileResult>,
    unread: Vec<(PathBuf, String)>,
}

impl FileProofRun<'_> {
    /// Proves every page with the server's own keys if `deep`, and with copies of them as much as [`Self::enough`]
    /// requires.
    ///
    /// Without key stores, as in a directory without its server, the copies are the only keys.
    pub(super) fn proofs(
        &self,
        deep: bool,
        copies: Option<LoadedStores>,
        datadir: &Path,
    ) -> (Option<Proof>, Option<Proof>) {
        let copies = copies.map(|mut copies| {
            KeyCopies::reject_non_copies(&mut copies, self.found, datadir);
            copies
        });
        let current = deep.then(|| LoadedStores::load(self.found));
        match (current, copies) {
            (Some(current), Some(copies)) if !current.is_usable() => {
                let of_copies = self.prove(&copies, false, Depth::EveryPage);
                let stores = current.stores.into_iter().chain(copies.stores).collect();
                (Some(Proof { stores, ..of_copies.clone() }), Some(of_copies))
            }
            (current, copies) => (
                current.map(|current| self.prove(&current, true, Depth::EveryPage)),
                copies.map(|copies| self.prove(&copies, false, self.enough())),
            ),
        }
    }

    /// How much of each file must be read to decide whether a copy of the keys opens it: every page if a tablespace has
    /// pages with a later key version than 1.
    fn enough(&self) -> Depth {
        let newer = |file: &FileFact| matches!(&file.content, Content::Tablespace { scan } if scan.key_versions.iter().any(|v| v.version.0 > 1));
        if self.files.iter().any(newer) { Depth::EveryPage } else { Depth::FirstPages }
    }

    fn prove(&self, opened: &LoadedStores, current: bool, depth: Depth) -> Proof {
        let at = Timestamp::now();
        let targets: BTreeMap<PathBuf, &FileFact> = self
            .files
            .iter()
            .filter(|file| may_hold_pages(file))
            .map(|file| (self.view.reach(Path::new(&file.path)), file))
            .collect();
        let mut results = self.run(targets.keys().cloned().collect(), opened, depth);
        if self.live {
            self.reread_suspects(&mut results, opened, current, depth);
        }
        let mut proof = Proof {
            at,
            stores: opened.stores.clone(),
            every_page: depth == Depth::EveryPage,
            verdicts: BTreeMap::new(),
            units: Units::default(),
            unsound: Vec::new(),
            unread: unread(results.unread, &targets),
            locked: 0,
            lost_keys: opened.keys.lost().reasons(),
        };
        for result in results.files {
            if let Some(file) = targets.get(&result.path).filter(|file| !self.is_unwritten_yet(file, result.verdict)) {
                proof.add(file, result);
            }
        }
        proof.unsound.sort_by(|a, b| b.verdict.cmp(&a.verdict).then_with(|| a.path.cmp(&b.path)));
        proof.unsound.truncate(MAX_FILES);
        proof
    }

    /// A new table whose first page the running server has not written yet.
    fn is_unwritten_yet(&self, file: &FileFact, verdict: Verdict) -> bool {
        let unwritten = matches!(file.content, Content::UnidentifiedTablespace { unwritten: true, .. });
        self.live && unwritten && verdict == Verdict::Unidentified
    }

    fn run(&self, paths: Vec<PathBuf>, opened: &LoadedStores, depth: Depth) -> Results {
        let plan = Plan::scan(&paths);
        let jobs = NonZeroUsize::new(self.limits.readers).unwrap_or(NonZeroUsize::MIN);
        let (ticks, seen) = channel();
        let verified = std::thread::scope(|scope| {
            let run = scope.spawn(|| {
                let ticks = ticks;
                let tick = |progress: &::verify::Progress| {
                    // Sending fails only if the receiver is gone, which waits for this thread.
                    let _ = ticks.send((progress.files(), progress.bytes()));
                };
                ::verify::run(&plan, &opened.keys, &Settings { jobs, depth, progress: &tick })
            });
            for (files, bytes) in seen {
                report(self.progress, "opening pages", usize::try_from(files).unwrap_or(usize::MAX), bytes);
            }
            run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let unread = verified.errors.into_iter().map(|unread| (unread.path, unread.reason));
        // A file that the running server dropped in the meantime is not a gap.
        let unread = unread.filter(|(path, _)| path.symlink_metadata().is_ok()).collect();
        Results { files: verified.files, unread }
    }

    /// Reads the few suspicious files again, with the current keys.
    fn reread_suspects(&self, results: &mut Results, opened: &LoadedStores, current: bool, depth: Depth) {
        let suspects: Vec<PathBuf> =
            results.files.iter().filter(|file| is_suspect(file)).map(|file| file.path.clone()).collect();
        if suspects.is_empty() || suspects.len() > MAX_FILES {
            return;
        }
        std::thread::sleep(PAUSE);
        let fresh = current.then(|| LoadedStores::load(self.found)).filter(LoadedStores::is_usable);
        let again = self.run(suspects.clone(), fresh.as_ref().unwrap_or(opened), depth);
        results.files.retain(|file| !suspects.contains(&file.path));
        results.files.extend(again.files);
        results.unread.extend(again.unread);
    }
}

/// Whether reading this file again can help. Logs were read again already, and a system tablespace of several files
/// cannot be judged by one of them.
fn is_suspect(file: &FileResult) -> bool {
    let sound = matches!(file.verdict, Verdict::Ok | Verdict::Clear);
    let alone = file.is_tablespace() && file.tablespace != Some(TablespaceKind::System);
    !sound && (alone || is_locked(file))
}

/// Whether a key that a file needs is missing or does not open it, regardless of other faults. If the key information
/// itself is damaged, the keys are not at fault.
fn is_locked(file: &FileResult) -> bool {
    match file.verdict {
        Verdict::MissingKey | Verdict::WrongKey => true,
        Verdict::BadKeyInfo => false,
        _ => file.findings.iter().any(|finding| matches!(finding.check, Check::Key | Check::KeyOpens)),
    }
}

/// Whether a file belongs to the server and has pages, blocks or events, by its content or, if that is damaged, by its
/// name.
fn may_hold_pages(file: &FileFact) -> bool {
    use Role::{BinaryLog, Data, Doublewrite, ExternalData, Redo, RelayLog, Undo};
    let current = matches!(file.role, Data | Redo | Undo | Doublewrite | BinaryLog | RelayLog | ExternalData);
    current
        && match &file.content {
            Content::Unreadable { .. } | Content::Unknown { .. } => is_named_so(file.base_name()),
            // The file of a table is briefly empty when it is created; verify decides whether these files may be.
            Content::Empty => is_log_or_aria(file.base_name()),
            content => content.has_pages(),
        }
}

/// Whether the name of a file means that it has pages or blocks, or is a binary log.
fn is_named_so(name: &str) -> bool {
    let kind = file_kind::recognise(&[], name, 0);
    kind.map_or_else(|| server_file::log_base(name).is_some(), FileKind::has_pages)
}

fn is_log_or_aria(name: &str) -> bool {
    use FileKind::{AriaData, AriaIndex, Redo};
    matches!(file_kind::recognise(&[], name, 0), Some(Redo | AriaData | AriaIndex))
}

fn unread(errors: Vec<(PathBuf, String)>, targets: &BTreeMap<PathBuf, &FileFact>) -> Vec<Unread> {
    let name = |path: &Path| targets.get(path).map_or_else(|| path.display().to_string(), |file| file.path.clone());
    errors.into_iter().take(MAX_FILES).map(|(path, why)| Unread { path: name(&path), why }).collect()
}

impl Proof {
    fn add(&mut self, file: &FileFact, result: FileResult) {
        let count = self.verdicts.entry(result.verdict).or_default();
        *count = count.saturating_add(1);
        self.units.add(&result.units);
        let locked = is_locked(&result);
        self.locked = self.locked.saturating_add(u64::from(locked));
        if !matches!(result.verdict, Verdict::Ok | Verdict::Clear) {
            self.unsound.push(unsound(file, result, locked));
        }
    }
}

fn unsound(file: &FileFact, result: FileResult, locked: bool) -> UnsoundFile {
    // Servers cause these findings in normal operation, so they do not explain the verdict.
    let tells = |check| !matches!(check, Check::Mixed | Check::Stale | Check::LogEnd);
    let made = u64::try_from(result.findings.len()).unwrap_or(u64::MAX).saturating_add(result.findings_left_out);
    let findings: Vec<_> =
        result.findings.into_iter().filter(|finding| tells(finding.check)).take(MAX_FINDINGS).collect();
    UnsoundFile {
        path: file.path.clone(),
        name: file.name.clone(),
        kind: result.kind,
        verdict: result.verdict,
        locked,
        key: result.key,
        units: result.units,
        findings_left_out: made.saturating_sub(u64::try_from(findings.len()).unwrap_or(u64::MAX)),
        findings,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::collect::{OfflineOptions, offline};
    use crate::facts::files::FileFacts;

    const PAGE: usize = 16384;
    const TESTDATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata");

    fn sample(name: &str) -> Vec<u8> {
        fs::read(Path::new(TESTDATA).join(name)).unwrap()
    }

    /// A directory with this table, and the sample's keyring in it or beside it.
    fn proven(table: &[u8], keyring: Option<&[u8]>, copy: Option<&[u8]>) -> FileFacts {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(dir.path().join("demo")).unwrap();
        fs::write(dir.path().join("demo/t.ibd"), table).unwrap();
        if let Some(keyring) = keyring {
            fs::write(dir.path().join("component_keyring_file"), keyring).unwrap();
        }
        let mut options = OfflineOptions { deep: true, ..OfflineOptions::default() };
        if let Some(copy) = copy {
            let path = other.path().join("copy");
            fs::write(&path, copy).unwrap();
            options.key_copies.keyrings.push(path);
        }
        offline(dir.path(), &options).unwrap().files.unwrap()
    }

    fn encrypted() -> Vec<u8> {
        sample("tablespace/mysql97-16k-encrypted.ibd")
    }

    fn keyring() -> Vec<u8> {
        sample("keyring/mysql97-component-file.json")
    }

    #[test]
    fn a_sound_table_is_opened_with_the_keyring_beside_it() {
        let proof = proven(&encrypted(), Some(&keyring()), None).proof.unwrap();
        assert_eq!((proof.count(Verdict::Ok), proof.files(), proof.locked), (1, 1, 0), "{proof:?}");
        assert!(proof.every_page && proof.unsound.is_empty() && proof.units.encrypted > 0);
    }

    #[test]
    fn a_damaged_page_is_listed_with_its_number() {
        let mut table = encrypted();
        table[4 * PAGE + 5000] ^= 4;
        let proof = proven(&table, Some(&keyring()), None).proof.unwrap();
        let file = &proof.unsound[0];
        assert_eq!((file.verdict, file.name.as_str(), file.locked), (Verdict::Damaged, "demo/t.ibd", false));
        assert_eq!((file.findings[0].unit, file.findings[0].offset), (Some(4), Some(4 * 16384)));
    }

    #[test]
    fn the_key_is_tried_although_the_checksum_of_page_0_is_damaged() {
        for at in [0, PAGE - 8] {
            let mut table = encrypted();
            table[at] ^= 1;
            let files = proven(&table, Some(&keyring()), None);
            assert!(files.key_proofs.iter().any(|proof| proof.opens == Some(true)), "{:?}", files.key_proofs);
            let proof = files.proof.unwrap();
            let file = &proof.unsound[0];
            assert_eq!((file.verdict, file.locked, file.units.bad), (Verdict::BadKeyInfo, false, 1));
            assert!(file.findings.iter().all(|finding| finding.detail.contains("page 0") || finding.unit == Some(0)));
        }
    }

    #[test]
    fn a_copy_is_tried_alone_and_stands_in_where_there_is_nothing_else() {
        let other = sample("keyring/mysql97-4k-component-file.json");
        let files = proven(&encrypted(), Some(&keyring()), Some(&other));
        assert_eq!(files.proof.unwrap().count(Verdict::Ok), 1);
        let copy = files.copy_proof.unwrap();
        assert_eq!((copy.locked, copy.count(Verdict::MissingKey), copy.every_page), (1, 1, false));
        assert!(copy.unsound[0].key_text().starts_with("key INNODBKey-"), "{copy:?}");

        let files = proven(&encrypted(), None, Some(&keyring()));
        let (proof, copy) = (files.proof.unwrap(), files.copy_proof.unwrap());
        assert_eq!((proof.count(Verdict::Ok), copy.count(Verdict::Ok)), (1, 1));
        assert!(copy.every_page && proof.store_names().ends_with("/copy"));
    }

    /// Samples whose name starts with this, proven at both depths with these copies.
    fn both_depths(samples: &str, copies: &KeyCopies) -> [Proof; 2] {
        let dir = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(Path::new(TESTDATA).join("tablespace")).unwrap() {
            let (name, bytes) =
                entry.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap())).unwrap();
            let packed = name.strip_suffix(".zst");
            let bytes = if packed.is_some() { zstd::decode_all(bytes.as_slice()).unwrap() } else { bytes };
            if name.starts_with(samples) {
                fs::write(dir.path().join(packed.unwrap_or(&name)), bytes).unwrap();
            }
        }
        let files = offline(dir.path(), &OfflineOptions::default()).unwrap().files.unwrap().files;
        let file_proofs = FileProofRun {
            view: &View::ours(),
            files: &files,
            found: &[],
            live: false,
            limits: &Limits::default(),
            progress: None,
        };
        let opened = copies.open().unwrap();
        [Depth::EveryPage, Depth::FirstPages].map(|depth| file_proofs.prove(&opened, false, depth))
    }

    #[test]
    fn first_pages_decide_as_every_page_does() {
        let key = |name: &str| Path::new(TESTDATA).join("keyring").join(name);
        let sizes = ["", "-4k", "-8k", "-32k", "-64k"];
        let keyrings = |sizes: &[&str]| KeyCopies {
            keyrings: sizes.iter().map(|size| key(&format!("mysql97{size}-component-file.json"))).collect(),
            ..KeyCopies::default()
        };
        let key_file = |name: &str| KeyCopies { key_files: vec![key(name)], ..KeyCopies::default() };
        for (samples, copies, locked) in [
            ("mysql97", keyrings(&sizes), false),
            ("mysql97", keyrings(&sizes[..1]), true),
            ("mariadb1011-16k", key_file("mariadb1011-keyfile"), false),
            ("mariadb1011-16k", key_file("mariadb1011-ctr-keyfile"), true),
            ("mariadb1011-ctr", key_file("mariadb1011-ctr-keyfile"), false),
            ("mariadb1011-ctr", key_file("mariadb1011-keyfile"), true),
        ] {
            let [every, first] = both_depths(samples, &copies);
            assert_eq!((every.locked, every.count(Verdict::Ok)), (first.locked, first.count(Verdict::Ok)), "{samples}");
            assert_eq!(every.locked > 0, locked, "{samples}: {every:?}");
            assert_eq!(every.files(), first.files());
        }
    }

    #[test]
    fn an_emptied_log_or_aria_table_is_no_sound_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("demo")).unwrap();
        fs::create_dir(path("#innodb_redo")).unwrap();
        fs::write(path("demo/t.MAI"), sample("aria/encrypted.MAI")).unwrap();
        for name in ["demo/t.MAD", "demo/u.MAI", "#innodb_redo/#ib_redo7", "#innodb_redo/#ib_redo8_tmp"] {
            fs::write(path(name), b"").unwrap();
        }
        let options = OfflineOptions { deep: true, ..OfflineOptions::default() };
        let proof = offline(dir.path(), &options).unwrap().files.unwrap().proof.unwrap();
        let unsound = |name: &str| proof.unsound.iter().find(|file| file.name == name).map(|file| file.verdict);
        assert_eq!(unsound("demo/t.MAD"), Some(Verdict::Truncated));
        assert_eq!(unsound("demo/u.MAI"), Some(Verdict::Unidentified));
        assert_eq!(unsound("#innodb_redo/#ib_redo7"), Some(Verdict::Truncated));
        assert_eq!(unsound("#innodb_redo/#ib_redo8_tmp"), None);
    }

    #[test]
    fn without_any_key_nothing_is_proven() {
        let proof = proven(&encrypted(), None, None).proof.unwrap();
        assert_eq!((proof.count(Verdict::Unverifiable), proof.locked), (1, 0));
    }

    #[test]
    fn files_are_taken_by_content_and_damaged_ones_by_name() {
        for name in ["t.ibd", "undo_001", "#ib_redo12", "ib_logfile0", "binlog.000003", "#ib_16384_0.dblwr", "t.MAD"] {
            assert!(is_named_so(name), "{name}");
        }
        for name in ["ib_buffer_pool", "aria_log.00000001", "t.MYD", "notes.txt", "gcache.page.000001"] {
            assert!(!is_named_so(name), "{name}");
        }
    }
}
