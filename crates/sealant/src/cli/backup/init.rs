//! `sealant backup init`.

use std::path::PathBuf;

use ::backup::recipients::write_challenges;
use clap::Args;
use report::backup_init_messages;

use super::Configured;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, say};

/// Create the repository and the signing key, where they do not exist yet, and prove the recipients
///
/// Can be repeated: existing parts stay as they are. For each recipient, a word is encrypted that only its identity
/// decrypts; whoever has the identity gives the word back with --answer. Until then, `init` ends with 4, and backups
/// name the recipient as unproven.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Init {
    #[command(flatten)]
    config: Configured,
    /// The word that was decrypted with the identity of a recipient (repeatable)
    #[arg(long, value_name = "WORD")]
    answer: Vec<String>,
    /// Write the encrypted words to this directory, too, as age files to be copied to the machine with the identity
    #[arg(long, value_name = "DIR")]
    challenges: Option<PathBuf>,
    /// Exit with 0 even if nobody has proven possession of the identity of a recipient
    #[arg(long)]
    unproven_recipient: bool,
}

const EXAMPLES: &str = "\
The configuration:
  [repository]
  url = \"/backup/repo\"                      # a directory, or s3://BUCKET/PREFIX with some of these:
  endpoint = \"https://s3.example:9000\"      # if the store is not AWS's
  region = \"eu-central-1\"
  addressing = \"path\"                       # or host, which is usual at AWS
  ca = \"/etc/sealant/s3-ca.pem\"            # who vouches for the store [default: whom the system trusts]
  credentials = \"/etc/sealant/s3\"          # as of AWS's tools, of mode 600 [default: environment, then machine]
  lock_days = 14                            # object lock of new objects, with lock_mode = \"compliance\" or governance
  id = \"…\"                                  # of a repository that this host may not read
  [host]
  name = \"db1\"
  signing_key = \"/etc/sealant/backup.key\"   # is made if it is not there
  [server]
  datadir = \"/var/lib/mysql\"
  socket = \"/run/mysqld/mysqld.sock\"        # optional, with user and password_file for a copy by follow
  keyring_config = \"/etc/mysql/component_keyring_file.cnf\"
                # or keyring = \"…\", or mariadb_key_file = \"…\" and mariadb_key_file_password_file = \"…\"
  [data]
  recipients = [\"age1…\", \"age1…\"]         # of `age-keygen`, whose identities are kept on other machines
  pages = \"open\"                            # or as-is: it takes the keyring, too, to read a backup, which is twice as large
  compress = \"zstd:1\"                       # the default; zstd:LEVEL with 1 to 19, and zstd is zstd:3
  provider = \"auto\"                         # stopped, btrfs, zfs, reflink, lvm, follow
  max_freeze = \"1s\"
  streams = 4
  [keys]
  recipients = [\"age1…\"]                  # optional: others, who get the keys of MySQL's files (restore --key-identity)
  [state]
  directory = \"/var/lib/sealant/backup\"

Examples:
  age-keygen -o key.txt                # on another machine, and keep it there
  sealant backup init --config /etc/sealant/backup.toml --challenges challenges
  age -d -i key.txt challenges/*.age   # on that machine
  sealant backup init --config /etc/sealant/backup.toml --answer 1f0c9a53b7e2d4866a01";

const EXITS: exit::Codes = &[
    (Exit::Clean, "repository and key are there, and every recipient is proven"),
    (Exit::Failed, "not done, or an answer is wrong"),
    (Exit::Incomplete, "repository and key are there, and a recipient is not proven yet"),
];

impl Init {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let config = self.config.read()?;
        let init = ::backup::init::init(&config, &self.answer)?;
        if let Some(directory) = &self.challenges {
            write_challenges(directory, &init.challenges)?;
        }
        say(&backup_init_messages(&config, &init));
        to_stdout(&|out| writeln!(out, "{}", init.signer))?;
        let is_proven = init.challenges.is_empty() || self.unproven_recipient;
        Ok(if is_proven { Exit::Clean } else { Exit::Incomplete })
    }
}
