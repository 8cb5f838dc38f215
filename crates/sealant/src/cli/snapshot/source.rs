//! Which data directory, and how it may be copied: the options that the verbs around a copy share.

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

/// An error of the library for the user, with the next step where there is one.
pub(crate) fn failure(error: Error) -> Failure {
    let failure = Failure::new(error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
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
