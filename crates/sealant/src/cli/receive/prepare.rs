//! A backup that was streamed is no data directory yet: what was written while it was made has to be applied.

use std::fs;
use std::io::BufReader;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use ::snapshot::backup::{Program, reason_in};
use ::transfer::plan::MANIFEST;
use clap::Args;

use crate::cli::snapshot::backup::unprepared_by;
use crate::exit::Exit;
use crate::output::message::{Failure, info, warning};

/// What is done with a backup that comes unprepared.
#[derive(Debug, Args)]
pub(super) struct Preparing {
    /// mariabackup or xtrabackup of the version of the sender's server, for a backup of --provider mariabackup or xtrabackup
    /// [default: found on the path]
    #[arg(long, value_name = "PROGRAM")]
    prepare_with: Option<PathBuf>,
    /// Leave such a backup unprepared, and end with exit code 3
    #[arg(long, conflicts_with = "prepare_with")]
    no_prepare: bool,
}

/// The option file that such a program puts into a backup, and reads again.
const OPTIONS: &str = "backup-my.cnf";
/// Where such a program writes down how far a backup is; `mariadb_backup_` since MariaDB 11.
const STATES: [&str; 2] = ["xtrabackup_checkpoints", "mariadb_backup_checkpoints"];

impl Preparing {
    /// Prepares what was received, if it has to be. `owned` says that this side named the owner.
    pub(super) fn prepare(&self, into: &Path, notes: &[String], owned: bool) -> Result<Exit, Failure> {
        let Some(program) = unprepared_by(notes) else { return Ok(Exit::Clean) };
        let by_hand = format!("{} --prepare --target-dir={}", program.file(), into.display());
        if self.no_prepare {
            warning(&format!("not ready: no server may start on it before `{by_hand}` has succeeded"));
            return Ok(Exit::Findings);
        }
        let began = Instant::now();
        self.run(program, into, owned).map_err(|reason| {
            Failure::new(format!("{}: received, but not prepared: {reason}", into.display()))
                .hint(format!("no server may start on it before `{by_hand}` has succeeded"))
        })?;
        info(&format!("prepared by {program} in {:.1} s: a server may start on it", began.elapsed().as_secs_f64()));
        Ok(Exit::Clean)
    }

    fn run(&self, program: Program, into: &Path, owned: bool) -> Result<(), String> {
        // The program works in that directory.
        let into = &fs::canonicalize(into).map_err(|error| format!("{}: {error}", into.display()))?;
        let file = self.prepare_with.clone().unwrap_or_else(|| program.file().into());
        let mut command = Command::new(&file);
        command.arg("--prepare").arg(format!("--target-dir={}", into.display()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        as_its_owner(&mut command, into, owned)?;
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", file.display()))?;
        let said = child.stderr.take().map(|log| reason_in(BufReader::new(log))).unwrap_or_default();
        let status = child.wait().map_err(|error| format!("{}: {error}", file.display()))?;
        if !status.success() {
            return Err(format!("{}: {}", file.display(), if said.is_empty() { status.to_string() } else { said }));
        }
        if !STATES.iter().any(|name| is_prepared(&into.join(name))) {
            return Err(format!("{}: it ended well, but the backup does not say that it is prepared", file.display()));
        }
        // The list is of what came, which is not what is there any more.
        fs::remove_file(into.join(MANIFEST)).map_err(|error| format!("{MANIFEST}: {error}"))
    }
}

/// Runs it as the user whom the data belongs to: what it makes has to be theirs, and the backup's own option file
/// names libraries that it loads. A sender who says that all is root's does not get to choose those.
fn as_its_owner(command: &mut Command, into: &Path, owned: bool) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("{}: {error}", into.display());
    let system = fs::metadata(into.join("ibdata1")).map_err(failed)?;
    if system.uid() == 0 && !owned && leads_elsewhere(&fs::read_to_string(into.join(OPTIONS)).map_err(failed)?) {
        let why = "what came belongs to root, and its option file names libraries or places that only the sender chose";
        return Err(format!("{why}; give --owner, or read {OPTIONS}"));
    }
    chown(into, Some(system.uid()), Some(system.gid())).map_err(failed)?;
    command.uid(system.uid()).gid(system.gid()).current_dir(into);
    Ok(())
}

/// Whether an option file has the program load or touch anything beside the backup.
fn leads_elsewhere(options: &str) -> bool {
    const KNOWN: [&str; 5] = ["innodb", "aria", "server", "redo", "master"];
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    let inside = |part: &str| !part.trim().trim_matches(['"', '\'']).starts_with('/');
    let settings = options.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';', '[']));
    settings.into_iter().any(|line| match line.split_once('=') {
        // One that is not set, as the programs write it where a server has none.
        Some((_, "")) => false,
        Some((name, value)) => {
            let name = name.trim();
            let is_known = name.chars().all(plain) && KNOWN.iter().any(|known| name.starts_with(known));
            !is_known || value.contains("..") || !value.split([';', ':']).all(inside)
        }
        None => true,
    })
}

fn is_prepared(state: &Path) -> bool {
    let text = fs::read_to_string(state).unwrap_or_default();
    let kind = text.lines().find_map(|line| line.strip_prefix("backup_type")?.trim_start().strip_prefix('='));
    // Of xtrabackup, and of mariabackup.
    kind.is_some_and(|kind| matches!(kind.trim(), "full-prepared" | "log-applied"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_file_that_leads_out_of_the_backup_is_seen() {
        let own = "# made by\n[mysqld]\ninnodb_data_file_path=ibdata1:12M:autoextend\ninnodb_undo_directory=./\n\nserver_id=1\nplugin_load=\n";
        assert!(!leads_elsewhere(own));
        for more in [
            "plugin_load=file_key_management.so",
            "plugin-dir = /tmp",
            "loose-plugin-load=x",
            "innodb_undo_directory=/etc",
            "innodb_data_file_path=ibdata1:12M;/etc/x:12M",
            "innodb_data_home_dir='/etc'",
            "aria_log_dir_path=../../etc",
            "!include /tmp/x",
            "INNODB_UNDO_DIRECTORY=x",
        ] {
            assert!(leads_elsewhere(&format!("{own}{more}\n")), "{more}");
        }
    }

    #[test]
    fn only_what_says_so_is_prepared() {
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
