//! MySQL's clone plug-in.

pub(super) mod unverified;
