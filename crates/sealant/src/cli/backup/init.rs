//! `sealant backup init`.

use clap::Args;
use report::backup_init_messages;

use super::Configured;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, say};

/// Create the repository and the signing key, where they do not exist yet
///
/// Can be repeated: existing parts stay as they are.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Init {
    #[command(flatten)]
    config: Configured,
}

const EXAMPLES: &str = "\
The configuration:
  [repository]
  url = \"/backup/repo\"                      # a directory
  [host]
  name = \"db1\"
  signing_key = \"/etc/sealant/backup.key\"   # is made if it is not there
  [server]
  datadir = \"/var/lib/mysql\"
  socket = \"/run/mysqld/mysqld.sock\"        # optional
  keyring_config = \"/etc/mysql/component_keyring_file.cnf\"
                # or keyring = \"…\", or mariadb_key_file = \"…\" and mariadb_key_file_password_file = \"…\"
  [data]
  recipients = [\"age1…\", \"age1…\"]         # of `age-keygen`, whose identities are kept on other machines
  pages = \"open\"                            # or as-is: it takes the keyring, too, to read a backup, which is twice as large
  compress = \"zstd:1\"
  provider = \"auto\"                         # stopped, btrfs, zfs, reflink, lvm
  max_freeze = \"1s\"
  streams = 4
  [state]
  directory = \"/var/lib/sealant/backup\"

Examples:
  age-keygen -o key.txt                # on another machine, and keep it there
  sealant backup init --config /etc/sealant/backup.toml";

const EXITS: exit::Codes =
    &[(Exit::Clean, "repository and key are there"), (Exit::Failed, "not done"), (Exit::Usage, "wrong usage")];

impl Init {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let config = self.config.read()?;
        let init = ::backup::init::init(&config)?;
        say(&backup_init_messages(&config, &init));
        to_stdout(&|out| writeln!(out, "{}", init.signer))?;
        Ok(Exit::Clean)
    }
}
