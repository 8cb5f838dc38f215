//! Changes to a running server: planned, carried out statement by statement, and proven from the
//! bytes.
//!
//! A plan is a list of [`Step`]s made from what the server and its files say; planning changes
//! nothing. A run carries out the steps through a [`Session`], which notes every statement in a
//! [`StatementLog`] before it is sent. What counts as done is decided by `audit` and `verify`, which
//! read the files, never by a statement that returned.
//!
//! Plans are made from the server's state alone, so that a run which was interrupted is finished by
//! running it again.
#![forbid(unsafe_code)]

mod control;
pub mod encrypt;
mod error;
mod grants;
pub mod init;
mod keyring;
pub mod keys;
mod log;
mod online;
mod option_file;
mod quote;
pub mod rotate;
mod session;
mod step;
mod throttle;
pub mod tls;

pub use crate::{
    control::{Activity, Control, Request, RunState, Runs},
    error::Error,
    keyring::{KeyManagement, KeyStore, KeyringStatus, Opened, prove},
    log::StatementLog,
    session::{LockPatience, Session},
    step::{Blocks, Outcome, Step, StepReport},
    throttle::{Limit, Throttle, Window},
};
