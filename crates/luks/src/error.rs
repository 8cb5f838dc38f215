//! Errors of reading and judging headers.

use std::io;

/// A header cannot be read or judged. A damaged header is a finding, not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LuksError {
    /// The device or file cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// A comparison needs a readable header on both sides.
    #[error("it has no readable LUKS header to compare with ({0})")]
    NothingToCompare(&'static str),
}

/// The hint for a user who lacks permission to read or write a disk.
pub(crate) fn hint_of_io(error: &io::Error) -> Option<&'static str> {
    let denied = error.kind() == io::ErrorKind::PermissionDenied;
    denied.then_some("run as root, or as a member of the group `disk`")
}
