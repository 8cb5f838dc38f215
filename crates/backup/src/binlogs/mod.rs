//! The archive of binary logs: what a server sends to a replica, stored in encrypted parts, and replayed after a restore.
//!
//! ```text
//! server ─ events ─> part (16 MiB, or a few seconds) ─> zstd ─> age ─> store ═> receipt, signed, each minute
//! ```
//!
//! A host stores a part first, then its receipt, and remembers both in its state. It goes on where its last stored part
//! ended, whatever happened in between: the server keeps its logs, so nothing is spooled on this host.

mod archiver;
mod chain;
mod events;
mod replay;
mod report;
mod segment;
mod state;
mod target;
mod transaction;

pub(crate) use self::replay::{position_of, replay};
pub use self::{
    archiver::{Archived, Mode, Note, archive},
    chain::Archive,
    replay::{Replayed, Replayer},
    report::{ArchivedReport, ArchivesReport},
    target::{Reach, Target, Until},
    transaction::{Transaction, around},
};
