//! `sealant cert`: a small private authority, and certificates of running servers.

mod check;
pub(crate) mod install;
mod show;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};
use pki::{
    AUTHORITY_DAYS, AlternativeName, Authority, Error, Files, IssueRequest, KeyType, LEAF_DAYS, Name, RenewalSelector,
    Usage,
};
use report::write_cert_paths;

use crate::cli::value::{self, Word};
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::Failure;
use crate::process::forbid_dumps;

/// Time limit of a handshake with a running server.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Make certificates for tunnels, transfers and servers, watch when they expire, and install them without a restart
///
/// The authority is a directory: ca.pem and ca.key, and NAME.pem and NAME.key for every certificate. Keys are readable
/// only by their owner, and are only overwritten on request. Keep ca.key off the servers: whoever has it can make a
/// certificate for any name.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Cert {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(Init),
    Issue(Issue),
    Show(show::Show),
    Check(check::Check),
    Renew(Renew),
    Install(Box<install::Install>),
}

const EXAMPLES: &str = "\
Examples:
  sealant cert init --dir /etc/sealant/ca
  sealant cert issue --dir /etc/sealant/ca --name db1.example.org --san db1,10.0.0.5
  sealant cert check --dir /etc/sealant/ca
  sealant cert renew --dir /etc/sealant/ca --within 30
  sealant cert install --socket /run/mysqld/mysqld.sock --user root \\
      --cert db1.example.org.pem --key db1.example.org.key --ca ca.pem";

const EXITS: exit::Codes = &[
    (Exit::Clean, "done; with check: everything is in order"),
    (Exit::Failed, "it failed, or was refused; nothing is changed unless the error says so"),
    (Exit::Findings, "check: something is wrong, or expires soon; for --monitor, see the help of check"),
];

/// Make an authority: DIR/ca.pem and DIR/ca.key
#[derive(Debug, Args)]
struct Init {
    /// Directory of the authority; if it does not exist, it is created, accessible only to its owner
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Name of the authority, as it appears in certificates [default: Sealant private CA and a random number]
    #[arg(long, value_name = "TEXT", value_parser = pki::subject)]
    subject: Option<String>,
    /// Validity in days
    #[arg(long, value_name = "DAYS", default_value_t = AUTHORITY_DAYS, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
    /// Kind of the authority's key
    #[arg(long, value_name = "KIND", default_value = "ecdsa-p256", value_parser = value::word(KEY_TYPES))]
    key_type: KeyType,
    /// Replace an existing authority; certificates that it has issued are no longer trusted then
    #[arg(long)]
    replace: bool,
}

/// Issue a certificate with a new key: DIR/NAME.pem and DIR/NAME.key
#[derive(Debug, Args)]
struct Issue {
    /// Directory of the authority
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Name of the certificate and of its files; a host name or address is also the first name in it
    #[arg(long, value_name = "NAME")]
    name: String,
    /// Further host names and addresses in the certificate, separated by commas
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    san: Vec<String>,
    /// Validity in days, never longer than that of the authority
    #[arg(long, value_name = "DAYS", default_value_t = LEAF_DAYS, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
    /// Kind of the certificate's key; ECDSA makes the cheapest handshakes
    #[arg(long, value_name = "KIND", default_value = "ecdsa-p256", value_parser = value::word(KEY_TYPES))]
    key_type: KeyType,
    /// Permitted use of the certificate
    #[arg(long, value_name = "USE", default_value = "both", value_parser = value::word(USAGES))]
    usage: Usage,
    /// Replace an existing certificate and key of that name
    #[arg(long)]
    replace: bool,
}

/// Issue certificates again, with the same names, use and key, and new dates
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["name", "within", "ca"])))]
struct Renew {
    /// Directory of the authority
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Renew the certificate with this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Renew every certificate that expires within this many days
    #[arg(long, value_name = "DAYS")]
    within: Option<u32>,
    /// Renew the authority itself; certificates that it has issued stay valid
    #[arg(long)]
    ca: bool,
    /// Validity in days [default: 397; for the authority 3650]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: Option<u32>,
    /// Also make new keys
    #[arg(long, conflicts_with = "ca")]
    new_key: bool,
}

const KEY_TYPES: &[Word<KeyType>] = &[
    ("ecdsa-p256", KeyType::EcdsaP256, "ECDSA on P-256"),
    ("ecdsa-p384", KeyType::EcdsaP384, "ECDSA on P-384"),
    ("rsa2048", KeyType::Rsa2048, "RSA, 2048 bits"),
    ("rsa3072", KeyType::Rsa3072, "RSA, 3072 bits"),
    ("rsa4096", KeyType::Rsa4096, "RSA, 4096 bits"),
];

const USAGES: &[Word<Usage>] = &[
    ("both", Usage::Both, "By clients and servers"),
    ("server", Usage::Server, "Only by servers"),
    ("client", Usage::Client, "Only by clients"),
];

impl Cert {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        match self.command {
            Command::Init(init) => init.run(),
            Command::Issue(issue) => issue.run(),
            Command::Show(show) => show.run(),
            Command::Check(check) => check.run(),
            Command::Renew(renew) => renew.run(),
            Command::Install(install) => install.run(),
        }
    }
}

impl Init {
    fn run(&self) -> Result<Exit, Failure> {
        let made = Authority::create(&self.dir, self.subject.as_deref(), self.key_type, self.days, self.replace);
        print_paths(&[made?])
    }
}

impl Issue {
    fn run(&self) -> Result<Exit, Failure> {
        let name: Name = self.name.parse()?;
        let alternatives: Result<Vec<AlternativeName>, Error> = self.san.iter().map(|name| name.parse()).collect();
        let request = IssueRequest {
            name,
            alternatives: alternatives?,
            key: self.key_type,
            usage: self.usage,
            days: self.days,
            replace: self.replace,
        };
        let authority = Authority::open(&self.dir)?;
        print_paths(&[authority.issue(&request)?])
    }
}

impl Renew {
    fn run(&self) -> Result<Exit, Failure> {
        let due = match &self.name {
            _ if self.ca => RenewalSelector::Authority,
            Some(name) => RenewalSelector::Name(name.parse()?),
            None => RenewalSelector::Within(self.within.unwrap_or(0)),
        };
        let (renewed, failed) = Authority::renew_in(&self.dir, &due, self.days, self.new_key)?;
        let said = print_paths(&renewed)?;
        failed.map_or(Ok(said), |error| Err(error.into()))
    }
}

/// Prints the paths of the files, one per line.
fn print_paths(files: &[Files]) -> Result<Exit, Failure> {
    to_stdout(&|out| Ok(write_cert_paths(files, out)?))?;
    Ok(Exit::Clean)
}
