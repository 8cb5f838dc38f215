//! GTIDs and statements of replication, of MySQL and of MariaDB; makes a copied server a replica.
//!
//! - [`gtid`]: which transactions a server has executed, and whether another server has them too;
//! - [`statements`]: the statements that set up a replica or a group member, by version;
//! - [`status`]: the channels of a replica, and the errors that stopped them;
//! - [`Provision`]: turns a server that runs on a copy of the source's data into its replica.

#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]
#![warn(clippy::arithmetic_side_effects)]

mod error;
pub mod gtid;
mod peers;
mod provision;
pub mod statements;
pub mod status;

pub use error::Error;
pub use peers::{NewServer, Peer, Peers};
pub use provision::{AFTER_PLAN, Event, Provision, Report, Role};
