//! Galera's state transfer: what a server starts on the node that joins and on the node that gives.
//!
//! ```text
//! joiner's server ── starts ──> joiner: listens ── "ready ADDRESS" ──> server ── group channel ──┐
//! donor's server <──────────────────────────────────────────────────────────────────────────────┘
//!        └── starts ──> donor: copies while the node works ══ TLS 1.3 ══> joiner: stages
//!                       "flush tables" … what changed meanwhile … "continue", "done POSITION"
//!                                                                 joiner: puts in place, "POSITION"
//! ```
//!
//! [`Arguments`] and [`Options`] are what the server says, [`Layout`] is where its files are,
//! [`ServerPipe`] is what it hears. Source of the protocol: `wsrep_sst.cc` and `scripts/wsrep_sst_*` of
//! MariaDB, and what 10.11 and 11.8 were seen to do.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]

mod arguments;
mod auth;
pub mod donor;
mod error;
pub mod joiner;
mod layout;
mod marker;
mod options;
mod parent;
mod position;
mod report;
mod run;
mod server_pipe;
mod trust;

pub use crate::{
    arguments::{Arguments, Role},
    auth::remote_auth,
    error::SstError,
    layout::Layout,
    options::Options,
    parent::{Parent, listening_on},
    position::Position,
    report::Report,
    run::{run, watch},
    server_pipe::ServerPipe,
};

/// What the donor says first: everything comes, or nothing but a position.
const FULL: &str = "full";
/// The same, where the joiner's own data is good and it only needs the newest write-sets.
const BYPASS: &str = "bypass";
/// What the joiner answers to that.
const TAKEN: &str = "taken";
/// What the joiner answers to [`FULL`]: by which log it tells, when it recovers, whether a prepared transaction was
/// committed.
const BINLOG: &str = "binlog";
/// The same.
const NO_BINLOG: &str = "no binlog";
/// Before the position of what was sent.
const POSITION: &str = "position";
