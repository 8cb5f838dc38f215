//! Changes to a running server: planned, executed statement by statement, and proven from the bytes on disk.
//!
//! A plan is a list of [`Step`]s, derived from the server and its files; planning changes nothing. A run executes the
//! steps through a [`Session`], which writes every statement to a [`StatementLog`] before sending it. Whether a change
//! is done is decided by `audit` and `verify`, which read the files, and never by the success of a statement.
//!
//! Plans depend only on the server's state, so that running a command again completes an interrupted run.
#![forbid(unsafe_code)]

mod activity;
mod control;
pub mod encrypt;

mod error;
mod grants;
pub mod init;
mod keyring;
pub mod keyring_migration;
pub mod keys;
mod log;
mod option_file;
mod pace;
pub mod rotate;
mod run_result;
mod running_server;
mod runs;
mod schema_change_tools;
mod scratch_schema;
mod session;
mod step;
mod throttle;
pub mod tls;

pub use crate::{
    activity::Activity,
    control::Control,
    error::Error,
    keyring::{KeyStore, KeyringProof, prove},
    log::StatementLog,
    run_result::RunResult,
    runs::{Request, RunState, Runs},
    session::{LockWait, Session},
    step::{ClientImpact, Outcome, Step, StepReport},
    throttle::{Limit, Throttle, Window},
};

/// Confirms a plan; an error is the reason why not.
pub type Confirm<'c, Plan, E> = &'c dyn Fn(&Plan) -> Result<(), E>;
