//! `sealant migrate plan`: what a migration would do, and what stands in its way.

use ::migrate::catalog::Filter;
use ::migrate::plan::{Readiness, plan};
use ::migrate::preflight::Request;
use clap::{Args, ValueEnum};
use glob::{Pattern, PatternError};
use report::{write_migrate_json, write_migrate_plan};
use server::tls::TlsVersion;

use super::ends::{End, Ends};
use crate::cli::verify::forbid_dumps;
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::output::render::Render;

/// Judge both servers, and show the way, the tables, the grants and what stands in the way; change nothing
///
/// Reads the catalogues, settings and privileges of both servers in read-only sessions. No row is read.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", EXITS))]
pub(crate) struct Plan {
    #[command(flatten)]
    ends: Ends,
    #[command(flatten)]
    selection: Selection,
    /// Which tables to encrypt at the target; what is encrypted at the source always is
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Encrypt::All)]
    encrypt: Encrypt,
    /// The oldest version of TLS for both links
    #[arg(long, value_enum, value_name = "VERSION", default_value_t = MinTls::Tls13, help_heading = "Connections")]
    min_tls: MinTls,
    #[command(flatten)]
    render: Render,
}

/// Which tables.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tables")]
pub(crate) struct Selection {
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

pub(super) const EXITS: exit::Codes = &[
    (Exit::Clean, "nothing blocks the migration"),
    (Exit::Failed, "a server cannot be reached, or refuses"),
    (Exit::Findings, "a check blocks the migration, or a server could not be verified"),
    (Exit::Incomplete, "something necessary could not be judged, such as for a missing grant, which is named"),
];

fn pattern(text: &str) -> Result<Pattern, PatternError> {
    Pattern::new(text)
}

impl Plan {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        let [mut source, mut target] = self.ends.open()?;
        let plan = plan(borrowed(&mut source), borrowed(&mut target), self.request())?;
        self.render.write(&plan, write_migrate_json, write_migrate_plan)?;
        Ok(match plan.readiness() {
            Readiness::Ready => Exit::Clean,
            Readiness::Blocked => Exit::Findings,
            Readiness::Unknown => Exit::Incomplete,
        })
    }

    fn request(&self) -> Request {
        let [unverified_source, unverified_target] = self.ends.unverified();
        Request {
            filter: Filter { schemas: self.selection.schema.clone(), exclude: self.selection.exclude.clone() },
            encrypt: self.encrypt == Encrypt::All,
            min_tls: match self.min_tls {
                MinTls::Tls13 => TlsVersion::Tls13,
                MinTls::Tls12 => TlsVersion::Tls12,
            },
            unverified_source,
            unverified_target,
        }
    }
}

fn borrowed(end: &mut End) -> (&mut server::Connection, &server::Options) {
    (&mut end.connection, &end.options)
}
