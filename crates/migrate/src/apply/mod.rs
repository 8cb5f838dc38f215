//! Applies changes of the source's log to the target, in batches.

pub(crate) mod batch;
pub(crate) mod row_condition;
pub(crate) mod write;
