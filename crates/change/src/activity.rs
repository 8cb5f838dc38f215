//! What a run does, or how it ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Activity of a run, or how it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// Executes a step.
    #[default]
    Running,
    /// Paused on request.
    Paused,
    /// Waits because of its own rules: lag, load, time of day.
    Waiting,
    /// Completed: everything is encrypted.
    Done,
    /// Completed with leftovers.
    Leftovers,
    /// Canceled on request.
    Canceled,
    /// Failed.
    Failed,
    /// Its process is gone without a final state.
    Interrupted,
}

impl Activity {
    /// Whether the run continues.
    #[must_use]
    pub const fn is_alive(self) -> bool {
        matches!(self, Self::Running | Self::Paused | Self::Waiting)
    }
}

impl fmt::Display for Activity {
    /// Text about a run, to follow the name of its server.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Waiting => "waiting",
            Self::Done => "ended, everything is encrypted",
            Self::Leftovers => "ended with leftovers",
            Self::Canceled => "was canceled",
            Self::Failed => "failed",
            Self::Interrupted => "was interrupted",
        })
    }
}
