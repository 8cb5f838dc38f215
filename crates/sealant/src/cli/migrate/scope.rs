//! What all verbs of a migration share: both servers, and which tables.

use std::fs;
use std::path::{Path, PathBuf};

use ::migrate::accounts::Accounts;
use ::migrate::catalog::{Encrypt, Filter};
use ::migrate::preflight::Request;
use ::migrate::{Attestation, Server, Settings, is_of_amazon};
use clap::Args;
use glob::{Pattern, PatternError};
use jiff::Timestamp;
use server::tls::TlsVersion;

use super::servers::Servers;
use crate::cli::value::{self, Word};
use crate::output::message::Failure;

/// Both servers, and which tables.
#[derive(Debug, Args)]
pub(crate) struct Scope {
    #[command(flatten)]
    servers: Servers,
    #[command(flatten)]
    selection: Selection,
    /// Which tables to encrypt at the target; those that are encrypted at the source always are
    #[arg(long, value_name = "WHICH", default_value = "all", value_parser = value::word(ENCRYPT))]
    encrypt: Encrypt,
    /// What to do with the accounts and roles of the source; a cut-over creates them
    #[arg(long, value_name = "WHAT", default_value = "report", value_parser = value::word(ACCOUNTS))]
    accounts: Accounts,
    /// With --encrypt storage: what the service says about the target, as the output of `aws rds describe-db-instances` or
    /// `describe-db-clusters` of the last day, JSON
    #[arg(long, value_name = "FILE")]
    attest: Option<PathBuf>,
    /// Oldest version of TLS to allow on both connections
    #[arg(long, value_name = "VERSION", default_value = "1.3", value_parser = value::word(TLS_VERSIONS))]
    #[arg(help_heading = "Connections")]
    min_tls: TlsVersion,
}

/// Which tables.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tables")]
struct Selection {
    /// Only the tables of this schema (repeatable) [default: all but the server's own]
    #[arg(long, value_name = "NAME")]
    schema: Vec<String>,
    /// Leave out tables whose SCHEMA.TABLE matches this pattern, such as 'shop.log_*' (repeatable)
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    exclude: Vec<Pattern>,
}

const ENCRYPT: &[Word<Encrypt>] = &[
    ("all", Encrypt::All, "Every table"),
    ("as-source", Encrypt::AsSource, "Only those that are encrypted at the source"),
    ("storage", Encrypt::Storage, "None by itself: the service encrypts the target's storage, which --attest proves"),
];

const ACCOUNTS: &[Word<Accounts>] = &[
    ("report", Accounts::Report, "A plan names them; none is created"),
    ("create", Accounts::Create, "The cut-over creates them at the target, locked until the switch"),
];

const TLS_VERSIONS: &[Word<TlsVersion>] = &[("1.3", TlsVersion::Tls13, ""), ("1.2", TlsVersion::Tls12, "")];

impl Scope {
    pub(crate) fn request(&self) -> Result<Request, Failure> {
        let attestation = self.attest.as_deref().map(attestation).transpose()?;
        Ok(Request { filter: self.filter(), encrypt: self.encrypt, accounts: self.accounts, attestation })
    }

    /// Settings of a migration that was begun, with the tables as the source has them now.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let [source, target] = self.servers()?;
        Ok(Settings::read(source, target, &self.request()?)?)
    }

    /// Both servers, which are not contacted.
    pub(crate) fn servers(&self) -> Result<[Server; 2], Failure> {
        self.servers.both(self.min_tls)
    }

    /// The target alone, for what does not need the source.
    pub(crate) fn target(&self) -> Result<Server, Failure> {
        self.servers.target(self.min_tls)
    }

    /// The source, if it is named.
    pub(crate) fn source_if_named(&self) -> Result<Option<Server>, Failure> {
        self.servers.source_if_named(self.min_tls)
    }

    pub(crate) fn filter(&self) -> Filter {
        let (schemas, exclude) = (self.selection.schema.clone(), self.selection.exclude.clone());
        Filter { schemas, exclude, ..Filter::default() }
    }
}

/// Reads what a service says. Reports name the file with its date and hash.
fn attestation(path: &Path) -> Result<Attestation, Failure> {
    let name = path.display();
    let failed = |why: String| Failure::usage(format!("{name}: {why}"));
    let document = fs::read(path).map_err(|error| failed(error.to_string()))?;
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    let modified = modified.map_err(|error| failed(error.to_string()))?;
    let written = Timestamp::try_from(modified).map_err(|error| failed(error.to_string()))?;
    let described = format!("{name} of {written:.0} (SHA-256 {})", files::sha256_hex(&document));
    Attestation::parse(&document, described, written, is_of_amazon).map_err(failed)
}

fn pattern(text: &str) -> Result<Pattern, PatternError> {
    Pattern::new(text)
}
