//! `sealant backup init`.

use ::backup::config::Pages;
use clap::Args;

use super::Configured;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, hint, info, warning};

/// Make the repository and the key that signs, where they are not there
///
/// May be repeated: what is there stays as it is.
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
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let config = self.config.read()?;
        let init = ::backup::init::init(&config)?;
        let word = |made| if made { "made" } else { "there already" };
        info(&format!(
            "repository {} ({}), id {}",
            config.repository.display(),
            word(init.made_repository),
            init.repository.id
        ));
        info(&format!("signing key {} ({})", config.signing_key.display(), word(init.made_key)));
        info(&format!("backups of {} are encrypted to {} recipients", config.host, config.recipients.len()));
        match config.pages {
            Pages::Open => {
                info("pages of encrypted tables are opened: whoever has an identity of a recipient reads all rows")
            }
            Pages::AsIs => {
                info("pages stay as they are: it takes an identity and the server's keyring to read encrypted tables")
            }
        }
        if config.recipients.len() == 1 {
            warning(
                "if the identity of the only recipient is lost, so are all backups; a second one, kept apart, is safer",
            );
        }
        hint("keep this line where restores are made, as the file for --allowed-signers:");
        crate::output::file::to_stdout(&|out: &mut dyn std::io::Write| writeln!(out, "{}", init.signer))?;
        Ok(Exit::Clean)
    }
}
