//! What to audit: a running server, a directory, saved facts, or a fleet of these.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::audit::collect::{KeyCopies, Packets};
use ::audit::source as audit;
use clap::Args;

use crate::cli::change::{DATADIR_HELP, state_dir_help};
use crate::cli::connect::Address;
use crate::cli::value;

/// Options for what to audit.
#[derive(Debug, Args)]
#[command(next_help_heading = "What to audit")]
pub(crate) struct Source {
    #[command(flatten)]
    pub(super) address: Address,
    /// Audit this data directory or backup of one, without a server: only its bytes are read
    #[arg(long, value_name = "DIR", conflicts_with_all = ["url", "socket", "host", "facts", "fleet"])]
    offline: Option<PathBuf>,
    /// Judge the facts in this file, which --save has written, instead of a server
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "socket", "host", "fleet"])]
    facts: Option<PathBuf>,
    /// Audit all servers in this file, concurrently, in one report (TOML; see docs/audit.md)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "socket", "host", "save", "baseline"])]
    fleet: Option<PathBuf>,
    /// Read every page of every file instead of a sample, and decrypt it with the keys that are found, as `sealant
    /// verify` does
    #[arg(long)]
    deep: bool,
    #[arg(long, value_name = "DIR", help = DATADIR_HELP)]
    datadir: Option<PathBuf>,
    /// Directory with dumps or backups to judge (repeatable)
    #[arg(long, value_name = "DIR")]
    backup: Vec<PathBuf>,
    /// Copy of MySQL's keyring file, or the configuration of the service with the keys: prove that it alone decrypts
    /// everything (repeatable)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["facts", "fleet", "no_files"])]
    keyring_copy: Vec<PathBuf>,
    /// Copy of MariaDB's key file: prove that it alone decrypts everything (repeatable)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["facts", "fleet", "no_files"])]
    key_file_copy: Vec<PathBuf>,
    /// File with the password of that copy, if it is encrypted
    #[arg(long, value_name = "FILE", requires = "key_file_copy")]
    key_file_copy_password_file: Option<PathBuf>,
    #[arg(long, value_name = "DIR", conflicts_with_all = ["offline", "facts"], help = register_help())]
    state_dir: Option<PathBuf>,
    /// Host name or address that clients use for this server, which its certificate must contain (repeatable)
    #[arg(long, value_name = "NAME")]
    client_name: Vec<String>,
    /// Further option file of the server or its clients to judge (repeatable)
    #[arg(long, value_name = "FILE")]
    option_file: Vec<PathBuf>,
    /// Also watch the packets of the server's ports for this long, and judge what crosses the network in clear text; needs
    /// root or the capability CAP_NET_RAW (see docs/sniff.md)
    #[arg(long, value_name = "TIME", value_parser = value::time, conflicts_with_all = ["offline", "facts"])]
    sniff: Option<Duration>,
    /// Judge the packets of the server's ports in this file, pcap or pcapng, instead of watching the network; they show
    /// when they were captured, not now (see docs/sniff.md)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sniff", "offline", "facts"])]
    pcap: Option<PathBuf>,
    /// Watch this network interface only [default: all]
    #[arg(long, value_name = "NAME", requires = "sniff")]
    interface: Option<String>,
    /// Do not read the server's files
    #[arg(long)]
    no_files: bool,
    /// Do not probe the server's ports
    #[arg(long)]
    no_wire: bool,
    /// Do not examine the host: its disks, the server's process, option files
    #[arg(long)]
    no_host: bool,
}

fn register_help() -> String {
    let what = "in which `sealant rotate` and `sealant keys` record dates and proven copies";
    state_dir_help(&format!("Directory of the key register, {what}"))
}

impl Source {
    /// The fleet file, if a fleet is to be audited.
    pub(super) fn fleet_file(&self) -> Option<&Path> {
        self.fleet.as_deref()
    }

    fn packets(&self) -> Option<Packets> {
        let live = |time| Packets::Live { time, interface: self.interface.clone() };
        self.sniff.map(live).or_else(|| self.pcap.clone().map(Packets::File))
    }

    /// Converts to the library's type.
    pub(super) fn to_source(&self) -> audit::Source {
        audit::Source {
            url: self.address.url.clone(),
            socket: self.address.socket.clone(),
            offline: self.offline.clone(),
            facts: self.facts.clone(),
            deep: self.deep,
            datadir: self.datadir.clone(),
            backup_dirs: self.backup.clone(),
            key_copies: KeyCopies {
                keyrings: self.keyring_copy.clone(),
                key_files: self.key_file_copy.clone(),
                key_file_password_file: self.key_file_copy_password_file.clone(),
            },
            state_dir: self.state_dir.clone(),
            client_names: self.client_name.clone(),
            option_files: self.option_file.clone(),
            no_files: self.no_files,
            no_wire: self.no_wire,
            no_host: self.no_host,
            packets: self.packets(),
        }
    }
}
