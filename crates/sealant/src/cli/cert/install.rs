//! `sealant cert install`: installs a certificate into a running server.

use std::path::PathBuf;

use ::change::tls::{InstallReport, InstallRequest, carry_out, plan};
use clap::Args;
use report::{write_certificate_json, write_certificate_table};
use server::Endpoint;

use super::HANDSHAKE_TIMEOUT;
use crate::cli::change::{Consent, LogFile, Server, confirm, not_logged, state_dir};
use crate::exit::Exit;
use crate::output::message::{Failure, warning};
use crate::output::render::Render;

/// Install a certificate into a running MySQL or MariaDB server, and prove that it is served
///
/// Checks the certificate first. Then replaces the files that the server's option files or command line name (ssl_cert,
/// ssl_key, ssl_ca), makes the server read them (ALTER INSTANCE RELOAD TLS, FLUSH NO_WRITE_TO_BINLOG SSL), and checks
/// with a handshake from outside. If that does not show the new certificate, the old files are put back, and the server
/// reads them again. Open connections are not affected. Run it on the server's host, as root or as the server's user.
#[derive(Debug, Args)]
pub(super) struct Install {
    #[command(flatten)]
    server: Server,
    /// New certificate, PEM
    #[arg(long, value_name = "FILE", help_heading = "Certificate")]
    cert: PathBuf,
    /// Private key of the new certificate, PEM
    #[arg(long, value_name = "FILE", help_heading = "Certificate")]
    key: PathBuf,
    /// CA certificates that have issued the new certificate, PEM
    #[arg(long, value_name = "FILE", help_heading = "Certificate")]
    ca: PathBuf,
    /// Host name or address that the certificate must contain (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Certificate")]
    client_name: Vec<String>,
    /// Do not change the server's file of CA certificates
    #[arg(long, help_heading = "Certificate")]
    keep_ca: bool,
    /// Keep the CA certificates that the server trusts now beside the new ones, so that it still accepts their clients
    #[arg(long, conflicts_with = "keep_ca", help_heading = "Certificate")]
    trust_old_ca: bool,
    /// Do not check the certificate first; if the server refuses it or the handshake fails, it is rolled back
    #[arg(long, help_heading = "Certificate")]
    skip_checks: bool,
    /// Where to check the server from outside [default: its port on this host, or its socket]
    #[arg(long, value_name = "HOST:PORT|SOCKET")]
    outside: Option<Endpoint>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    log: LogFile,
    #[command(flatten)]
    render: Render,
}

impl Install {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let (target, options) = self.server.connection()?;
        let request = self.request();
        if self.consent.dry_run {
            self.write(&plan(&target, &options, &request, &not_logged(&target)?)?)?;
            return Ok(Exit::Clean);
        }
        let ask = |plan: &InstallReport| {
            confirm("cert install --dry-run", &|out| write_certificate_table(plan, out).map_err(std::io::Error::from))
        };
        let ask = (!self.consent.yes).then_some(&ask as &dyn Fn(&InstallReport) -> Result<(), Failure>);
        let ended = carry_out(&target, &options, &request, &self.log.path(&state_dir(None)?), ask)?;
        if let Some(report) = &ended.report {
            self.write(report)?;
        }
        ended.result?;
        if let Some(remains) = &ended.remains {
            warning(&remains.to_string());
        }
        Ok(Exit::Clean)
    }

    fn request(&self) -> InstallRequest {
        InstallRequest {
            certificate: self.cert.clone(),
            key: self.key.clone(),
            ca: self.ca.clone(),
            keep_ca: self.keep_ca,
            trust_old_ca: self.trust_old_ca,
            hosts: self.client_name.clone(),
            outside: self.outside.clone(),
            skip_checks: self.skip_checks,
            timeout: HANDSHAKE_TIMEOUT,
        }
    }

    fn write(&self, report: &InstallReport) -> Result<(), Failure> {
        self.render.write(report, write_certificate_json, write_certificate_table)
    }
}
