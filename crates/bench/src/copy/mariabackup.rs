//! `mariabackup` from a running server through `socat`, as Galera's state transfers use it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use innodb::server_file::{BACKUP_CHECKPOINTS, BACKUP_OPTIONS};
use snapshot::backup::TO_STDOUT;

use super::{
    CopyJob, Tree, name_in_path,
    process::Pipeline,
    stream::{Transport, pipe},
};
use crate::Error;

/// A running MariaDB server and its data directory.
#[derive(Clone, Debug)]
pub struct RunningServer {
    /// Unix socket, reachable from every network namespace.
    pub socket: PathBuf,
    /// Account of the backup.
    pub user: String,
    /// The only option file that `mariabackup` reads; with `None` it reads none.
    pub defaults_file: Option<PathBuf>,
    /// Files of the data directory.
    pub tree: Tree,
}

/// Maximum relative difference of total tablespace sizes, as 1/50: a snapshot is a little older than the server.
const TOLERANCE: u64 = 50;

impl RunningServer {
    /// Why a backup of this server is not comparable with a copy of `directory`: a tablespace exists in only one of
    /// them, or the sizes differ.
    #[must_use]
    pub fn difference(&self, directory: &Tree) -> Option<String> {
        let (here, there) = (directory.tablespaces(), self.tree.tablespaces());
        let only_in = |one: &BTreeMap<&Path, u64>, other: &BTreeMap<&Path, u64>| {
            one.keys().find(|name| !other.contains_key(*name)).map(|name| name.display().to_string())
        };
        if let Some(name) = only_in(&here, &there) {
            return Some(format!("the server does not have {name}"));
        }
        if let Some(name) = only_in(&there, &here) {
            return Some(format!("only the server has {name}"));
        }
        let [here, there] = [here, there].map(|all| all.into_values().fold(0, u64::saturating_add));
        let differ = here.abs_diff(there) > here / TOLERANCE;
        differ.then(|| format!("tablespaces of the server take {there} bytes, those of the directory {here}"))
    }

    /// Describes which data a backup lacks. Bytes are not compared, because a backup is complete only after it is
    /// prepared.
    pub(crate) fn missing_data(&self, backup: &Tree) -> Option<String> {
        let arrived = backup.tablespaces();
        let whole = |name: &Path, bytes: u64| arrived.get(name).is_some_and(|length| *length >= bytes);
        let lost = self.tree.tablespaces().into_iter().find(|(name, bytes)| !whole(name, *bytes));
        if let Some((name, _)) = lost {
            return Some(format!("{} is missing or shorter in the backup", name.display()));
        }
        let has = |name: &str| backup.root().join(name).is_file();
        if has(BACKUP_OPTIONS) && BACKUP_CHECKPOINTS.into_iter().any(has) {
            return None;
        }
        Some(format!("the backup has no {BACKUP_OPTIONS} or no {}", BACKUP_CHECKPOINTS[0]))
    }

    /// Options for a backup to standard output, with the program's own small files in `directory`.
    pub(crate) fn options(&self, directory: &Path) -> Vec<OsString> {
        let with = |option: &str, path: &Path| {
            let mut option = OsString::from(option);
            option.push(path);
            option
        };
        // This option must come first.
        let defaults = self.defaults_file.as_deref();
        let defaults = defaults.map_or_else(|| "--no-defaults".into(), |file| with("--defaults-file=", file));
        let user = OsString::from(format!("--user={}", self.user));
        let socket = with("--socket=", &self.socket);
        let backup = TO_STDOUT.map(OsString::from);
        [defaults].into_iter().chain(backup).chain([user, socket, with("--target-dir=", directory)]).collect()
    }
}

/// Copies through OpenSSL's TLS.
pub(super) fn tls(job: &CopyJob<'_>) -> Result<f64, Error> {
    const NAME: &str = server::program::MARIADB_BACKUP[0];
    let failed = |reason: &str| Error::Program { program: NAME.to_owned(), reason: reason.to_owned() };
    let server = job.server.ok_or_else(|| failed("needs a running server"))?;
    // For the program's own small files; the backup itself goes to the stream.
    let directory = job.scratch.path().join("mariabackup");
    fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
    let (mut pack, mut unpack) = (job.on_sender(name_in_path(NAME).unwrap_or(NAME)), job.on_receiver("mbstream"));
    pack.args(server.options(&directory));
    unpack.args(["-x", "-C"]).arg(job.target());
    let whole = |near: &Pipeline| match near.last_line_of_first() {
        message if message.ends_with("completed OK!") => Ok(()),
        message => Err(failed(&format!("ended without `completed OK!`: {message}"))),
    };
    pipe(job, &Transport::tls(job)?, vec![pack], vec![unpack], whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(root: &Path, files: &[(&str, usize)]) -> Tree {
        for (name, bytes) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, vec![7; *bytes]).unwrap();
        }
        Tree::scan(root).unwrap()
    }

    fn serving(tree: Tree) -> RunningServer {
        RunningServer { socket: "s".into(), user: "u".to_owned(), defaults_file: None, tree }
    }

    #[test]
    fn a_server_with_other_tablespaces_is_recognised() {
        let dir = tempfile::tempdir().unwrap();
        let of = |name: &str, files: &[(&str, usize)]| tree(&dir.path().join(name), files);
        let server = serving(of("server", &[("db/t.ibd", 1000), ("ib_logfile0", 500)]));
        let unchanged = |name: &str, files: &[(&str, usize)]| server.difference(&of(name, files));
        assert_eq!(unchanged("same", &[("db/t.ibd", 990), ("mysql-bin.000001", 9)]), None);
        let more = unchanged("more", &[("db/t.ibd", 1000), ("db/u.ibd", 1)]);
        assert_eq!(more.as_deref(), Some("the server does not have db/u.ibd"));
        assert_eq!(unchanged("none", &[("x", 1)]).as_deref(), Some("only the server has db/t.ibd"));
        let sizes = unchanged("less", &[("db/t.ibd", 900)]);
        assert_eq!(sizes.as_deref(), Some("tablespaces of the server take 1000 bytes, those of the directory 900"));
    }

    #[test]
    fn a_backup_must_have_every_tablespace_and_its_metadata() {
        let dir = tempfile::tempdir().unwrap();
        let server = serving(tree(&dir.path().join("server"), &[("db/t.ibd", 10), ("db/t.frm", 1)]));
        let backup = dir.path().join("backup");
        let grown = |name, bytes| server.missing_data(&tree(&backup, &[(name, bytes)]));
        let lost = Some("db/t.ibd is missing or shorter in the backup".to_owned());
        assert_eq!(grown("db/t.frm", 1), lost);
        assert_eq!(grown("db/t.ibd", 9), lost);
        let names = Some("the backup has no backup-my.cnf or no xtrabackup_checkpoints".to_owned());
        assert_eq!(grown("db/t.ibd", 11), names);
        assert_eq!(grown("backup-my.cnf", 1), names);
        assert_eq!(grown("mariadb_backup_checkpoints", 1), None);
    }
}
