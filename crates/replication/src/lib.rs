//! Positions, GTIDs and statements of replication, of MySQL and of MariaDB.
//!
//! - [`gtid`]: what a server has executed, and whether another server has it too;
//! - [`statements`]: how a version spells what sets up a replica or a group member;
//! - [`status`]: the channels of a replica and what stopped them;
//! - [`Provision`]: makes a server that runs on a copy of another's data follow that other server.

#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]
#![warn(clippy::arithmetic_side_effects)]

mod error;
pub mod gtid;
mod peers;
mod provision;
pub mod statements;
pub mod status;

pub use error::Error;
pub use peers::{Peer, Peers};
pub use provision::{Event, Provision, Report, Role};
