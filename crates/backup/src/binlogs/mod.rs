//! The archive of binary logs: events that a server sends to a replica are stored in encrypted parts, and replayed
//! after a restore.
//!
//! ```text
//! server ─ events ─> part (16 MiB, or a few seconds) ─> zstd ─> age ─> store ═> receipt, signed, each minute
//! ```
//!
//! A host stores a part first, then its receipt, and records both in its state. After an interruption it continues
//! where its last part ended. While the store cannot be reached, parts wait on this host, encrypted, up to a limit.
//! Events beyond the limit stay on the server for as long as it keeps its logs.

mod archiver;
mod chain;
mod events;
mod failover;
mod gapless;
mod history;
mod receipts;
mod replay;
mod report;
mod segment;
mod source;
mod spool;
mod state;
mod target;
mod transaction;
mod waiting;

pub use self::{
    archiver::{Archived, Mode, Note, archive},
    chain::Archive,
    replay::{Replayed, Replayer},
    report::{ArchivedReport, ArchivesReport, TimeFilter},
    spool::SpoolStatus,
    target::{ReplayRange, ResolvedTarget, Until},
    transaction::Transaction,
};
pub(crate) use self::{
    events::StoredPart,
    gapless::GaplessLogs,
    history::History,
    receipts::{each_receipt, servers},
    replay::{position_of, replay},
};
