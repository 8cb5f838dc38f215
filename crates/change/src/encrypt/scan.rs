//! Reads the bytes on disk, with the collectors and checks of `audit`.

use audit::{
    checks::{DOUBLEWRITE_PLAINTEXT, PAGE_PLAINTEXT, REDO_PLAINTEXT, UNDO_PLAINTEXT},
    collect::{self, LiveOptions},
    facts::host::HostFacts,
    finding::{Finding, Status},
    rules::Rules,
    run::judge,
};
use innodb::server_file;
use jiff::Timestamp;
use server::{Flavor, ServerVersion, option_group, option_name, switch};

use super::{EncryptAction, Leftover, Options, Progress, ServerAccess, leftovers};
use crate::{ClientImpact, Error, Step};

/// Findings about everything that can be in clear text on disk.
pub(super) struct Scan {
    findings: Vec<Finding>,
    version: Option<ServerVersion>,
    files_seen: bool,
    host: Option<HostFacts>,
}

impl Scan {
    /// Reads samples of each file.
    pub(super) fn quick(location: &ServerAccess, options: &Options, progress: &Progress<'_>) -> Result<Self, Error> {
        Self::run(location, options, false, progress)
    }

    /// Reads every page of every file.
    pub(super) fn deep(location: &ServerAccess, options: &Options, progress: &Progress<'_>) -> Result<Self, Error> {
        Self::run(location, options, true, progress)
    }

    fn run(location: &ServerAccess, options: &Options, deep: bool, progress: &Progress<'_>) -> Result<Self, Error> {
        let show = |at: collect::Progress| progress(&at.to_string());
        let options = LiveOptions {
            datadir: options.datadir.clone(),
            deep,
            wire: false,
            progress: Some(&show),
            ..LiveOptions::new(location.target.clone(), location.connect.clone())
        };
        let facts = collect::live(&options)?;
        let findings = judge(&facts, &Rules::default(), Timestamp::now()).findings;
        let version = facts.sql.as_ref().map(|sql| sql.identity.version.clone());
        let files_seen = facts.files.as_ref().is_some_and(audit::facts::files::FileFacts::data_seen);
        Ok(Self { findings, version, files_seen, host: facts.host })
    }

    /// Whether the files were readable.
    pub(super) fn complete(&self) -> bool {
        self.files_seen
    }

    /// Whether an option file enables the setting; `None` if none was readable.
    pub(super) fn option_is_on(&self, name: &str) -> Option<bool> {
        let host = self.host.as_ref()?;
        let entry = [name.to_owned(), option_name::with_hyphens(name)]
            .iter()
            .find_map(|name| host.option(option_group::SERVER, name));
        Some(entry.is_some_and(|entry| !entry.value.as_deref().is_some_and(switch::is_off)))
    }

    /// Whether the check failed for any artefact.
    pub(super) fn failed(&self, check: &str) -> bool {
        self.failures(check).next().is_some()
    }

    fn unknown(&self, check: &str) -> bool {
        self.findings.iter().any(|finding| finding.id == check && finding.status == Status::Unknown)
    }

    /// Findings of the check that failed.
    pub(super) fn failures<'s>(&'s self, check: &'s str) -> impl Iterator<Item = &'s Finding> {
        self.findings.iter().filter(move |finding| finding.id == check && finding.status == Status::Fail)
    }

    /// Whether each failing doublewrite file has as many clear-text pages as before, one of them in the same slot. The
    /// server uses some slots only when the buffer pool is too small for the data that is read, and no statement of a
    /// run can cause that: on MySQL 9.7.4 with 2 GiB of data in a pool of 1 GiB, seven slots remained over six
    /// attempts.
    pub(super) fn same_doublewrite_slots(&self, before: &Self) -> bool {
        let same = |now: &Finding, then: &Finding| {
            now.message == then.message && now.evidence.iter().any(|slot| then.evidence.contains(slot))
        };
        let check = DOUBLEWRITE_PLAINTEXT.id;
        self.failures(check).all(|now| before.failures(check).any(|then| same(now, then)))
    }

    /// Everything in clear text, and everything that was not readable.
    pub(super) fn leftovers(&self) -> Vec<Leftover> {
        leftovers::from_findings(&self.findings, self.version.as_ref())
    }

    /// Steps that rewrite the remaining clear-text data.
    pub(super) fn renewals(&self) -> Vec<Step<EncryptAction>> {
        if self.version.as_ref().is_some_and(|version| version.flavor == Flavor::MariaDb) {
            return self.free_pages().or_else(|| self.doublewrite_area()).into_iter().collect();
        }
        let undo = self.failed(UNDO_PLAINTEXT.id);
        // Unwritten pages of a new copy prove nothing; replacing the redo files writes them.
        let unwritten = self.has_unwritten_pages();
        let redo = self.failed(REDO_PLAINTEXT.id) || unwritten;
        let doublewrite = self.failed(DOUBLEWRITE_PLAINTEXT.id);
        let mut steps = Vec::new();
        if undo {
            let what = "empty and recreate the undo tablespaces, whose old pages are in clear text";
            steps.push(Step::quiet("renew undo", what, EncryptAction::RenewUndo));
        }
        if redo {
            let what = "replace the redo log files that were written in clear text";
            steps.push(Step {
                blocks: ClientImpact::Moment,
                ..Step::quiet("renew redo", what, EncryptAction::RenewRedo)
            });
        }
        if doublewrite {
            let what = "overwrite the doublewrite files, which hold pages in clear text";
            steps.push(Step::quiet("renew doublewrite", what, EncryptAction::RenewDoublewrite));
        }
        steps
    }

    /// Whether a file has none of the pages that would show whether it is encrypted.
    pub(super) fn has_unwritten_pages(&self) -> bool {
        self.unknown(PAGE_PLAINTEXT.id)
    }

    /// A step for MariaDB only. It overwrites the doublewrite area as well.
    fn free_pages(&self) -> Option<Step<EncryptAction>> {
        let is_undo_or_system = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            server_file::is_undo(name) || server_file::is_system(name)
        };
        let any = self.failures(PAGE_PLAINTEXT.id).any(|finding| is_undo_or_system(&finding.artefact));
        let what = "reuse free pages of the undo and system tablespaces, which hold clear text";
        any.then(|| Step::quiet("use free pages", what, EncryptAction::UseFreePages))
    }

    /// A step for MariaDB's doublewrite area in the system tablespace. The area keeps clear-text copies of pages until
    /// the server writes enough pages at once to overwrite them, which may never happen after a crash.
    fn doublewrite_area(&self) -> Option<Step<EncryptAction>> {
        let what = "overwrite the doublewrite area, which holds pages in clear text";
        let step = || Step::quiet("renew doublewrite", what, EncryptAction::UseFreePages);
        self.failed(DOUBLEWRITE_PLAINTEXT.id).then(step)
    }
}
