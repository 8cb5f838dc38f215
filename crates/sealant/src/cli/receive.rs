//! `sealant receive`: receives a data directory from another host.

mod prepare;

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ::transfer::counters::Side;
use ::transfer::progress::Progress;
use ::transfer::receiver::{Owner, ReceiveSettings, Received, Receiver, Trust};
use ::transfer::rekey::open_keyring;
use ::transfer::summary::{Event, Summary};
use clap::Args;
use report::received_messages;

use self::prepare::Preparing;
use super::transfer::{Certificates, Following};
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, say};
use crate::process::forbid_dumps;

/// Receive a data directory from another host
///
/// Listens, and prints a pairing code as the first line of its output. The code contains this host's addresses, the
/// fingerprint of its key, and a secret. It is valid for one sender and as long as --expiry says. Whoever has it can
/// send into this directory, once.
///
/// Everything is written to `.sealant-staging` in the target, checked, flushed to disk, and then moved into place
/// together with a list of all files and their hashes, `sealant-manifest`. If the transfer is interrupted, the next
/// `sealant receive` into the same directory resumes it.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Receive {
    /// Target directory, which must be empty or not exist
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// Address and port to listen on; port 0 is any free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Address of this host to put into the pairing code, if the sender does not reach it at its own addresses
    /// (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    advertise: Vec<IpAddr>,
    /// Maximum number of connections from a sender
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: u16,
    /// Owner of all files, by name or number [default: the numbers at the sender, if this program runs as root]
    #[arg(long, value_name = "USER[:GROUP]")]
    owner: Option<Owner>,
    /// Add a master key to this keyring of this server, a keyring file, component_keyring_file.cnf or
    /// component_keyring_vault.cnf, and wrap the keys of MySQL's encrypted files with it, so that the two servers share
    /// no master key. A keyring file is created if it does not exist, for MySQL 5.7 in the format of its plug-in. The
    /// sender needs its own keyring for this
    #[arg(long, value_name = "KEYRING|CONFIG")]
    rekey: Option<PathBuf>,
    /// Resume an interrupted transfer; this is the default if the target holds one
    #[arg(long, conflicts_with = "restart")]
    resume: bool,
    /// Remove what an interrupted transfer left, and start again
    #[arg(long, alias = "anew")]
    restart: bool,
    #[command(flatten)]
    preparing: Preparing,
    /// How long to wait for the sender, and how long the pairing code is valid
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = value::time)]
    expiry: Duration,
    /// Give up if the sender is silent for this long
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = value::time)]
    timeout: Duration,
    #[command(flatten)]
    certificates: Certificates,
    /// Accept only senders whose certificate has this name (repeatable) [default: any certificate of --tls-ca]
    #[arg(long, value_name = "NAME", requires = "tls_ca", help_heading = "Certificates")]
    allow: Vec<String>,
    #[command(flatten)]
    following: Following,
}

const EXAMPLES: &str = "\
Examples:
  sealant receive --into /var/lib/mysql --listen 0.0.0.0:4444 --owner mysql:mysql
  sealant receive --into /var/lib/mysql --listen 0.0.0.0:4444 \\
      --tls-cert joiner.pem --tls-key joiner-key.pem --tls-ca ca.pem
  sealant receive --into /var/lib/mysql --listen 0.0.0.0:4444 --rekey /var/lib/mysql-keyring/keyring";

const EXITS: exit::Codes = &[
    (Exit::Clean, "everything is in place, verified and on disk"),
    (Exit::Failed, "nothing was committed; what arrived is kept for another try"),
    (
        Exit::Findings,
        "everything is in place, but it is a backup that has to be prepared before a server may start on it (--no-prepare)",
    ),
];

impl Receive {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        self.following.check()?;
        let trust = match self.certificates.read()? {
            Some((identity, authorities)) => Trust::Certificates { identity, authorities, secret: None },
            None => Trust::Pairing,
        };
        let receiver = Receiver::bind(self.settings()?, &trust)?;
        announce(&receiver, &self.following)?;
        let progress = Progress::default();
        let received = self.following.follow(&progress, || receiver.run(&progress));
        let received = received.inspect_err(|error| self.following.over(Side::Receiver, Err(error), &progress))?;
        self.show_result(&received, &progress);
        self.preparing.prepare(&self.into, &received, self.owner)
    }

    fn show_result(&self, received: &Received, progress: &Progress) {
        let summary = Summary::from_received(received, progress);
        self.following.over(Side::Receiver, Ok(&summary), progress);
        if self.following.quiet.is_set() || self.following.json {
            return;
        }
        say(&received_messages(&summary, received.rekeyed.as_ref()));
    }

    fn settings(&self) -> Result<ReceiveSettings, Failure> {
        Ok(ReceiveSettings {
            into: self.into.clone(),
            listen: self.listen,
            advertise: self.advertise.clone(),
            streams: self.streams,
            expiry: self.expiry,
            timeout: self.timeout,
            owner: self.owner,
            allow: self.allow.clone(),
            restart: self.restart,
            rekey: self.rekey.as_deref().map(open_keyring).transpose()?,
        })
    }
}

/// Prints the code, or with certificates the address, as the first line of stdout.
fn announce(receiver: &Receiver, following: &Following) -> Result<(), Failure> {
    if receiver.is_committed() {
        return Ok(());
    }
    let (address, code) = (receiver.address().to_string(), receiver.code().map(ToString::to_string));
    if following.json {
        following.event(&Event::Listening { address, code });
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{}", code.unwrap_or(address)).and_then(|()| out.flush());
    written.map_err(|error| Failure::new(format!("the pairing code cannot be written: {error}")))
}
