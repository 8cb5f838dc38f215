//! Completes restores that were interrupted after their commit marker, with the result that the marker has of them.

use std::{io, path::Path};

use archive::{Digest, Manifest, names::Number};
use innodb::binlog::CopyPosition;
use serde::{Deserialize, Serialize};
use transfer::receiver::{CommitMarker, Staging, check_committed};

use super::{Opened, PageCounts, RestoreOptions, Restored, entries, links, proof::keys_of, read_back, with_hashes};
use crate::{
    Error,
    judge::{self, FileVerdict},
};

/// Version of the verdicts in commit markers.
const VERSION: u32 = 2;

/// What was restored, and what was found. A commit marker has it as JSON, so that whoever completes the commit reports
/// the same as the restore would have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Verdict {
    version: u32,
    backup: BackupId,
    pub(super) pages: PageCounts,
    /// Packs that are missing or damaged, if the files were found in the packs alone.
    pub(super) lost: Option<Vec<String>>,
    /// Binary logs whose order of events may keep a server from starting.
    pub(super) logs_out_of_order: Vec<String>,
    /// Position of the backup in the binary log, if known.
    pub(super) position: Option<CopyPosition>,
}

/// A backup of any repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BackupId {
    repo: String,
    host: String,
    number: Number,
    /// `None` if the receipt is lost.
    receipt: Option<Digest>,
}

impl BackupId {
    fn new(opened: &Opened, manifest: &Manifest) -> Self {
        Self {
            repo: manifest.head.repo.clone(),
            host: opened.host().to_owned(),
            number: opened.number(),
            receipt: opened.receipt().map(|judged| judged.sha256),
        }
    }
}

impl Verdict {
    pub(super) fn new(
        opened: &Opened,
        manifest: &Manifest,
        lost: Option<Vec<String>>,
        pages: PageCounts,
        report: &verify::Report,
    ) -> Self {
        Self {
            version: VERSION,
            backup: BackupId::new(opened, manifest),
            pages,
            lost,
            logs_out_of_order: logs_out_of_order(report),
            position: manifest.head.position.clone(),
        }
    }

    /// The text for the commit marker of a restore into this directory.
    pub(super) fn text(&self, into: &Path) -> Result<String, Error> {
        let text = serde_json::to_string(self).map_err(io::Error::from);
        text.map_err(Error::io(into, "the result of the restore cannot be noted there"))
    }

    /// The verdict in a marker, if the requested restore is the one that wrote it.
    fn in_marker(marker: &CommitMarker, requested: &BackupId, options: &RestoreOptions<'_>) -> Result<Self, Error> {
        let path = options.into.clone();
        let verdict = marker.verdict.as_deref().and_then(|text| serde_json::from_str::<Self>(text).ok());
        // Another version wrote it, or a transfer.
        let Some(verdict) = verdict.filter(|verdict| verdict.version == VERSION) else {
            return Err(Error::UnknownRestore { path });
        };
        if verdict.backup != *requested {
            let BackupId { host, number, receipt, .. } = verdict.backup;
            return Err(Error::OtherRestore { path, host, number, receipt });
        }
        // Both were applied before the marker was written.
        let is_owner_same = marker.owner == options.owner;
        let is_rekey_same = marker.master_keys.is_some() == options.rekey.is_some();
        match (is_owner_same, is_rekey_same) {
            (true, true) => Ok(verdict),
            (false, _) => Err(Error::OtherOption { path, option: "--owner" }),
            (true, false) => Err(Error::OtherOption { path, option: "--rekey" }),
        }
    }
}

/// Completes an interrupted commit. Returns what the restore that began it had found.
pub(super) fn finish(
    staging: &Staging,
    manifest: &Manifest,
    opened: &Opened,
    options: &RestoreOptions<'_>,
) -> Result<Restored, Error> {
    let list = staging.staged_manifest()?;
    let verdict = match staging.mark()? {
        Some(marker) => Verdict::in_marker(&marker, &BackupId::new(opened, manifest), options)?,
        None => verify_in_place(&list, manifest, opened, options)?,
    };
    let staged_links = links::count(list.entries.iter().map(|(entry, _)| entry));
    let links = links::count(manifest.files.iter().map(|file| &file.entry));
    // Packs have no links.
    let is_salvaged = options.salvage || verdict.lost.is_some();
    if !is_salvaged && staged_links != links {
        return Err(Error::OtherOption { path: options.into.clone(), option: "--leave-out-links" });
    }
    if let Some(keyring) = options.rekey {
        check_committed(staging, keyring, &options.into)?;
    }
    let new_keys = options.rekey.map(keys_of).transpose()?;
    staging.finish(&list)?;
    Ok(Restored {
        number: opened.number(),
        tree: list.tree(),
        entries: list.entries.len() as u64,
        bytes: list.bytes(),
        packs: 0,
        partial_packs: 0,
        read_again: None,
        pages: verdict.pages,
        report: None,
        logs_out_of_order: verdict.logs_out_of_order,
        position: verdict.position,
        is_replayed: false,
        rekeyed: None,
        new_keys,
        finished: true,
        salvaged: verdict.lost,
    })
}

/// The verdict on a restore whose marker is gone. The marker is removed last, so everything is in place, and the list
/// of files shows whether they are those of the requested backup.
///
/// # Errors
/// [`Error::UnknownRestore`] if they are not, or if that cannot be known: the hashes in the list are not those of the
/// backup if keys were wrapped again, and without its manifest the backup has none.
fn verify_in_place(
    list: &transfer::manifest::Manifest,
    manifest: &Manifest,
    opened: &Opened,
    options: &RestoreOptions<'_>,
) -> Result<Verdict, Error> {
    if with_hashes(entries(manifest, opened)?, manifest).tree() != list.tree() {
        return Err(Error::UnknownRestore { path: options.into.clone() });
    }
    let (pages, report) = read_back::pages(&options.into, options.keys, options.streams);
    Ok(Verdict::new(opened, manifest, None, pages, &report))
}

/// Names of complete binary logs of MySQL whose order of events may keep a server from starting.
fn logs_out_of_order(report: &verify::Report) -> Vec<String> {
    let logs = report.files.iter().filter(|file| judge::classify(file) == FileVerdict::OutOfOrder);
    logs.filter_map(|file| Some(file.path.file_name()?.to_string_lossy().into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use transfer::receiver::Owner;
    use verify::Keys;

    use super::*;
    use crate::restore::ExternalLinks;

    fn verdict(number: Number) -> Verdict {
        let backup = BackupId {
            repo: "4c1d".to_owned(),
            host: "db1".to_owned(),
            number,
            receipt: Some(Digest::compute(&number.to_be_bytes())),
        };
        Verdict {
            version: VERSION,
            backup,
            pages: PageCounts { total: 10, proven: 7, bad: 2, unproven: 1 },
            lost: Some(vec!["a pack\nis \u{7f}gone".to_owned()]),
            logs_out_of_order: vec!["binlog.000003".to_owned()],
            position: Some(CopyPosition::default()),
        }
    }

    fn options(keys: &Keys, owner: Option<Owner>) -> RestoreOptions<'_> {
        RestoreOptions {
            into: PathBuf::from("into"),
            identities: &[],
            keys,
            owner,
            rekey: None,
            base: None,
            salvage: false,
            links: ExternalLinks::Kept,
            streams: 1,
        }
    }

    fn marker(verdict: &Verdict) -> CommitMarker {
        CommitMarker { verdict: Some(verdict.text(Path::new("into")).unwrap()), ..CommitMarker::default() }
    }

    #[test]
    fn the_result_of_a_restore_is_kept_in_its_marker() {
        let (keys, one) = (Keys::default(), verdict(1));
        let marker = marker(&one);
        assert!(!marker.verdict.as_deref().unwrap().contains('\n'), "it is one line");
        assert_eq!(Verdict::in_marker(&marker, &one.backup, &options(&keys, None)).unwrap(), one);
    }

    #[test]
    fn another_restore_than_the_staged_one_is_refused() {
        let (keys, one, two) = (Keys::default(), verdict(1), verdict(2));
        let error = Verdict::in_marker(&marker(&one), &two.backup, &options(&keys, None)).unwrap_err();
        assert!(matches!(error, Error::OtherRestore { number: 1, .. }), "{error}");
        let said = format!("{error}; {}", error.hint().unwrap());
        assert!(said.contains("a restore of backup 1 of db1 (receipt ") && said.contains("for backup 1"), "{said}");
        // The same number in another repository, or with another receipt.
        let elsewhere = BackupId { repo: "5d2e".to_owned(), ..one.backup.clone() };
        let rewritten = BackupId { receipt: two.backup.receipt, ..one.backup.clone() };
        for other in [elsewhere, rewritten] {
            let error = Verdict::in_marker(&marker(&one), &other, &options(&keys, None)).unwrap_err();
            assert!(matches!(error, Error::OtherRestore { number: 1, .. }), "{error}");
        }
    }

    #[test]
    fn a_restore_with_other_options_is_refused() {
        let (keys, one, owner) = (Keys::default(), verdict(1), Some(Owner { uid: 27, gid: 27 }));
        let error = Verdict::in_marker(&marker(&one), &one.backup, &options(&keys, owner)).unwrap_err();
        assert!(matches!(error, Error::OtherOption { option: "--owner", .. }), "{error}");
        let owned = CommitMarker { owner, ..marker(&one) };
        assert!(Verdict::in_marker(&owned, &one.backup, &options(&keys, owner)).is_ok());
        let rekeyed = CommitMarker { master_keys: Some(Vec::new()), ..marker(&one) };
        let error = Verdict::in_marker(&rekeyed, &one.backup, &options(&keys, None)).unwrap_err();
        assert!(matches!(error, Error::OtherOption { option: "--rekey", .. }), "{error}");
    }

    #[test]
    fn a_marker_that_does_not_say_what_was_restored_is_refused() {
        let (keys, one) = (Keys::default(), verdict(1));
        let later = Verdict { version: VERSION + 1, ..one.clone() };
        let texts = [None, Some(String::new()), Some("{}".to_owned()), marker(&later).verdict];
        for verdict in texts {
            let marker = CommitMarker { verdict, ..CommitMarker::default() };
            let error = Verdict::in_marker(&marker, &one.backup, &options(&keys, None)).unwrap_err();
            assert!(matches!(error, Error::UnknownRestore { .. }), "{error}");
        }
    }
}
