//! Moves the tables of one server into another over SQL, while they are used, and proves every row.
//!
//! - [`catalog`]: the tables of a server, as both ends of a migration need them;
//! - [`preflight`]: what must be true before one begins;
//! - [`encryption`]: no table becomes less encrypted;
//! - [`plan`]: all of this for one pair of servers.

#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]
#![warn(clippy::arithmetic_side_effects)]

pub mod catalog;
pub mod copy;
pub mod encryption;
mod error;
pub mod plan;
pub mod preflight;
mod side;

pub use error::Error;
pub use side::Side;

/// The schema at the target in which a migration keeps its state.
pub const STATE_SCHEMA: &str = "_sealant";
