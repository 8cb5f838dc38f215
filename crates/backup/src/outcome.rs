//! How a backup, a check or a restore ended.

/// The verdict of a run that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is wrong, and everything that had to be proven was.
    Proven,
    /// Something is wrong: a page, a pack, a receipt, or what a server found.
    Damaged,
    /// Nothing is known to be wrong, but something could not be verified.
    Unjudged,
}
