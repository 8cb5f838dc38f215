//! `sealant luks key serve`: run by systemd when a volume needs its key at boot.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use luks::key_source::Source;

use super::vault::Vault;
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::message::Failure;

/// Write a key to standard output: from a file, such as on a USB stick, from HashiCorp Vault or from a program
///
/// `sealant luks boot install --key-from …` creates the socket and the service that run this when the volume is opened
/// at boot, so that no key is stored on the disks of this host. It waits for the file, or for its device, as long as
/// --wait says. Standard output must not be a terminal.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct Serve {
    #[command(flatten)]
    from: From,
    #[command(flatten)]
    vault: Vault,
    /// Device with the file, such as a USB stick; it is mounted read-only
    #[arg(long, alias = "on", value_name = "DEVICE", requires = "file")]
    device: Option<PathBuf>,
    /// How long to wait for the file, its device, Vault or the program
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = value::seconds(1, 3600))]
    wait: Duration,
}

#[derive(Debug, Args)]
#[group(multiple = false, conflicts_with = "vault_addr")]
struct From {
    /// File with the exact bytes of the key; with --device, its path on that device
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Program that writes the exact bytes of the key to its standard output; it gets no arguments
    #[arg(long, value_name = "PROGRAM")]
    command: Option<PathBuf>,
}

const END: &str = "\
Examples:
  sealant luks key serve --file data.key --device /dev/disk/by-label/KEYS | wc --bytes
  sealant luks key serve --command /etc/sealant/fetch-key | wc --bytes
  sealant luks key serve --vault-addr https://vault.example:8200 --vault-path secret/data/mysqldata \
    --vault-token-file /etc/sealant/vault-token --vault-ca /etc/sealant/vault-ca.pem | wc --bytes";

const EXITS: exit::Codes = &[(Exit::Clean, "written"), (Exit::Failed, "there is no key; nothing was written")];

impl Serve {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        if std::io::stdout().is_terminal() {
            return Err(Failure::usage("standard output is a terminal; a key is written only to a pipe or a file"));
        }
        let deadline = Instant::now() + self.wait;
        let key = self.source()?.key(deadline)?;
        let written = key.write_to(&mut std::io::stdout().lock());
        written.map_err(|error| Failure::new(format!("the key was not taken: {error}")))?;
        Ok(Exit::Clean)
    }

    fn source(&self) -> Result<Source, Failure> {
        let source = match (self.from.file.clone(), self.from.command.clone(), self.device.clone()) {
            (Some(file), _, Some(device)) => Some(Source::KeyDevice { device, file }),
            (Some(file), _, None) => Some(Source::File(file)),
            (None, Some(program), _) => Some(Source::Program(program)),
            (None, None, _) => self.vault.named().map(Source::Vault),
        };
        source.ok_or_else(|| {
            Failure::usage("no source of the key is named").hint("give --file, --command or --vault-addr")
        })
    }
}
