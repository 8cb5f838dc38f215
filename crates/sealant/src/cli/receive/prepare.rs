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

/// Where such a program writes down how far a backup is; `mariadb_backup_` since MariaDB 11.
const STATES: [&str; 2] = ["xtrabackup_checkpoints", "mariadb_backup_checkpoints"];

impl Preparing {
    /// Prepares what was received, if it has to be.
    pub(super) fn prepare(&self, into: &Path, notes: &[String]) -> Result<Exit, Failure> {
        let Some(program) = unprepared_by(notes) else { return Ok(Exit::Clean) };
        let by_hand = format!("{} --prepare --target-dir={}", program.file(), into.display());
        if self.no_prepare {
            warning(&format!("not ready: no server may start on it before `{by_hand}` has succeeded"));
            return Ok(Exit::Findings);
        }
        let began = Instant::now();
        self.run(program, into).map_err(|reason| {
            Failure::new(format!("{}: received, but not prepared: {reason}", into.display()))
                .hint(format!("no server may start on it before `{by_hand}` has succeeded"))
        })?;
        info(&format!("prepared by {program} in {:.1} s: a server may start on it", began.elapsed().as_secs_f64()));
        Ok(Exit::Clean)
    }

    fn run(&self, program: Program, into: &Path) -> Result<(), String> {
        // The program works in that directory.
        let into = &fs::canonicalize(into).map_err(|error| format!("{}: {error}", into.display()))?;
        let file = self.prepare_with.clone().unwrap_or_else(|| program.file().into());
        let mut command = Command::new(&file);
        command.arg("--prepare").arg(format!("--target-dir={}", into.display()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        as_its_owner(&mut command, into)?;
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
/// names libraries that it loads.
fn as_its_owner(command: &mut Command, into: &Path) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("{}: {error}", into.display());
    let system = fs::metadata(into.join("ibdata1")).map_err(failed)?;
    if system.uid() == 0 {
        return Err("what came belongs to root, as whom nothing is run that a sender names; give --owner".to_owned());
    }
    chown(into, Some(system.uid()), Some(system.gid())).map_err(failed)?;
    command.uid(system.uid()).gid(system.gid()).current_dir(into);
    Ok(())
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
