//! `sealant send`: sends a data directory to another host.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use ::backup::live::{not_sent, prove};
use ::backup::stream::Streamed;
use ::transfer::Outgoing;
use ::transfer::codec::level::Compression;
use ::transfer::counters::Side;
use ::transfer::plan::{Plan, Selection};
use ::transfer::progress::Progress;
use ::transfer::sender::{Destination, SendSettings};
use ::transfer::summary::{Event, Summary};
use ::transfer::tls::Suite;
use clap::Args;
use codec::page::KeyFileKeys;
use glob::Pattern;
use report::{send_keys_hint, sent_messages, write_send_plan};
use zeroize::Zeroizing;

use super::key_stores::KeyStores;
use super::snapshot::Live;
use super::transfer::{Certificates, Following};
use crate::cli::value::{self, Word};
use crate::exit::{self, Exit};
use crate::output::file::{check_directory, to_stdout};
use crate::output::message::{Failure, say, warning};
use crate::process::forbid_dumps;

/// Send a data directory to another host, encrypted and verified
///
/// The other host runs `sealant receive`, which prints a pairing code. Everything in SOURCE is sent over several TLS
/// 1.3 connections at once. Each chunk is hashed here, and again there before it is written. On the receiver nothing is
/// moved into place before all of it is verified and on disk. To resume an interrupted transfer, start both sides
/// again.
///
/// SOURCE must not change: the directory of a stopped server, or a snapshot. A file that changes is reported, and
/// nothing is committed. For a running server, --live first takes a consistent copy, of one instant for all files, and
/// removes it at the end; see `sealant snapshot`. Where no such copy is possible, --provider mariabackup (or
/// xtrabackup) sends the stream of a backup, which the receiver prepares.
///
/// With the server's keys, pages of encrypted tablespaces and encrypted logs are decrypted, so that they compress
/// (MariaDB's binary logs only with --send-mariadb-key), and the receiver encrypts them again to the identical bytes.
/// On the way they are inside TLS, and the receiver needs no keyring.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS), override_usage = USAGE)]
pub(crate) struct Send {
    /// Directory to send (not with --live), and the destination: the pairing code that `sealant receive` printed; or -
    /// to read the code from standard input, so that other users of this host cannot see it; or, with certificates,
    /// HOST:PORT
    #[arg(value_names = ["SOURCE", "CODE|HOST:PORT"], num_args = 1..=2, required = true)]
    operands: Vec<OsString>,
    #[command(flatten)]
    running: Live,
    /// Number of connections that carry data
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: u16,
    /// Compression: auto, none, lz4, zstd (as zstd:3) or zstd:LEVEL (1 to 19); auto compresses more the slower the
    /// network is
    #[arg(long, value_name = "HOW", default_value = "auto")]
    compress: Compression,
    /// Maximum bytes per second on the network, such as 50MiB
    #[arg(long, value_name = "BYTES", value_parser = value::rate)]
    bwlimit: Option<u64>,
    /// Send only files whose path matches this pattern, such as 'sakila/*' (repeatable)
    #[arg(long, value_name = "PATTERN", value_parser = value::pattern)]
    include: Vec<Pattern>,
    /// Do not send files whose path matches this pattern, nor anything below them (repeatable)
    #[arg(long, value_name = "PATTERN", value_parser = value::pattern)]
    exclude: Vec<Pattern>,
    /// Resume an interrupted transfer; this is the default if the target holds one
    #[arg(long)]
    resume: bool,
    /// Cipher of the data connections [default: the fastest one for both hosts]
    #[arg(long, value_name = "CIPHER", value_parser = value::word(SUITES))]
    cipher: Option<Suite>,
    /// Give up if the receiver is silent for this long
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = value::time)]
    timeout: Duration,
    /// Show what would be sent; send nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
    #[command(flatten)]
    certificates: Certificates,
    #[command(flatten)]
    keys: KeyStores,
    /// Also decrypt MariaDB's encrypted binary and relay logs, and send the receiver key 1 of the key file for that
    ///
    /// MariaDB derives no separate key for these logs. The key is sent inside TLS and stays in the receiver's memory.
    /// It opens everything that the server has encrypted with it, not only what is sent.
    #[arg(long, requires = "mariadb_key_file")]
    send_mariadb_key: bool,
    #[command(flatten)]
    following: Following,
}

const SUITES: &[Word<Suite>] = &[
    ("aes128", Suite::Aes128Gcm, "AES-128-GCM"),
    ("aes256", Suite::Aes256Gcm, "AES-256-GCM"),
    ("chacha20", Suite::ChaCha20Poly1305, "ChaCha20-Poly1305"),
];

const USAGE: &str = "\
sealant send [OPTIONS] <SOURCE> <CODE|HOST:PORT>
       sealant send [OPTIONS] --live --datadir <DIR> <CODE|HOST:PORT>";

const EXAMPLES: &str = "\
Examples:
  sealant send /snap/mysql sealant1-…
  ssh joiner cat code | sealant send /snap/mysql -
  sealant send /snap/mysql sealant1-… --keyring-config /etc/mysql/component_keyring_file.cnf
  sealant send --live --datadir /var/lib/mysql sealant1-…
  sealant send /snap/mysql joiner:4444 --tls-cert donor.pem --tls-key donor-key.pem --tls-ca ca.pem";

const EXITS: exit::Codes = &[
    (Exit::Clean, "the receiver has committed everything"),
    (Exit::Failed, "nothing was committed; what arrived is kept for another try"),
];

impl Send {
    pub(crate) fn run(mut self) -> Result<Exit, Failure> {
        forbid_dumps();
        self.following.check()?;
        let to = self.operands.pop().unwrap_or_default();
        match (self.operands.pop(), self.running.live) {
            (Some(source), false) => {
                check_directory(Path::new(&source))?;
                ::transfer::tls::speed::prepare();
                self.send(Path::new(&source), &self.destination(&to)?, &|| Ok(()))
            }
            (None, true) => {
                // Checked before the copy is taken: a wrong code is found while there is nothing to undo.
                let destination = self.destination(&to)?;
                ::transfer::tls::speed::prepare();
                if let Some(streamed) = self.running.stream()? {
                    return self.stream(&streamed, &destination);
                }
                self.exclude.extend(not_sent());
                let guard = self.running.take(&self.keys, self.following.status())?;
                self.send(guard.root(), &destination, &|| prove(&guard))
            }
            (Some(_), true) => Err(Failure::usage("--live sends the data directory of --datadir: give no SOURCE")),
            (None, false) => Err(Failure::usage("give SOURCE and CODE, or --live --datadir DIR and CODE")),
        }
    }

    fn send(
        &self,
        source: &Path,
        destination: &Destination,
        prove: &(dyn Fn() -> Result<(), ::transfer::Error> + Sync),
    ) -> Result<Exit, Failure> {
        let keys = if self.keys.any() { Some(self.keys.read(Some(source))?) } else { None };
        let outgoing = Outgoing::scan(source, &self.selection(), keys)?;
        self.show_warnings(&outgoing)?;
        if self.dry_run {
            return self.show(outgoing.plan());
        }
        self.follow(|progress| outgoing.send(destination, &self.settings(), progress, prove))
    }

    fn selection(&self) -> Selection {
        Selection { include: self.include.clone(), exclude: self.exclude.clone() }
    }

    fn settings(&self) -> SendSettings {
        SendSettings {
            streams: self.streams,
            compression: self.compress,
            bandwidth: self.bwlimit,
            suite: self.cipher,
            timeout: self.timeout,
            key_file_keys: if self.send_mariadb_key { KeyFileKeys::Send } else { KeyFileKeys::Keep },
        }
    }

    /// Sends the stream of a backup.
    fn stream(&self, streamed: &Streamed, destination: &Destination) -> Result<Exit, Failure> {
        streamed.check(self.dry_run, &self.selection(), self.keys.any())?;
        self.follow(|progress| streamed.send(destination, &self.settings(), progress))
    }

    fn follow(&self, send: impl FnOnce(&Progress) -> Result<Summary, ::transfer::Error>) -> Result<Exit, Failure> {
        let progress = Progress::default();
        let outcome = self.following.follow(&progress, || send(&progress));
        self.following.over(Side::Sender, outcome.as_ref(), &progress);
        let summary = outcome?;
        if !self.following.quiet.is_set() && !self.following.json {
            say(&sent_messages(&summary, &progress));
        }
        Ok(Exit::Clean)
    }

    fn destination(&self, to: &OsStr) -> Result<Destination, Failure> {
        let to = to.to_str().ok_or_else(|| Failure::usage("the destination is not text"))?;
        match self.certificates.read()? {
            None => Ok(Destination::parse(&code(to)?, None)?),
            certificates => Ok(Destination::parse(to, certificates)?),
        }
    }

    fn show_warnings(&self, outgoing: &Outgoing) -> Result<(), Failure> {
        let of_live: Vec<Pattern> = not_sent().filter(|_| self.running.live).collect();
        outgoing.warnings(&of_live).iter().for_each(|text| warning(text));
        let plan = outgoing.plan();
        self.following.event(&Event::Plan { files: plan.files(), bytes: plan.bytes });
        outgoing.key_warnings(&self.keys.files())?.iter().for_each(|text| warning(text));
        Ok(())
    }

    fn show(&self, plan: &Plan) -> Result<Exit, Failure> {
        if !self.following.json {
            to_stdout(&|out| Ok(write_send_plan(plan, out)?))?;
        }
        if !self.keys.any() {
            say(&[send_keys_hint()]);
        }
        Ok(Exit::Clean)
    }
}

/// The pairing code, which may come from standard input.
fn code(to: &str) -> Result<Zeroizing<String>, Failure> {
    let mut code = Zeroizing::new(to.to_owned());
    if *code == "-" {
        code.clear();
        let read = std::io::stdin().read_line(&mut code);
        read.map_err(|error| Failure::new(format!("the pairing code cannot be read from standard input: {error}")))?;
    }
    Ok(code)
}
