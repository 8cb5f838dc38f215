//! `sealant rotate run --certificate`: replaces the server's certificate, along with its keys or alone.

use std::path::PathBuf;

use ::change::tls::InstallRequest;
use clap::Args;
use server::Endpoint;

use crate::cli::cert::HANDSHAKE_TIMEOUT;
use crate::output::message::Failure;

/// The certificate that `--certificate` installs.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --certificate")]
pub(super) struct NewCertificate {
    /// New certificate, PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    cert: Option<PathBuf>,
    /// Private key of the new certificate, PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// CA certificates that have issued the new certificate, PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    ca: Option<PathBuf>,
    /// Host name or address that the certificate must contain (repeatable)
    #[arg(long, value_name = "NAME", requires = "certificate")]
    client_name: Vec<String>,
    /// Keep the CA certificates that the server trusts now beside the new ones, so that it still accepts their clients
    #[arg(long, requires = "certificate")]
    trust_old_ca: bool,
    /// Where to check the server from outside [default: its port on this host, or its socket]
    #[arg(long, value_name = "HOST:PORT|SOCKET", requires = "certificate")]
    outside: Option<Endpoint>,
}

impl NewCertificate {
    /// The certificate to install, if all its files are named.
    pub(super) fn request(&self) -> Result<InstallRequest, Failure> {
        let (Some(certificate), Some(key), Some(ca)) = (&self.cert, &self.key, &self.ca) else {
            let missing = Failure::usage("--certificate: the new certificate is not named");
            return Err(missing.hint("give --cert FILE, --key FILE and --ca FILE"));
        };
        Ok(InstallRequest {
            certificate: certificate.clone(),
            key: key.clone(),
            ca: ca.clone(),
            keep_ca: false,
            trust_old_ca: self.trust_old_ca,
            hosts: self.client_name.clone(),
            outside: self.outside.clone(),
            skip_checks: false,
            timeout: HANDSHAKE_TIMEOUT,
        })
    }
}
