//! Applies changes of the source's log to the target, in windows.

pub(crate) mod window;
pub(crate) mod write;
