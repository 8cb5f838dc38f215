//! Source of a key: a file, standard input or a prompt; never the command line.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedI64ValueParser;
use luks::key::read;
use luks::{RANDOM_KEY_ITERATIONS, Secret};

use crate::output::message::Failure;

/// The option that names a key.
#[derive(Debug, Args)]
pub(super) struct KeySource {
    /// File with the exact bytes of a key that opens the volume; `-` is standard input [default: a prompt]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl KeySource {
    /// Reads the key, or asks for a passphrase.
    pub(super) fn read(&self) -> Result<Secret, Failure> {
        if let Some(path) = &self.key_file {
            return Ok(read(path)?);
        }
        if !std::io::stdin().is_terminal() {
            return Err(
                Failure::usage("no key is named").hint("give --key-file FILE, or `--key-file -` for standard input")
            );
        }
        let passphrase =
            rpassword::prompt_password("Passphrase: ").map_err(|e| Failure::new(format!("no passphrase: {e}")))?;
        Ok(Secret::new(passphrase.into_bytes()))
    }
}

/// How many iterations of PBKDF2 may be asked for.
pub(super) fn iterations() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(i64::from(RANDOM_KEY_ITERATIONS)..)
}
