//! Exit codes, the same for every verb; the table in `--help` and in the documents is made from it.

use std::process::ExitCode;

/// How a run ended, ordered by the code's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Clean at the chosen threshold.
    Clean,
    /// The tool could not do its work.
    Failed,
    /// The command line is wrong. clap uses the same number.
    Usage,
    /// Some failure reaches `--fail-on`.
    Findings,
    /// Something could not be judged and `--require-complete` was given.
    Incomplete,
    /// A waiver is expired, or the waiver file is not valid.
    BadWaiver,
}

/// Codes and their meaning, for the help texts.
pub(crate) const TABLE: &str = "\
Exit codes:
  0  clean at the chosen threshold (and complete, with --require-complete)
  1  the audit could not be done: server gone, file unreadable
  2  wrong usage
  3  a failure reaches --fail-on
  4  evidence is incomplete and --require-complete was given
  5  a waiver is expired, unknown or malformed";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Clean => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Findings => 3,
            Exit::Incomplete => 4,
            Exit::BadWaiver => 5,
        })
    }
}
