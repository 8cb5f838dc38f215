//! Events by which a run reports to its caller.

use crate::{difference::Divergence, progress::Progress, state::Phase};

/// What a run reports.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// How far the run is, each second.
    Progress(Progress),
    /// A phase begins.
    Phase(Phase),
    /// A connection was lost; the run resumes.
    Resumed {
        /// The error that ended the connection.
        why: String,
    },
    /// Every row of a table is copied.
    Table {
        /// `schema.table`.
        name: String,
        /// Rows that were copied.
        rows: u64,
        /// Bytes of these rows, as texts.
        bytes: u64,
    },
    /// Tables that are copied whole are in use by a transaction, so others are copied first.
    InUse {
        /// The tables, with commas.
        tables: String,
    },
    /// Tables that were made at the source meanwhile, and are not moved. A run ends if they stay, once nothing else is left
    /// to do; a cut-over does not succeed over them.
    NewTables {
        /// The tables, with commas.
        tables: String,
    },
    /// A cut-over compares every row again before writes are blocked, at each attempt, because the target's log does not
    /// tell whether somebody else has written there.
    ComparesAgain,
    /// A row differs.
    Divergence(Divergence),
    /// A step of the cut-over was done.
    Step {
        /// Name of the step.
        name: &'static str,
    },
}
