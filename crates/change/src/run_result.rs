//! Result of a change that may be completed only in part.

use crate::Error;

/// A report of the completed part, even if the change failed.
#[derive(Debug)]
pub struct RunResult<R> {
    /// Report of what was done, if anything was started.
    pub report: Option<R>,
    /// What is left to clean up after a successful change.
    pub remains: Option<Error>,
    /// Why the change failed, if it did.
    pub result: Result<(), Error>,
}
