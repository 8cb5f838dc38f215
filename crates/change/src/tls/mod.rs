//! `sealant cert install`: another certificate for a running server, proven from outside.
//!
//! The certificate is judged before anything is touched. Then the files that the server's option files or
//! command line name are replaced, if they are what they are named for, the server is told to read them, and a handshake from outside has to show the new
//! certificate and the proof of its key. If it does not, every file is put back, the server reads those,
//! and another handshake shows that it serves what it served before.
//!
//! # Interrupted runs
//! Each file is kept as `FILE.sealant-before` until the proof is there. A run that finds such files goes on from
//! them: they, not what the interrupted run has written, are what a roll-back brings back.

mod error;
mod origin;
mod pair_files;
mod run;
mod site;

use std::{path::PathBuf, time::Duration};

use serde::Serialize;
use server::Endpoint;

pub use self::{
    error::Error,
    run::{plan, remains, run},
};
use crate::StepReport;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.cert-install/1";

/// What is to be installed.
#[derive(Clone, Debug)]
pub struct Request {
    /// The certificate, PEM, with whatever comes between it and its authority.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// Its authority, PEM.
    pub ca: PathBuf,
    /// The server's file of authorities stays as it is.
    pub keep_ca: bool,
    /// The authorities that the server trusts now stay trusted beside the new one.
    pub trust_old_ca: bool,
    /// Names that the certificate must be for.
    pub hosts: Vec<String>,
    /// Where to knock from outside, if it is elsewhere than the server says.
    pub outside: Option<Endpoint>,
    /// Leave the judgement to the server and the handshake.
    pub skip_checks: bool,
    /// How long a handshake may take.
    pub timeout: Duration,
}

/// What was done and proven.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The server.
    pub server: String,
    /// Steps in their order.
    pub steps: Vec<StepReport>,
    /// What should be known before it is done.
    pub notes: Vec<String>,
    /// SHA-256 of the certificate that was served before.
    pub served_before: Option<String>,
    /// SHA-256 of the certificate that is served after it.
    pub served_after: Option<String>,
    /// Whether the new certificate is served.
    pub done: bool,
    /// Whether everything is as it was before, proven by a handshake.
    pub rolled_back: bool,
}
