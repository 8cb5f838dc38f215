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
    /// Keyring file of MySQL, of component_keyring_file or of the keyring_file plug-in, or the configuration of a Vault
    /// or KMIP service (repeatable)
    #[arg(long, value_name = "FILE")]
    keyring: Vec<PathBuf>,
    /// Configuration of component_keyring_file, which names the keyring file, or of component_keyring_vault or
    /// component_keyring_kmip
    #[arg(long, value_name = "FILE", conflicts_with = "keyring")]
    keyring_config: Option<PathBuf>,
    /// Key file of MariaDB's file_key_management, or option file of its hashicorp_key_management (repeatable)
    #[arg(long, value_name = "FILE")]
    mariadb_key_file: Vec<PathBuf>,
    /// File with the password of the key file, if it is encrypted
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
        let (keys, damaged) = self.named().read(datadir)?;
        for store in damaged {
            let (path, entries) = (store.path.display(), store.entries);
            warning(&format!("{path}: {entries} of its entries cannot be used; `sealant audit` names them"));
        }
        for key in keys.withdrawn() {
            warning(&key.to_string());
        }
        for name in keys.compromised() {
            warning(&format!(
                "the KMIP service calls {} compromised: others may know it; rotate it",
                name.escape_debug()
            ));
        }
        if keys.locked() == Some(false) {
            warning("keys could not be locked in memory and may reach the swap; raise `ulimit -l`");
        }
        Ok(keys)
    }
}
