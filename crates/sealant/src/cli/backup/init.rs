//! `sealant backup init`.

use std::path::PathBuf;

use ::backup::recipients::write_challenges;
use clap::Args;
use report::backup_init_messages;

use super::Configured;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, say};

/// Create the repository and the signing key, and prove that each recipient can decrypt
///
/// Can be repeated: what exists stays as it is. For each recipient, a word is encrypted that only the recipient's
/// identity decrypts. Whoever has the identity decrypts the word, which is then given to --answer. Until then, `init`
/// exits with 4, and backups name the recipient as unproven.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Init {
    #[command(flatten)]
    config: Configured,
    /// Word that was decrypted with the identity of a recipient (repeatable)
    #[arg(long, value_name = "WORD")]
    answer: Vec<String>,
    /// Also write the encrypted words to this directory, as age files to copy to the machine with the identity
    #[arg(long, value_name = "DIR")]
    challenges: Option<PathBuf>,
    /// Exit with 0 even if recipients are unproven
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
  ca = \"/etc/sealant/s3-ca.pem\"            # CA certificates to trust for the store [default: the system's]
  credentials = \"/etc/sealant/s3\"          # in AWS's format, mode 600 [default: environment, then role]
  lock_days = 14                            # object lock; lock_mode = \"compliance\" or \"governance\". Or in [retention]
  id = \"…\"                                  # the repository's id, if this host may not read it
  [host]
  name = \"db1\"
  signing_key = \"/etc/sealant/backup.key\"   # created if it does not exist
  [server]
  datadir = \"/var/lib/mysql\"
  socket = \"/run/mysqld/mysqld.sock\"        # optional; with user and password_file also for the provider follow
  keyring_config = \"/etc/mysql/component_keyring_file.cnf\"
                # or keyring = \"…\", or mariadb_key_file = \"…\" and mariadb_key_file_password_file = \"…\"
  [data]
  recipients = [\"age1…\", \"age1…\"]         # from `age-keygen`; keep the identities on other machines
  pages = \"open\"                            # or as-is: about twice as large, and reading it takes the keyring
  # compress = \"zstd:3\"                     # optional: zstd or zstd:1 to zstd:19; without it faster than zstd:1, and 2 to 10 % larger
  provider = \"auto\"                         # stopped, btrfs, zfs, reflink, lvm, follow
  max_freeze = \"1s\"
  streams = 4
  # bwlimit = \"50MiB\"                       # optional: bytes that a run stores in a second at most
  pack = \"32MiB\"                           # length of the objects, from 4MiB
  ddl_wait_max = \"off\"                     # or a time: the longest wait of a change of definitions for a copy by follow
  [keys]
  recipients = [\"age1…\"]                  # optional: who gets the keys of MySQL's files (--key-identity)
  [report]
  # prometheus = \"/…/sealant-backup.prom\"  # optional: written after each run, as `sealant backup report` does
  # html = \"/…/backups.html\"
  [state]
  directory = \"/var/lib/sealant/backup\"

Examples:
  age-keygen -o key.txt                # on another machine, and keep it there
  sealant backup init --config /etc/sealant/backup.toml --challenges challenges
  age -d -i key.txt challenges/*.age   # on that machine
  sealant backup init --config /etc/sealant/backup.toml --answer 1f0c9a53b7e2d4866a01";

const EXITS: exit::Codes = &[
    (Exit::Clean, "the repository and the key exist, and every recipient is proven"),
    (Exit::Failed, "not done, or an answer is wrong"),
    (Exit::Incomplete, "the repository and the key exist, and a recipient is not proven yet"),
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
