//! Transfers a directory to another host: parallel, compressed, encrypted, verified, and committed
//! atomically.
//!
//! ```text
//! plan -> queue -> [read -> hash -> (decrypt pages) -> compress] == TLS 1.3 x N ==>
//!                  [decompress -> (encrypt pages) -> check the hash -> write] -> commit
//! ```
//!
//! One thread per connection does all of its work, so memory is bounded by the number of
//! connections, and a slow stage of one overlaps with the work of the others.
//! `docs/wire-protocol.md` describes the protocol; [`sender`] and [`receiver`] are its two ends.
//! This crate does not connect to database servers.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "tests build their own bytes")
)]

pub mod check;
pub mod codec;
pub mod counters;
mod error;
mod fault;
mod hash_collector;
mod journal;
pub mod key_files;
pub mod limit;
pub mod manifest;
mod outgoing;
pub mod pairing;
pub mod plan;
pub mod progress;
mod range_set;
pub mod receiver;
pub mod rekey;
pub mod sender;
mod source;
mod stop;
pub mod summary;
pub mod tls;
pub mod wire;

use ::codec::{hash, path};

pub use crate::{error::Error, outgoing::Outgoing};
