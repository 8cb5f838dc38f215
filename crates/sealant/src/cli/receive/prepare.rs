//! A backup that was streamed is no data directory yet: what was written while it was made has to be applied.

mod options;

use std::fs;
use std::io::BufReader;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, Stdio};
use std::time::Instant;

use ::snapshot::backup::{Program, reason_in};
use ::transfer::plan::MANIFEST;
use ::transfer::receiver::{Owner, Received};
use clap::Args;
use files::regular::{self, Links};

use self::options::{OPTIONS, write_anew};
use crate::cli::snapshot::backup::unprepared_by;
use crate::exit::Exit;
use crate::output::message::{Failure, info, warning};

/// What is done with a backup that comes unprepared.
#[derive(Debug, Args)]
pub(super) struct Preparing {
    /// mariabackup or xtrabackup of the version of the sender's server, for a backup of --provider mariabackup or xtrabackup
    /// [default: found on the path]. It works on what the sender sent: root has it run as --owner, which must not be root
    #[arg(long, value_name = "PROGRAM")]
    prepare_with: Option<PathBuf>,
    /// Option file for that program, for a backup of encrypted tables: plugin_load, plugin_dir and where the keys are on
    /// this host. Of the sender's options none that names a library or a file is used
    #[arg(long, value_name = "FILE")]
    prepare_options: Option<PathBuf>,
    /// Leave such a backup unprepared, and end with exit code 3
    #[arg(long, conflicts_with_all = ["prepare_with", "prepare_options"])]
    no_prepare: bool,
}

/// Where such a program writes down how far a backup is; `mariadb_backup_` since MariaDB 11.
const STATES: [&str; 2] = ["xtrabackup_checkpoints", "mariadb_backup_checkpoints"];

impl Preparing {
    /// Prepares what was received, if it has to be. `owner` is who this side says that everything belongs to.
    pub(super) fn prepare(&self, into: &Path, received: &Received, owner: Option<Owner>) -> Result<Exit, Failure> {
        let Some(program) = unprepared_by(&received.notes) else { return Ok(Exit::Clean) };
        let by_hand = format!(
            "no server may start on it before `{} --prepare --target-dir={}` has succeeded, run as the server's user and \
             never as root",
            program.file(),
            into.display()
        );
        let failed = |reason: String| Failure::new(format!("{}: received, but not prepared: {reason}", into.display()));
        if let Some(link) = received.leads_elsewhere.first() {
            return Err(failed(format!("{} leads out of it, as nothing in such a backup does", link.display()))
                .hint("do not run the program on it: it would write where that leads; ask who sent this"));
        }
        if self.no_prepare {
            warning(&format!("not ready: {by_hand}; {OPTIONS} in it is the sender's word, which the program obeys"));
            return Ok(Exit::Findings);
        }
        let user = user(owner).map_err(|reason| failed(reason).hint(&by_hand))?;
        let began = Instant::now();
        self.run(program, into, user).map_err(|reason| failed(reason).hint(by_hand))?;
        info(&format!("prepared by {program} in {:.1} s: a server may start on it", began.elapsed().as_secs_f64()));
        Ok(Exit::Clean)
    }

    fn run(&self, program: Program, into: &Path, user: Option<Owner>) -> Result<(), String> {
        // The program works in that directory.
        let into = &fs::canonicalize(into).map_err(|error| format!("{}: {error}", into.display()))?;
        write_anew(into, self.prepare_options.as_deref(), user.map(|user| (user.uid, user.gid)))?;
        let file = self.prepare_with.clone().unwrap_or_else(|| program.file().into());
        let mut command = command(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        command.arg("--prepare").arg(format!("--target-dir={}", into.display()));
        if let Some(Owner { uid, gid }) = user {
            // Other groups go with the user.
            command.uid(uid).gid(gid);
        }
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

/// The program, started where nothing of the sender's lies: a relative path, or one that is searched, leads to this
/// host's file.
fn command(program: &Path) -> std::io::Result<Command> {
    let is_searched = program.components().count() == 1 && !program.is_absolute();
    let mut command = if is_searched { Command::new(program) } else { Command::new(absolute(program)?) };
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    Ok(command)
}

/// As whom the program runs, which parses what a sender made: never as root, and not as a user or group that only the
/// sender named. `None` is this user.
fn user(owner: Option<Owner>) -> Result<Option<Owner>, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    match owner {
        Some(Owner { uid, gid }) if uid != 0 && gid != 0 => Ok(owner),
        Some(_) => Err("root does not run the program as root, and --owner is root".to_owned()),
        None => Err("root runs the program only as a user that --owner names".to_owned()),
    }
}

fn is_prepared(state: &Path) -> bool {
    const MOST_BYTES: u64 = 64 << 10;
    let text = regular::read(state, Links::Refused, MOST_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
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
