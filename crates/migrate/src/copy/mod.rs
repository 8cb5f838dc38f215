//! Copies tables in chunks while they change.

pub mod gate;
