//! Options that name key stores, for the verbs that decrypt.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ::verify::Keys;
use clap::Args;

use crate::output::message::{Failure, warning};

/// Options that name key stores.
#[derive(Debug, Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct KeyStores {
    /// MySQL's keyring: the file of component_keyring_file or of the keyring_file plug-in, or the configuration file of
    /// a keyring in Vault, on a KMIP server or behind AWS KMS (repeatable)
    #[arg(long, value_name = "FILE")]
    keyring: Vec<PathBuf>,
    /// Configuration file of MySQL's keyring component: component_keyring_file, component_keyring_vault,
    /// component_keyring_kmip or component_keyring_kms
    #[arg(long, value_name = "FILE", conflicts_with = "keyring")]
    keyring_config: Option<PathBuf>,
    /// MariaDB's keys: the key file of file_key_management, or the option file with the settings of
    /// hashicorp_key_management or aws_key_management (repeatable)
    #[arg(long, value_name = "FILE")]
    mariadb_key_file: Vec<PathBuf>,
    /// File with the password of MariaDB's key file, if it is encrypted
    #[arg(long, value_name = "FILE", requires = "mariadb_key_file")]
    mariadb_key_file_password_file: Option<PathBuf>,
}

impl KeyStores {
    pub(crate) fn named(&self) -> ::verify::KeyStores {
        ::verify::KeyStores {
            keyrings: self.keyring.clone(),
            keyring_config: self.keyring_config.clone(),
            key_files: self.mariadb_key_file.clone(),
            password_file: self.mariadb_key_file_password_file.clone(),
        }
    }

    /// Whether any store was named.
    pub(crate) fn any(&self) -> bool {
        self.named().any()
    }

    /// Files that hold keys, or their password.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.named().files()
    }

    /// The same options, for another run of this program.
    pub(crate) fn options(&self) -> Vec<OsString> {
        let named = [
            ("--keyring", self.keyring.as_slice()),
            ("--keyring-config", self.keyring_config.as_slice()),
            ("--mariadb-key-file", self.mariadb_key_file.as_slice()),
            ("--mariadb-key-file-password-file", self.mariadb_key_file_password_file.as_slice()),
        ];
        let options = named.iter().flat_map(|(name, paths)| paths.iter().map(move |path| (*name, path)));
        options.flat_map(|(name, path)| [name.into(), path.clone().into_os_string()]).collect()
    }

    /// Reads every store; problems with single keys are warnings.
    pub(crate) fn read(&self, datadir: Option<&Path>) -> Result<Keys, Failure> {
        let (keys, warnings) = self.named().read(datadir)?;
        warnings.iter().for_each(|problem| warning(&problem.to_string()));
        Ok(keys)
    }
}
