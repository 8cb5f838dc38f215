//! Options for a key in Vault.

use std::path::PathBuf;

use clap::Args;
use luks::key_source;

/// Location of the key in Vault.
#[derive(Debug, Args)]
#[command(next_help_heading = "HashiCorp Vault")]
pub(super) struct Vault {
    /// Address of Vault, https://HOST:PORT; http:// only for this machine
    #[arg(long, value_name = "URL", requires_all = ["vault_path", "vault_token_file"])]
    vault_addr: Option<String>,
    /// Path of the secret in a KV engine of version 2, such as secret/data/mysqldata
    #[arg(long, value_name = "PATH", requires = "vault_addr")]
    vault_path: Option<String>,
    /// Field of the secret that holds the key
    #[arg(long, value_name = "NAME", default_value = "key", requires = "vault_addr")]
    vault_field: String,
    /// Decode the field from base64
    #[arg(long, requires = "vault_addr")]
    vault_base64: bool,
    /// File with the token for Vault
    #[arg(long, value_name = "FILE", requires = "vault_addr")]
    vault_token_file: Option<PathBuf>,
    /// CA certificates to trust for Vault's certificate, PEM; required with https
    #[arg(long, value_name = "FILE", requires = "vault_addr")]
    vault_ca: Option<PathBuf>,
}

impl Vault {
    /// `None` if no address is given; otherwise clap has required the rest.
    pub(super) fn named(&self) -> Option<key_source::Vault> {
        Some(key_source::Vault {
            address: self.vault_addr.clone()?,
            path: self.vault_path.clone().unwrap_or_default(),
            field: self.vault_field.clone(),
            is_base64: self.vault_base64,
            token_file: self.vault_token_file.clone().unwrap_or_default(),
            authorities: self.vault_ca.clone(),
        })
    }
}
