//! How a change that may be carried out in part has ended.

use crate::Error;

/// A report of what was done, although the whole may have failed.
#[derive(Debug)]
pub struct Ended<R> {
    /// What was done, if anything was begun.
    pub report: Option<R>,
    /// What remains to be tidied up although it is done.
    pub remains: Option<Error>,
    /// Why it is not done.
    pub result: Result<(), Error>,
}
