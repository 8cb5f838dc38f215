//! Prepares streamed backups: changes that were logged during the backup have to be applied before a server can use it.

mod options;

use std::{
    fs,
    io::{self, BufReader},
    path::{Path, PathBuf, absolute},
    process::Stdio,
    time::Duration,
};

use files::regular::{self, Links};
use innodb::server_file::{BACKUP_CHECKPOINTS, BACKUP_OPTIONS};

use self::options::replace;
pub use crate::prepare_fault::PrepareFault;
use crate::{Error, prepare_fault::manual_steps, program::Program};

/// A user and a group, by number.
pub type User = (u32, u32);

/// The backup to prepare, and the program that prepares it.
#[derive(Clone, Copy, Debug)]
pub struct Preparation<'a> {
    /// The program that made the backup.
    pub program: Program,
    /// The directory that the backup is in.
    pub directory: &'a Path,
    /// Path of the program, if it is not on the search path.
    pub path: Option<&'a Path>,
    /// An option file of this host, for a backup of encrypted tables.
    pub options: Option<&'a Path>,
    /// Name of the list of received files, which differs from the files that exist after preparation.
    pub list: &'a str,
}

impl Preparation<'_> {
    /// Warning for a user who does not want the backup prepared.
    #[must_use]
    pub fn warning(&self) -> String {
        let manual_steps = manual_steps(self.program, self.directory);
        format!("not ready: {manual_steps}; {BACKUP_OPTIONS} in it was written by the sender, and the program obeys it")
    }

    /// Checks that nothing in the backup points out of it; `links` are the received links.
    ///
    /// # Errors
    /// [`Error::Unprepared`] with [`PrepareFault::LeadsOut`].
    pub fn check(&self, links: &[PathBuf]) -> Result<(), Error> {
        match links.first() {
            Some(link) => Err(self.failed(PrepareFault::LeadsOut(link.clone()))),
            None => Ok(()),
        }
    }

    /// Prepares the backup, as `owner` if this process is root.
    ///
    /// # Errors
    /// [`Error::Unprepared`].
    pub fn run(&self, owner: Option<User>) -> Result<(), Error> {
        let is_root = rustix::process::geteuid().is_root();
        user(is_root, owner).and_then(|user| self.prepare(user)).map_err(|fault| self.failed(fault))
    }

    fn failed(&self, fault: PrepareFault) -> Error {
        Error::Unprepared { directory: self.directory.to_owned(), program: self.program, fault }
    }

    fn prepare(&self, user: Option<User>) -> Result<(), PrepareFault> {
        // The program works in that directory.
        let directory = &fs::canonicalize(self.directory).map_err(PrepareFault::io(self.directory))?;
        replace(directory, self.options, user)?;
        let path = &self.path.map_or_else(|| self.program.found(), Path::to_path_buf);
        let mut program = started_elsewhere(path).map_err(PrepareFault::io(path))?;
        program = program.arg("--prepare").arg(format!("--target-dir={}", directory.display()));
        if let Some((uid, gid)) = user {
            program = program.user(uid, gid);
        }
        let mut running = program.start(Stdio::null(), Stdio::piped()).map_err(PrepareFault::io(path))?;
        let said = running.stderr.take().map(|log| process::last_error(BufReader::new(log))).unwrap_or_default();
        // No time limit: it applies a log of any length.
        let status =
            running.wait(Duration::MAX).and_then(|status| status.ok_or_else(|| io::ErrorKind::TimedOut.into()));
        let status = status.map_err(PrepareFault::io(path))?;
        let path = path.to_owned();
        if !status.success() {
            let said = if said.is_empty() { status.to_string() } else { said };
            return Err(PrepareFault::Failed { path, said });
        }
        if !BACKUP_CHECKPOINTS.iter().any(|name| is_prepared(&directory.join(name))) {
            return Err(PrepareFault::NotPrepared { path });
        }
        fs::remove_file(directory.join(self.list)).map_err(PrepareFault::io(Path::new(self.list)))
    }
}

/// The program, started in a directory without the sender's files, so that relative or searched paths resolve to files
/// of this host.
fn started_elsewhere(path: &Path) -> io::Result<process::Program<'static>> {
    let is_searched = path.components().count() == 1 && !path.is_absolute();
    let path = if is_searched { path.to_owned() } else { absolute(path)? };
    Ok(process::Program::at(path).directory("/"))
}

/// The user for the program, which parses input from the sender: never root, and not a user or group that only the
/// sender named. `None` is the current user.
fn user(is_root: bool, owner: Option<User>) -> Result<Option<User>, PrepareFault> {
    match owner {
        _ if !is_root => Ok(None),
        Some((uid, gid)) if uid != 0 && gid != 0 => Ok(owner),
        Some(_) => Err(PrepareFault::OwnerIsRoot),
        None => Err(PrepareFault::NoOwner),
    }
}

fn is_prepared(state: &Path) -> bool {
    const MAX_BYTES: u64 = 64 << 10;
    let text = regular::read(state, Links::Refused, MAX_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let kind = text.lines().find_map(|line| line.strip_prefix("backup_type")?.trim_start().strip_prefix('='));
    // The first value is xtrabackup's, the second mariabackup's.
    kind.is_some_and(|kind| matches!(kind.trim(), "full-prepared" | "log-applied"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preparation<'a>(directory: &'a Path, path: &'a Path) -> Preparation<'a> {
        Preparation { program: Program::MariaBackup, directory, path: Some(path), options: None, list: "list" }
    }

    #[test]
    fn root_runs_the_program_as_another_user() {
        assert!(matches!(user(false, None), Ok(None)));
        assert!(matches!(user(true, Some((27, 27))), Ok(Some((27, 27)))));
        assert!(matches!(user(true, Some((27, 0))), Err(PrepareFault::OwnerIsRoot)));
        assert!(matches!(user(true, None), Err(PrepareFault::NoOwner)));
    }

    #[test]
    fn a_backup_with_a_link_is_not_prepared() {
        let preparation = preparation(Path::new("/b"), Path::new("mariadb-backup"));
        let error = preparation.check(&[PathBuf::from("db/t.isl")]).unwrap_err();
        let text = "/b: received, but not prepared: db/t.isl leads out of the backup, which no link in it may do";
        assert_eq!(error.to_string(), text);
        assert!(error.hint().is_some_and(|hint| hint.starts_with("do not run the program")));
        assert!(preparation.check(&[]).is_ok());
    }

    #[test]
    fn a_program_that_fails_or_prepares_nothing_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("program");
        fs::write(directory.path().join(BACKUP_OPTIONS), "innodb_page_size=4096\n").unwrap();
        fs::write(directory.path().join("list"), "").unwrap();
        let run = |script: &str| {
            harness::script(&program, script).unwrap();
            preparation(directory.path(), &program).prepare(None).map_err(|reason| reason.to_string())
        };
        assert!(run("echo 'Error: no redo log' >&2; exit 1").unwrap_err().ends_with("Error: no redo log"));
        assert!(run("exit 0").unwrap_err().contains("is not marked as prepared"));
        assert_eq!(run("echo 'backup_type = log-applied' > \"${2#--target-dir=}/xtrabackup_checkpoints\""), Ok(()));
        assert!(!directory.path().join("list").exists());
    }

    #[test]
    fn a_backup_is_prepared_only_if_its_checkpoints_file_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("state");
        for (text, prepared) in [
            ("backup_type = full-prepared\nfrom_lsn = 0\n", true),
            ("backup_type = full-backuped\n", false),
            ("backup_type = log-applied\n", true),
            ("", false),
        ] {
            fs::write(&state, text).unwrap();
            assert_eq!(is_prepared(&state), prepared, "{text}");
        }
        assert!(!is_prepared(&directory.path().join("none")));
    }
}
