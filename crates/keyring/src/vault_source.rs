//! Server configurations that keep keys in a HashiCorp Vault: location and access.
//!
//! Three forms: the JSON of Percona's `component_keyring_vault`, the lines `name = value` of Percona's plug-in
//! `keyring_vault`, and the variables of MariaDB's `hashicorp_key_management` in an option file. In all of them, names
//! that begin with `sealant_` belong to Sealant and name files with credentials.
//!
//! Source: docs/formats, "Keys in a HashiCorp Vault".

use std::{path::PathBuf, time::Duration};

use keyservice::{Access, AppRole, EngineVersion, Login};
use zeroize::Zeroizing;

use crate::{error::Error, store::kind_of, summary::StoreKind, vault_settings::Settings};

const APPROLE: &str = "approle";

/// The keys of a server in a Vault.
#[derive(Debug)]
pub(crate) struct VaultSource {
    pub(crate) access: Access,
    /// The directory of the keys, without `data`.
    pub(crate) path: String,
    /// The version of the engine; detected if it is not configured.
    pub(crate) version: Option<EngineVersion>,
    /// The numbers of MariaDB's keys, if configured.
    pub(crate) key_ids: Option<Vec<u32>>,
}

/// Whether the bytes are a configuration of Percona's plug-in or component for a Vault, or of its components for KMIP and
/// AWS KMS.
pub(crate) fn is_mysql_service(bytes: &[u8]) -> bool {
    matches!(kind_of(bytes), Ok(StoreKind::VaultConfig | StoreKind::KmipConfig | StoreKind::KmsConfig))
}

/// Reads a configuration of Percona's plug-in or component.
pub(crate) fn percona(bytes: &[u8]) -> Result<VaultSource, Error> {
    let settings = Settings::from_percona(bytes).map_err(|_| Error::VaultConfig { what: "is not JSON" })?;
    let address = settings.required("vault_url", "has no vault_url")?;
    let version = match settings.text("secret_mount_point_version") {
        Some("1") => Some(EngineVersion::First),
        Some("2") => Some(EngineVersion::Second),
        _ => None,
    };
    Ok(VaultSource {
        access: settings.access(address.trim_end_matches('/'))?,
        path: settings.required("secret_mount_point", "has no secret_mount_point")?.to_owned(),
        version,
        key_ids: None,
    })
}

/// Whether the bytes are an option file with the variables of MariaDB's plug-in.
pub(crate) fn is_mariadb_configuration(bytes: &[u8]) -> bool {
    Settings::from_mariadb(bytes).text("vault_url").is_some()
}

/// Reads an option file with the variables of MariaDB's plug-in.
pub(crate) fn mariadb(bytes: &[u8]) -> Result<VaultSource, Error> {
    let settings = Settings::from_mariadb(bytes);
    let url = settings.required("vault_url", "has no hashicorp_key_management_vault_url")?;
    let no_path = || Error::VaultConfig { what: "has a vault_url without /v1/ and the path of the keys" };
    let (address, path) = url.split_once("/v1/").ok_or_else(no_path)?;
    let key_ids = settings.text("sealant_key_ids").map(|ids| ids.split(',').map(|id| id.trim().parse().ok()).collect());
    let wrong_ids = || Error::VaultConfig { what: "has sealant_key_ids that are not numbers with commas between" };
    Ok(VaultSource {
        access: settings.access(address.trim_end_matches('/'))?,
        path: path.trim_matches('/').to_owned(),
        version: Some(EngineVersion::Second),
        key_ids: key_ids.map(|ids: Option<Vec<u32>>| ids.ok_or_else(wrong_ids)).transpose()?,
    })
}

impl Settings<'_> {
    fn required(&self, name: &str, what: &'static str) -> Result<&str, Error> {
        self.text(name).ok_or(Error::VaultConfig { what })
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    fn access(&self, address: &str) -> Result<Access, Error> {
        Ok(Access {
            address: address.to_owned(),
            authorities: self.path("vault_ca"),
            namespace: self.text("vault_namespace").map(str::to_owned),
            login: self.login()?,
            timeout: self.time_limit("timeout", Duration::from_secs),
        })
    }

    /// Files with credentials for Sealant take precedence over the server's own token.
    fn login(&self) -> Result<Login, Error> {
        match (self.path("sealant_role_id_file"), self.path("sealant_secret_id_file")) {
            (Some(role_id_file), Some(secret_id_file)) => {
                let mount = self.text("sealant_approle_mount").unwrap_or(APPROLE).to_owned();
                return Ok(Login::AppRole(AppRole { mount, role_id_file, secret_id_file }));
            }
            (None, None) => {}
            _ => return Err(Error::VaultConfig { what: "has a file for only one of role id and secret id" }),
        }
        if let Some(file) = self.path("sealant_token_file") {
            return Ok(Login::TokenFile(file));
        }
        let token = self.required("token", "names no token, no sealant_token_file and no sealant_role_id_file")?;
        Ok(Login::Token(Zeroizing::new(token.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_text<T>(result: Result<T, Error>) -> String {
        result.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn perconas_two_formats_give_the_same_settings() {
        let json = br#"{"timeout": 7, "vault_url": "https:\/\/vault.example:8200", "secret_mount_point": "mysql/db1",
            "vault_ca": "/etc/ca.pem", "token": "hvs.secret", "secret_mount_point_version": "2"}"#;
        let lines = b"vault_url = https://vault.example:8200\nsecret_mount_point=mysql/db1\ntimeout=7\n\
            vault_ca = /etc/ca.pem\ntoken = hvs.secret\nsecret_mount_point_version = 2\n";
        for bytes in [&json[..], lines] {
            let source = percona(bytes).unwrap();
            assert_eq!(source.access.address, "https://vault.example:8200");
            assert_eq!(source.access.authorities, Some(PathBuf::from("/etc/ca.pem")));
            assert_eq!(source.access.timeout, Duration::from_secs(7));
            assert_eq!((source.path.as_str(), source.version), ("mysql/db1", Some(EngineVersion::Second)));
            assert!(matches!(&source.access.login, Login::Token(token) if token.as_str() == "hvs.secret"));
        }
        let no_token = b"vault_url = https://v\nsecret_mount_point = m\n";
        assert!(error_text(percona(no_token)).contains("no token"));
        assert!(error_text(percona(b"vault_url = https://v\ntoken = t")).contains("secret_mount_point"));
        assert!(error_text(percona(br#"{"vault_url": "#)).contains("not JSON"));
    }

    #[test]
    fn a_time_limit_is_never_longer_than_a_day() {
        let limit = |value: &str| {
            let text = format!("vault_url=https://v\nsecret_mount_point=m\ntoken=t\ntimeout={value}\n");
            percona(text.as_bytes()).unwrap().access.timeout
        };
        assert_eq!(limit("7"), Duration::from_secs(7));
        for default in ["", "0", "-1", "soon"] {
            assert_eq!(limit(default), Duration::from_secs(15), "{default}");
        }
        assert_eq!(limit("18446744073709551615"), Duration::from_secs(86400));
    }

    #[test]
    fn mariadbs_variables_are_read_from_its_groups() {
        let text = b"[client]\nhashicorp_key_management_vault_url = https://no\n[mariadb-10.11]\n\
            plugin_load_add = hashicorp_key_management\nloose-hashicorp-key-management-vault-url=\"https://v:8200/v1/ns/db/\"\n\
            hashicorp_key_management_token = hvs.of-the-server\n# hashicorp_key_management_vault_ca = no\n\
            [sealant]\nsealant_token_file = /run/token\nsealant_key_ids = 1, 7\n";
        assert!(is_mariadb_configuration(text));
        let source = mariadb(text).unwrap();
        assert_eq!((source.access.address.as_str(), source.path.as_str()), ("https://v:8200", "ns/db"));
        assert_eq!((source.key_ids, source.access.authorities), (Some(vec![1, 7]), None));
        assert!(matches!(&source.access.login, Login::TokenFile(path) if path == &PathBuf::from("/run/token")));
        assert!(!is_mariadb_configuration(
            b"[mariadb-client]\nhashicorp_key_management_vault_url = https://v:8200/v1/a/\n"
        ));
        assert!(!is_mariadb_configuration(b"[mariadb]\nfile_key_management_filename = x\n"));
        let no_path =
            b"[mariadb]\nhashicorp_key_management_vault_url = https://v:8200\nhashicorp_key_management_token=t";
        assert!(error_text(mariadb(no_path)).contains("without /v1/"));
    }

    #[test]
    fn files_with_credentials_take_precedence_over_a_token() {
        let with =
            |more: &str| percona(format!("vault_url=https://v\nsecret_mount_point=m\ntoken=t\n{more}").as_bytes());
        let role = "sealant_role_id_file=/r\nsealant_secret_id_file=/s\nsealant_approle_mount=db\n";
        let expected =
            AppRole { mount: "db".to_owned(), role_id_file: PathBuf::from("/r"), secret_id_file: PathBuf::from("/s") };
        assert!(matches!(with(role).unwrap().access.login, Login::AppRole(role) if role == expected));
        assert!(error_text(with("sealant_role_id_file=/r\n")).contains("only one"));
    }
}
