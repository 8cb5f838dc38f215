//! The next step after an error, and whether the request itself is wrong.

use std::io;

use super::Error;
use crate::usage_sign::UsageSign;

impl Error {
    /// The next step for the user, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "run as root, or as a member of the group `disk`"
            }
            Self::BackupExists { .. } => "backups are never overwritten; choose another name",
            Self::Unreadable { .. } => "`sealant luks audit` shows details",
            Self::DeviceUnreadable { .. } => {
                "if its header is lost and this is certainly the right device, give --header-is-lost"
            }
            Self::KeyToStdin => "give --key-file the path of a new file, or leave out --make-key to read the key",
            Self::Exists { .. } => "leave out --make-key to use it",
            Self::Used { uses, .. } if uses.iter().all(|each| matches!(each, UsageSign::Data { .. })) => {
                "if the data is not needed, give --destroy-unknown-data"
            }
            Self::Used { uses, .. } if uses.iter().all(|each| matches!(each, UsageSign::Signature(_))) => {
                "if the data is not needed, run `wipefs --all` on the device first, and check its name twice"
            }
            Self::Missing | Self::TooOld { .. } => {
                "install the package cryptsetup-bin (Debian, Ubuntu) or cryptsetup (others)"
            }
            Self::Vault(error) => return error.hint(),
            _ => return None,
        })
    }

    /// Whether the request can never work, independent of the state of files and networks.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        match self {
            Self::KeyToStdin => true,
            Self::Vault(error) => error.is_misuse(),
            _ => false,
        }
    }
}
