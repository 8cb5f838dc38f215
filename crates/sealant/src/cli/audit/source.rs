//! What to audit: a running server, a directory, saved facts, or a fleet of these.

use std::path::{Path, PathBuf};

use ::audit::collect::{self, KeyCopies, LiveOptions, OfflineOptions, Progress};
use ::audit::facts::Facts;
use clap::Args;

use crate::cli::connect::{self, Login};
use crate::cli::verify::forbid_dumps;
use crate::output::message::Failure;
use crate::output::progress::StatusLine;

/// What to say if no source is given.
const NOTHING_NAMED: [&str; 2] = [
    "nothing to audit is named",
    "give mysql://USER@HOST:PORT, --socket PATH, --offline DIR, --facts FILE or --fleet FILE",
];

/// Options that say what to audit.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What to audit")]
pub(crate) struct Source {
    /// The server, as mysql://USER@HOST:PORT; localhost means TCP here, see --socket
    #[arg(value_name = "URL", conflicts_with_all = ["socket", "offline", "facts", "fleet"])]
    pub(super) url: Option<String>,
    /// The server, by its unix socket
    #[arg(long, value_name = "PATH", conflicts_with_all = ["offline", "facts", "fleet"])]
    pub(super) socket: Option<PathBuf>,
    /// A data or backup directory, without a server: bytes only
    #[arg(long, value_name = "DIR", conflicts_with_all = ["facts", "fleet"])]
    pub(super) offline: Option<PathBuf>,
    /// Facts saved with --save: judge them again
    #[arg(long, value_name = "FILE", conflicts_with = "fleet")]
    pub(super) facts: Option<PathBuf>,
    /// Many servers, concurrently, in one report (TOML; see the user guide)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["save", "baseline"])]
    pub(super) fleet: Option<PathBuf>,
    /// Read every page of every file, not a sample, and open it with the keys found, as `sealant verify` does
    #[arg(long)]
    pub(super) deep: bool,
    /// The server's data directory as seen from here, if it is elsewhere than the server says
    #[arg(long, value_name = "DIR")]
    pub(super) datadir: Option<PathBuf>,
    /// A directory with dumps or backups to judge (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(super) backup: Vec<PathBuf>,
    /// A copy of MySQL's keyring file: prove that it alone opens everything encrypted (repeatable)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["facts", "fleet", "no_files"])]
    pub(super) keyring_copy: Vec<PathBuf>,
    /// A copy of MariaDB's key file: prove that it alone opens everything encrypted (repeatable)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["facts", "fleet", "no_files"])]
    pub(super) key_file_copy: Vec<PathBuf>,
    /// File with the password of the copy of the key file, if that is encrypted
    #[arg(long, value_name = "FILE", requires = "key_file_copy")]
    pub(super) key_file_copy_password_file: Option<PathBuf>,
    /// Where the register of keys is, in which `sealant rotate` and `sealant keys` note dates and proven copies
    /// [default: /var/lib/sealant, or ~/.local/state/sealant if that cannot be written]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["offline", "facts"])]
    pub(super) state_dir: Option<PathBuf>,
    /// A name that clients use for this server; its certificate must carry it (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(super) client_name: Vec<String>,
    /// An option file of the server or its clients to judge besides the usual ones (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(super) option_file: Vec<PathBuf>,
    /// Do not read the server's files
    #[arg(long)]
    pub(super) no_files: bool,
    /// Do not probe the server's ports
    #[arg(long)]
    pub(super) no_wire: bool,
    /// Do not look at the host: disks, process, option files
    #[arg(long)]
    pub(super) no_host: bool,
}

impl Source {
    /// The fleet file, if a fleet is wanted.
    pub(super) fn fleet_file(&self) -> Option<&Path> {
        self.fleet.as_deref()
    }

    /// Gathers or loads the facts of the one server.
    pub(super) fn facts(&self, login: &Login, quiet: bool) -> Result<Facts, Failure> {
        if let Some(path) = &self.facts {
            return Ok(Facts::load(path)?);
        }
        let line = StatusLine::new(quiet);
        let show = |progress: Progress| line.show(&status(progress));
        let key_copies = self.key_copies();
        if self.deep || !key_copies.is_empty() {
            forbid_dumps();
        }
        if let Some(directory) = &self.offline {
            let options = OfflineOptions {
                deep: self.deep,
                backup_dirs: self.backup.clone(),
                client_names: self.client_name.clone(),
                key_copies,
                progress: Some(&show),
                ..OfflineOptions::default()
            };
            return Ok(collect::offline(directory, &options)?);
        }
        let (target, connect) = connect::connection(self.url.as_deref(), self.socket.as_deref(), login, NOTHING_NAMED)?;
        let options = LiveOptions {
            datadir: self.datadir.clone(),
            backup_dirs: self.backup.clone(),
            client_names: self.client_name.clone(),
            option_files: self.option_file.clone(),
            key_copies,
            // Without a home there is no register: its checks say that it was not looked for.
            state_dir: register::state_dir(self.state_dir.clone()).ok(),
            deep: self.deep,
            files: !self.no_files,
            wire: !self.no_wire,
            plaintext_probe: !self.no_wire,
            host: !self.no_host,
            progress: Some(&show),
            ..LiveOptions::new(target, connect)
        };
        collect::live(&options).map_err(|e| connect::about(&options.target.endpoint, e))
    }

    fn key_copies(&self) -> KeyCopies {
        KeyCopies {
            keyrings: self.keyring_copy.clone(),
            key_files: self.key_file_copy.clone(),
            key_file_password_file: self.key_file_copy_password_file.clone(),
        }
    }
}

/// One line for people who wait.
fn status(progress: Progress) -> String {
    let mib = progress.bytes >> 20;
    match (progress.files, mib) {
        (0, _) => progress.step.to_owned(),
        (files, 0) => format!("{}: {files}", progress.step),
        (files, mib) => format!("{}: {files}, {mib} MiB read", progress.step),
    }
}
