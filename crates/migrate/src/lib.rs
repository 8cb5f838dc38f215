//! Moves the tables of one server to another over SQL while clients use them, and proves that every row is equal.
//!
//! - [`catalog`]: the tables of a server, as both ends of a migration need them;
//! - [`accounts`]: the accounts and roles of the source, and what becomes of them;
//! - [`preflight`]: what must be true before a migration begins;
//! - [`encryption`]: the rule that no table becomes less encrypted;
//! - [`plan`]: all of this for one pair of servers;
//! - [`chunk_map`]: what happens to a change while its table is copied;
//! - [`run()`], [`verify()`], [`status()`]: copy, follow and compare, and resume after an interruption;
//! - [`cut_over`], [`finish()`], [`abort`]: end a migration;
//! - [`watch_source`]: see that nobody writes to the source after the cut-over;
//! - [`follow_back`], [`fall_back`]: keep the source ready after the cut-over, and return to it.

#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]
#![warn(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests"))]

pub mod accounts;
mod active;
mod apply;
mod barrier;
pub mod catalog;
mod changed_rows;
pub mod chunk_map;
mod collision;
mod copy;
mod copy_method;
mod counters;
mod cutover;
mod definitions;
mod difference;
pub mod encryption;
mod error;
mod event;
mod fallback;
mod fence;
mod fencing;
mod finish;
mod fixed_binary;
mod journal;
mod key;
mod late_writes;
mod lexer;
mod link;
mod literal;
mod load_file;
mod log_access;
mod log_file;
mod logged_type;
mod moved_table;
mod new_tables;
mod not_writable;
mod open_transactions;
mod pause;
pub mod plan;
mod position;
pub mod preflight;
mod prepare;
mod program;
mod progress;
mod proof;
mod random;
mod run;
mod server_lock;
mod settings;
mod shared;
mod side;
mod state;
mod statement;
mod status;
mod storage;
mod stream;
mod table_changes;
mod target_encryption;
mod target_log;
mod user_sides;
mod value;
mod verify;
mod visibility;
mod way_back;
mod weights;
mod xa;

use catalog::{Column, Table};

pub use copy_method::CopyMethod;
pub use cutover::{CutOver, abort, cut_over};
pub use difference::{Difference, Divergence, DivergenceKind};
pub use error::Error;
pub use event::Event;
pub use fallback::{FallbackEnd, fall_back, follow_back};
pub use fencing::{Fencing, LastingFence};
pub use finish::finish;
pub use late_writes::{WatchEnd, watch_source};
pub use link::{Accept, Server};
pub use not_writable::NotWritable;
pub use pause::{pause, resume};
pub use prepare::{Preparation, prepare};
pub use progress::{Progress, Work};
pub use proof::{ChunkProof, JournalEntry, Proof, ProofVerdict, TableProof, proof};
pub use run::{Verified, create_tables, run, verify};
pub use settings::{BatchLimits, MAX_BLOCKED, Settings, Until};
pub use side::Side;
pub use state::Phase;
pub use status::{FallbackStatus, Status, TableStatus, status};
pub use storage::{Attestation, NotProven, is_of_amazon};

/// The schema at the target in which a migration keeps its state.
pub const STATE_SCHEMA: &str = "_sealant";
