//! Galera's state transfer: the program that a server starts on the joiner and on the donor.
//!
//! ```text
//! joiner's server ── starts ──> joiner: listens ── "ready ADDRESS" ──> server ── group channel ──┐
//! donor's server <──────────────────────────────────────────────────────────────────────────────┘
//!        └── starts ──> donor: copies while the server runs ══ TLS 1.3 ══> joiner: stages
//!                       "flush tables" … what changed meanwhile … "continue", "done POSITION"
//!                                                                 joiner: installs, "POSITION"
//! ```
//!
//! [`Arguments`] and [`Options`] are the server's input, [`Layout`] describes the locations of its
//! files, [`ServerPipe`] is the output to it. Source of the protocol: `wsrep_sst.cc` and
//! `scripts/wsrep_sst_*` of MariaDB, and the observed behaviour of 10.11 and 11.8.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]

use std::time::Duration;

mod arguments;
mod auth;
pub mod donor;
mod error;
mod galera_state;
pub mod joiner;
mod keys;
mod layout;
mod marker;
mod options;
mod parent;
mod report;
mod run;
mod server_pipe;
mod trust;

pub use crate::{
    arguments::{Arguments, Role},
    auth::{REMOTE_AUTH, remote_auth},
    error::Error,
    galera_state::GaleraState,
    layout::Layout,
    options::Options,
    parent::{Parent, listening_on},
    report::{Report, log_line},
    run::{run, watch},
    server_pipe::ServerPipe,
};

/// How long the other side may send nothing.
const PEER_TIMEOUT: Duration = Duration::from_secs(60);

/// First note of the donor if it sends everything.
const FULL: &str = "full";
/// First note of the donor if the joiner's data is good and it only needs the newest write-sets.
const BYPASS: &str = "bypass";
/// The joiner's answer to [`BYPASS`].
const TAKEN: &str = "taken";
/// The joiner's answer to [`FULL`] if its recovery uses a binary log to decide whether a prepared
/// transaction was committed.
const BINLOG: &str = "binlog";
/// The joiner's answer to [`FULL`] if its recovery uses no binary log.
const NO_BINLOG: &str = "no binlog";
/// Precedes the position of what was sent.
const POSITION: &str = "position";
