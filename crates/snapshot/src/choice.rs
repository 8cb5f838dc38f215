//! The providers by name, and which of them to use.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::program::Program;

/// A method to make a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Provider {
    /// The data directory itself; no server is running.
    Stopped,
    /// A snapshot of a btrfs subvolume.
    Btrfs,
    /// Snapshots of ZFS data sets.
    Zfs,
    /// Clones of all files while the server process is stopped.
    Reflink,
    /// A snapshot of a logical volume.
    Lvm,
    /// Files copied while the server works, and its log.
    Follow,
}

/// Which provider to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderChoice {
    /// The best suitable one whose estimated freeze is short enough.
    Auto,
    /// This provider.
    Only(Provider),
    /// A streamed backup instead of a copy.
    Stream(Program),
}

impl Provider {
    /// All providers, the best first.
    pub const ALL: [Self; 6] = [Self::Stopped, Self::Btrfs, Self::Zfs, Self::Reflink, Self::Lvm, Self::Follow];

    /// Name for options, messages and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Btrfs => "btrfs",
            Self::Zfs => "zfs",
            Self::Reflink => "reflink",
            Self::Lvm => "lvm",
            Self::Follow => "follow",
        }
    }

    /// Whether the server process is stopped during the copy; else only its writes wait.
    #[must_use]
    pub(crate) const fn stops_the_server(self) -> bool {
        matches!(self, Self::Btrfs | Self::Reflink)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ProviderChoice {
    /// Every value that [`FromStr`] accepts, separated by commas.
    #[must_use]
    pub fn names() -> String {
        let names = Provider::ALL.map(Provider::name).into_iter().chain(Program::ALL.map(Program::name));
        ["auto"].into_iter().chain(names).collect::<Vec<_>>().join(", ")
    }
}

impl FromStr for ProviderChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Provider::ALL.into_iter().find(|provider| provider.name() == text);
        match known {
            Some(provider) => Ok(Self::Only(provider)),
            None if text == "auto" => Ok(Self::Auto),
            None => text.parse().map(Self::Stream).map_err(|()| Self::names()),
        }
    }
}
