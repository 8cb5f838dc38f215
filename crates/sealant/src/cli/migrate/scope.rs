//! What all verbs of a migration share: both servers, and which tables.

use ::migrate::catalog::{Creation, Filter};
use ::migrate::preflight::Request;
use ::migrate::{Server, Settings};
use clap::{Args, ValueEnum};
use glob::{Pattern, PatternError};
use server::tls::TlsVersion;

use super::servers::Servers;
use crate::output::message::Failure;

/// Both servers, and which tables.
#[derive(Debug, Args)]
pub(crate) struct Scope {
    #[command(flatten)]
    servers: Servers,
    #[command(flatten)]
    selection: Selection,
    /// Which tables to encrypt at the target; what is encrypted at the source always is
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Encrypt::All)]
    encrypt: Encrypt,
    /// The oldest version of TLS for both links
    #[arg(long, value_enum, value_name = "VERSION", default_value_t = MinTls::Tls13, help_heading = "Connections")]
    min_tls: MinTls,
}

/// Which tables.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tables")]
struct Selection {
    /// Only this schema (repeatable) [default: all but the server's own]
    #[arg(long, value_name = "NAME")]
    schema: Vec<String>,
    /// Leave out the tables whose SCHEMA.TABLE matches, such as 'shop.log_*' (repeatable)
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    exclude: Vec<Pattern>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Encrypt {
    /// Every table
    All,
    /// Only those that are encrypted at the source
    AsSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MinTls {
    #[value(name = "1.3")]
    Tls13,
    #[value(name = "1.2")]
    Tls12,
}

impl Scope {
    pub(crate) fn request(&self) -> Request {
        let [unverified_source, unverified_target] = self.servers.unverified();
        Request {
            filter: self.filter(),
            encrypt: self.encrypt == Encrypt::All,
            min_tls: self.min_tls.version(),
            unverified_source,
            unverified_target,
        }
    }

    /// How tables are created at the target.
    fn creation(&self) -> Creation {
        Creation { encrypt: self.encrypt == Encrypt::All }
    }

    /// What a run needs, with the tables as the source has them now.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let [source, target] = self.servers()?;
        Ok(Settings::read(source, target, &self.filter(), self.creation())?)
    }

    /// Both servers, which are not contacted.
    pub(crate) fn servers(&self) -> Result<[Server; 2], Failure> {
        self.servers.both(self.min_tls.version())
    }

    /// The target alone, for what does not need the source.
    pub(crate) fn target(&self) -> Result<Server, Failure> {
        self.servers.target(self.min_tls.version())
    }

    pub(crate) fn filter(&self) -> Filter {
        Filter { schemas: self.selection.schema.clone(), exclude: self.selection.exclude.clone() }
    }
}

impl MinTls {
    const fn version(self) -> TlsVersion {
        match self {
            Self::Tls13 => TlsVersion::Tls13,
            Self::Tls12 => TlsVersion::Tls12,
        }
    }
}

fn pattern(text: &str) -> Result<Pattern, PatternError> {
    Pattern::new(text)
}
