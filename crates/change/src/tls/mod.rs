//! `sealant cert install`: a new certificate for a running server, proven from outside.
//!
//! The certificate is checked before anything is changed. Then the files named by the server's option files or command
//! line are replaced, if they contain what their variables say, and the server reloads them. A handshake from outside
//! must present the new certificate and prove possession of its key. Otherwise every file is restored, the server
//! reloads, and another handshake proves that it presents the former certificate.
//!
//! # Interrupted runs
//! Each file is kept as `FILE.sealant-before` until the proof succeeds. A run that finds such files resumes the
//! interrupted run: a roll-back restores these files, not those that the interrupted run has written.

mod certificate_target;
mod origin;
mod pair_files;
mod run;

use std::{path::PathBuf, time::Duration};

use serde::Serialize;
use server::Endpoint;

pub use self::run::{carry_out, plan, run};
use crate::{Error, StepReport};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.cert-install/1";

/// The certificate to install.
#[derive(Clone, Debug)]
pub struct InstallRequest {
    /// The certificate and its intermediates, PEM.
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// Its authority, PEM.
    pub ca: PathBuf,
    /// Leave the server's file of authorities unchanged.
    pub keep_ca: bool,
    /// Keep the authorities that the server trusts now, in addition to the new one.
    pub trust_old_ca: bool,
    /// Host names that the certificate must be valid for.
    pub hosts: Vec<String>,
    /// Endpoint of the handshake from outside, if it differs from the server's address.
    pub outside: Option<Endpoint>,
    /// Skip the check of the certificate; only the server and the handshake decide.
    pub skip_checks: bool,
    /// Timeout of a handshake.
    pub timeout: Duration,
}

/// Result of an installation.
#[derive(Clone, Debug, Serialize)]
pub struct InstallReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Name of the server in messages.
    pub server: String,
    /// Steps in order.
    pub steps: Vec<StepReport>,
    /// Remarks to read before the installation.
    pub notes: Vec<String>,
    /// SHA-256 of the certificate presented before.
    pub served_before: Option<String>,
    /// SHA-256 of the certificate presented afterwards.
    pub served_after: Option<String>,
    /// Whether the new certificate is presented.
    pub done: bool,
    /// Whether everything was restored, proven by a handshake.
    pub rolled_back: bool,
}
