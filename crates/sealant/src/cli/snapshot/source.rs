//! Which data directory, and how it may be copied: the options that the verbs around a copy share.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use ::snapshot::{Choice, DataDir, Error, Keep, Options};
use clap::Args;

use crate::output::message::Failure;

/// The data directory.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// Data directory of the server
    #[arg(long, value_name = "DIR")]
    pub(crate) datadir: PathBuf,
    #[command(flatten)]
    pub(crate) server: Named,
    /// Where copies are kept: a directory on the file system of the data
    /// [default: beside the data directory, or in it if its file system begins there]
    #[arg(long, value_name = "DIR")]
    pub(crate) place: Option<PathBuf>,
}

/// How its server is known.
#[derive(Clone, Debug, Args)]
pub(crate) struct Named {
    /// Socket of its server [default: the server is known by the files it has locked]
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// File with the process id of its server
    #[arg(long, value_name = "FILE")]
    pub(crate) pid_file: Option<PathBuf>,
}

/// How it may be copied.
#[derive(Debug, Args)]
pub(crate) struct Freezing {
    /// Never let the server stand still for longer, for example 500ms (lvm, zfs: not begun if longer is expected)
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_span)]
    pub(crate) max_freeze: Duration,
    /// auto, stopped, btrfs, zfs, reflink or lvm; auto takes the best that is sound here
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) provider: Choice,
}

impl Source {
    pub(crate) fn datadir(&self) -> Result<DataDir, Failure> {
        let datadir = DataDir::at(&self.datadir).map_err(failure)?;
        Ok(datadir.socket(self.server.socket.clone()).pid_file(self.server.pid_file.clone()))
    }
}

impl Freezing {
    pub(crate) fn options(&self, source: &Source, keep: Keep) -> Options {
        Options {
            provider: self.provider,
            max_freeze: self.max_freeze,
            place: source.place.clone(),
            keep,
            ..Options::default()
        }
    }
}

/// A short time: a number with ms or s behind it.
fn parse_span(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(digits), _) => (digits, 1),
        (None, Some(digits)) => (digits, 1000),
        (None, None) => return Err("a number, with ms or s behind it".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "a number, with ms or s behind it".to_owned())?;
    let milliseconds = number.checked_mul(unit).filter(|time| (1..=60_000).contains(time));
    milliseconds.map(Duration::from_millis).ok_or_else(|| "more than 0, and not more than 60s".to_owned())
}

/// Where what was given is none.
const WHERE: &str = "SELECT @@datadir on the server tells which directory is its data directory";

/// An error of the library for the user, with the next step where there is one.
pub(crate) fn failure(error: Error) -> Failure {
    let failure = Failure::new(error.to_string());
    match next_step(&error) {
        Some(next) => failure.hint(next),
        None => failure,
    }
}

fn next_step(error: &Error) -> Option<&'static str> {
    match error {
        Error::Unreadable { source, .. } => match source.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Some(WHERE),
            ErrorKind::PermissionDenied => Some("run it as root or as the server's user"),
            _ => None,
        },
        Error::NotADataDir { .. } => Some(WHERE),
        Error::Incomplete { .. } => Some(
            "start its server, which knows where the rest is; if this is no data directory, SELECT @@datadir on the \
             server tells which is",
        ),
        Error::NotItsServer { .. } => Some("give --socket or --pid-file of the server that has it open, or neither"),
        Error::Runs { .. } => Some("stop it, or leave the choice to --provider auto"),
        Error::AlreadyStopped { .. } => Some("wait for the copy that is being taken, or send it SIGCONT if nothing is"),
        Error::NoProvider { refused, .. } => {
            let worth_saying = refused.iter().rev().find_map(|(_, error)| next_step(error));
            worth_saying.or(Some("stop the server and use its directory as it is"))
        }
        Error::NoClones { .. } => Some(
            "keep the data on XFS (reflink=1), btrfs, ZFS or LVM, or stop the server for the copy, or send a backup \
             (sealant send --live --provider mariabackup); copying files under locks is not sound and not offered",
        ),
        Error::OverBudget { .. } => Some(
            "raise --max-freeze, or defragment the files (xfs_fsr), or keep the data on btrfs, where nothing stands \
             still",
        ),
        Error::Sending { .. } => Some("try again when that node has joined"),
        Error::CutOff { .. } => Some("if that node does not become Synced within a minute, start it again"),
        Error::TooSlow { .. } => Some("try again when less is written, or raise --max-freeze"),
        Error::OtherFileSystem { .. } => Some("give --place a directory on the file system of the data"),
        Error::TablespaceOutside { .. } => {
            Some("move the table into the data directory, or stop the server for the copy")
        }
        Error::Hidden { .. } => Some("run it as root"),
        Error::Signal { .. } => Some("run it as root or as the server's user"),
        Error::OutOfSight { .. } => Some("run it where the server's process can be seen, on the host of the container"),
        Error::NoRoom { .. } => {
            Some("make room in the volume group, or keep the data in a thin pool, whose snapshots take what they need")
        }
        Error::Overflowed { .. } => Some(
            "try again when less is written, or make room in the volume group: a snapshot as large as its volume cannot become full",
        ),
        Error::NeedsRoot { .. } => Some("run it as root"),
        Error::NotThisFileSystem { .. } => Some("btrfs takes snapshots of its own: --provider btrfs"),
        Error::InUse { .. } => Some("wait for that program, or end it"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short() {
        assert_eq!(parse_span("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_span("2s"), Ok(Duration::from_secs(2)));
        assert!(parse_span("0s").is_err() && parse_span("5").is_err() && parse_span("2h").is_err());
    }
}
