//! Why a header cannot be looked at.

use std::io;

/// A header cannot be read or judged. Damage is no error: it is a finding.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LuksError {
    /// The device or file refuses to be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// A comparison needs a header on both sides.
    #[error("there is no readable LUKS header in it to compare with ({0})")]
    NothingToCompare(&'static str),
}
