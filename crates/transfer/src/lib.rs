//! Moves a directory to another host: parallel, compressed, encrypted, verified, and put in place as
//! a whole or not at all.
//!
//! ```text
//! plan -> queue -> [read -> hash -> (open pages) -> compress] == TLS 1.3 x N ==>
//!                  [decompress -> (seal pages) -> check the hash -> write] -> commit
//! ```
//!
//! One thread a connection does all of its work, so that memory is bounded by the number of
//! connections, and a slow part of the one overlaps with the work of the others. `docs/wire-protocol.md`
//! has what crosses the wire; [`sender`] and [`receiver`] are the two ends. This crate knows nothing
//! of servers.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "tests build their own bytes")
)]

mod assembly;
pub mod check;
pub mod codec;
mod error;
mod journal;
mod limit;
pub mod manifest;
pub mod pairing;
pub mod plan;
pub mod progress;
pub mod receiver;
mod runs;
pub mod sender;
mod stop;
pub mod tls;
pub mod wire;

pub use ::codec::{hash, path};

pub use crate::error::TransferError;
