//! The component or plug-in that holds a server's keys, and the variables that name its files.
//!
//! MySQL loads keyrings as components since 8.0.24 and lists their status in a table; before, a keyring is a plug-in.
//! MariaDB's key management is a plug-in. Sources: MySQL manual, "The MySQL Keyring"; MariaDB documentation,
//! "Encryption Key Management".

use std::path::{Path, PathBuf};

use super::{query, statement};
use crate::{
    connect::{Connection, Rows},
    error::Error,
    option_name::with_hyphens,
    switch,
    version::{Flavor, ServerVersion},
};

/// Logical query for the status of the keyring component.
pub const COMPONENT_QUERY: &str = "keyring_status";
/// Logical query for plug-ins.
pub const PLUGIN_QUERY: &str = "plugins";

/// MariaDB's key file.
pub const MARIADB_KEYS: &str = "file_key_management_filename";
/// The password of MariaDB's key file or, with the prefix [`PASSWORD_FILE`], the path of a file with the password.
pub const MARIADB_PASSWORD: &str = "file_key_management_filekey";
/// Mode in which MariaDB encrypts with keys of the key file: `AES_CBC` or `AES_CTR`.
const MARIADB_CIPHER: &str = "file_key_management_encryption_algorithm";
/// The keyring of MySQL's plug-in `keyring_file`.
pub const KEYRING_PLUGIN_FILE: &str = "keyring_file_data";
/// The configuration of MySQL's plug-in `keyring_vault`.
pub const VAULT_CONFIGURATION: &str = "keyring_vault_config";

/// Prefix of a value of [`MARIADB_PASSWORD`] that is a path.
pub const PASSWORD_FILE: &str = "FILE:";

/// MySQL's plug-in for a keyring file, in 5.7 and 8.0.
pub const KEYRING_PLUGIN_LIBRARY: &str = "keyring_file.so";
/// MariaDB's plug-in for a key file.
pub const MARIADB_PLUGIN: &str = "file_key_management";
/// Library of [`MARIADB_PLUGIN`] in the plug-in directory.
pub const MARIADB_PLUGIN_LIBRARY: &str = "file_key_management.so";

/// MariaDB's plug-ins for tests. They derive their keys from nothing secret.
const MARIADB_TEST_PLUGINS: [&str; 2] = ["example_key_management", "debug_key_management"];
/// Prefix of the variables of MariaDB's plug-in for a HashiCorp Vault.
pub const MARIADB_VAULT_PREFIX: &str = "hashicorp_key_management_";
/// Prefix of the variables of MariaDB's plug-in for AWS KMS.
pub const MARIADB_AWS_PREFIX: &str = "aws_key_management_";
/// Percona's component whose keys AWS KMS has encrypted.
pub const KMS_COMPONENT: &str = "component_keyring_kms";
/// Address of the Vault.
pub const MARIADB_VAULT_URL: &str = "hashicorp_key_management_vault_url";
/// File with the authorities that the plug-in trusts.
pub const MARIADB_VAULT_CA: &str = "hashicorp_key_management_vault_ca";

/// Whether a plug-in or component keeps its keys on the server's host: in a file, or in its own code. The names of
/// MySQL's plug-ins and components have the same endings: `keyring_file` and `component_keyring_file`.
#[must_use]
pub fn keeps_keys_on_host(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("keyring_file")
        || is_password_protected(&name)
        || name == MARIADB_PLUGIN
        || MARIADB_TEST_PLUGINS.contains(&name.as_str())
}

/// Whether a plug-in or component is the password-protected keyring file of MySQL Enterprise.
#[must_use]
pub fn is_password_protected(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("keyring_encrypted_file")
}

/// Options that make MySQL load its plug-in for a keyring file.
#[must_use]
pub fn keyring_plugin_options(keyring: &Path) -> Vec<String> {
    vec![
        format!("--early-plugin-load={KEYRING_PLUGIN_LIBRARY}"),
        format!("--{}={}", with_hyphens(KEYRING_PLUGIN_FILE), keyring.display()),
    ]
}

/// Options that make MariaDB load its plug-in for a key file, and read its password from a file.
#[must_use]
pub fn mariadb_plugin_options(keys: &Path, password_file: Option<&Path>) -> Vec<String> {
    let mut options = vec![
        format!("--plugin-load-add={MARIADB_PLUGIN}"),
        format!("--{}={}", with_hyphens(MARIADB_KEYS), keys.display()),
    ];
    let password = |path: &Path| format!("--{}={PASSWORD_FILE}{}", with_hyphens(MARIADB_PASSWORD), path.display());
    options.extend(password_file.map(password));
    options
}

/// The option by which MariaDB's plug-in for a key file lets pages be encrypted in CTR mode instead of CBC mode.
#[must_use]
pub fn mariadb_counter_mode() -> String {
    format!("--{}=AES_CTR", with_hyphens(MARIADB_CIPHER))
}

/// Content of a file that a variable names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFile {
    /// Keys of MariaDB.
    MariaDbKeys,
    /// The password of MariaDB's key file.
    MariaDbPassword,
    /// Keys of MySQL.
    Keyring,
    /// The location of keys and the credentials for it.
    Configuration,
}

impl KeyFile {
    /// Whether the file holds keys.
    #[must_use]
    pub const fn has_keys(self) -> bool {
        matches!(self, Self::MariaDbKeys | Self::Keyring)
    }
}

/// Every plug-in variable that names a file, and what the file holds.
pub const KEY_FILE_VARIABLES: [(&str, KeyFile); 5] = [
    (MARIADB_KEYS, KeyFile::MariaDbKeys),
    (MARIADB_PASSWORD, KeyFile::MariaDbPassword),
    (KEYRING_PLUGIN_FILE, KeyFile::Keyring),
    ("keyring_encrypted_file_data", KeyFile::Keyring),
    (VAULT_CONFIGURATION, KeyFile::Configuration),
];

/// The file that a variable of [`KEY_FILE_VARIABLES`] names; `None` if it is empty, `<NONE>` or a password. A relative
/// path is relative to the data directory, the server's working directory.
#[must_use]
pub fn named_file<'v>(variable: &str, value: &'v str) -> Option<&'v str> {
    let path = if variable == MARIADB_PASSWORD { value.strip_prefix(PASSWORD_FILE)? } else { value };
    is_path(path).then_some(path)
}

/// Whether the text is a path: a component without a file reports `<NONE>` or similar instead.
fn is_path(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('<')
}

/// Status of a keyring component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component<'a> {
    /// `component_keyring_file` and others.
    pub name: &'a str,
    /// `Active` or `Disabled`.
    pub status: &'a str,
    /// Path of its keys, if it has a file and can read it alone.
    pub data_file: Option<&'a str>,
    /// Path of its configuration.
    pub config_file: Option<&'a str>,
    /// Whether it accepts no new keys.
    pub read_only: bool,
}

impl<'a> Component<'a> {
    /// The component in the rows `key`, `value` of [`COMPONENT_QUERY`]; `None` if none is loaded.
    #[must_use]
    pub fn from_pairs(pairs: &[(&str, &'a str)]) -> Option<Self> {
        let value =
            |wanted: &str| pairs.iter().find(|(key, _)| key.eq_ignore_ascii_case(wanted)).map(|(_, value)| *value);
        let name = value("Component_name")?;
        // Its file holds keys that only the service can decrypt.
        let is_wrapped = name.eq_ignore_ascii_case(KMS_COMPONENT);
        Some(Self {
            name,
            status: value("Component_status").unwrap_or_default(),
            data_file: value("Data_file").filter(|path| is_path(path) && !is_wrapped),
            config_file: value("Config_file").filter(|path| is_path(path)),
            read_only: value("Read_only").is_some_and(switch::is_on),
        })
    }

    /// Whether it provides keys. A component that failed to initialize is loaded, but disabled.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.status.eq_ignore_ascii_case("Active")
    }
}

/// Type of the plug-ins that hold keys. Some plug-ins named after a keyring have no keys: `keyring_udf` and
/// `daemon_keyring_proxy_plugin` are of type `DAEMON`.
#[must_use]
pub fn plugin_type(flavor: Flavor) -> &'static str {
    if flavor.is_mysql_like() { "KEYRING" } else { "ENCRYPTION" }
}

/// The active component or plug-in, and its files as paths on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveKeyStore {
    /// `component_keyring_file`, `keyring_file`, `file_key_management` and others.
    pub name: String,
    /// The file with its keys, if it has one.
    pub file: Option<PathBuf>,
    /// The file with the password of MariaDB's key file. Otherwise only the server knows the password.
    pub password: Option<PathBuf>,
    /// Whether it accepts no new keys.
    pub read_only: bool,
}

impl ActiveKeyStore {
    /// Queries a server; `None` if no component or plug-in with keys is active. `datadir` is the data directory's path
    /// on this host.
    ///
    /// # Errors
    /// Those of [`Connection::query`]. If the status of components is refused, only plug-ins count.
    pub fn query(connection: &mut Connection, version: &ServerVersion, datadir: &Path) -> Result<Option<Self>, Error> {
        let status = query(version, COMPONENT_QUERY).and_then(|query| query.run(connection).ok()).unwrap_or_default();
        if let Some(active) = Self::from_component(&status, datadir) {
            return Ok(Some(active));
        }
        let Some(plugins) = query(version, PLUGIN_QUERY) else { return Ok(None) };
        let plugins = plugins.run(connection)?;
        let Some(name) = active_plugin(&plugins, version.flavor) else { return Ok(None) };
        let variables = statement::show_variables(&KEY_FILE_VARIABLES.map(|(name, _)| name));
        Ok(Some(Self::from_plugin(name, &connection.query(&variables)?, datadir)))
    }

    fn from_component(status: &Rows, datadir: &Path) -> Option<Self> {
        let component = Component::from_pairs(&pairs(status)).filter(Component::is_active)?;
        let file = component.data_file.map(|path| datadir.join(path));
        Some(Self { name: component.name.to_owned(), file, password: None, read_only: component.read_only })
    }

    fn from_plugin(name: &str, variables: &Rows, datadir: &Path) -> Self {
        let variables = pairs(variables);
        let file = |wanted: fn(KeyFile) -> bool| {
            KEY_FILE_VARIABLES.iter().filter(|(_, holds)| wanted(*holds)).find_map(|(name, _)| {
                let (_, value) = variables.iter().find(|(variable, _)| variable == name)?;
                named_file(name, value).map(|path| datadir.join(path))
            })
        };
        let password = file(|holds| holds == KeyFile::MariaDbPassword);
        Self { name: name.to_owned(), file: file(KeyFile::has_keys), password, read_only: false }
    }
}

fn active_plugin(plugins: &Rows, flavor: Flavor) -> Option<&str> {
    let is = |row, column, wanted: &str| {
        plugins.value(row, column).is_some_and(|value: &str| value.eq_ignore_ascii_case(wanted))
    };
    let active = |row: &usize| is(*row, "status", "ACTIVE") && is(*row, "type", plugin_type(flavor));
    (0..plugins.rows.len()).find(active).and_then(|row| plugins.value(row, "name"))
}

/// The rows with two values.
fn pairs(rows: &Rows) -> Vec<(&str, &str)> {
    let mut pairs = Vec::new();
    for row in &rows.rows {
        if let [Some(key), Some(value)] = row.as_slice() {
            pairs.push((key.as_str(), value.as_str()));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_stores_of_the_host_are_known_by_name() {
        let local = [
            "keyring_file",
            "component_keyring_file",
            "keyring_encrypted_file",
            "component_keyring_encrypted_file",
            "file_key_management",
            "example_key_management",
        ];
        assert!(local.into_iter().all(keeps_keys_on_host));
        let remote = [
            "component_keyring_vault",
            "keyring_vault",
            "hashicorp_key_management",
            "component_keyring_kmip",
            "component_keyring_kms",
            "aws_key_management",
        ];
        assert!(!remote.into_iter().any(keeps_keys_on_host));
        assert!(is_password_protected("component_keyring_encrypted_file") && !is_password_protected("keyring_file"));
        assert!([MARIADB_VAULT_URL, MARIADB_VAULT_CA].iter().all(|name| name.starts_with(MARIADB_VAULT_PREFIX)));
    }

    fn rows(columns: &[&str], rows: &[&[&str]]) -> Rows {
        let row = |row: &&[&str]| row.iter().map(|text| Some((*text).to_owned())).collect();
        Rows { columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows: rows.iter().map(row).collect() }
    }

    fn component(values: &[&[&str]]) -> Option<ActiveKeyStore> {
        ActiveKeyStore::from_component(&rows(&["key", "value"], values), Path::new("/data"))
    }

    #[test]
    fn a_component_that_is_not_active_holds_no_keys() {
        let named = ["Component_name", "component_keyring_file"];
        assert_eq!(component(&[&named, &["Component_status", "Disabled"]]), None);
        let active = component(&[&named, &["Component_status", "Active"], &["Data_file", "/k"], &["Read_only", "Yes"]]);
        let active = active.unwrap();
        assert_eq!((active.file.as_deref(), active.read_only), (Some(Path::new("/k")), true));
        let external = component(&[&named, &["Component_status", "Active"], &["Data_file", "<NONE>"]]).unwrap();
        assert_eq!((external.file, external.read_only), (None, false));
        let wrapped = ["Component_name", "component_keyring_kms"];
        let wrapped = component(&[&wrapped, &["Component_status", "Active"], &["Data_file", "/k"]]).unwrap();
        assert_eq!((wrapped.name.as_str(), wrapped.file), ("component_keyring_kms", None));
    }

    #[test]
    fn plugins_count_by_their_type() {
        let plugins = rows(
            &["name", "status", "type", "library"],
            &[
                &["keyring_udf", "ACTIVE", "DAEMON", "keyring_udf.so"],
                &["keyring_okv", "DISABLED", "KEYRING", "keyring_okv.so"],
                &["keyring_file", "ACTIVE", "KEYRING", "keyring_file.so"],
                &["file_key_management", "ACTIVE", "ENCRYPTION", "file_key_management.so"],
            ],
        );
        assert_eq!(active_plugin(&plugins, Flavor::Percona), Some("keyring_file"));
        assert_eq!(active_plugin(&plugins, Flavor::MariaDb), Some("file_key_management"));
    }

    #[test]
    fn relative_files_are_in_the_data_directory() {
        let of = |variables: &[&[&str]]| {
            let variables = rows(&["Variable_name", "Value"], variables);
            ActiveKeyStore::from_plugin("p", &variables, Path::new("/data"))
        };
        let mariadb = of(&[&[MARIADB_KEYS, "keys/k.enc"], &[MARIADB_PASSWORD, "FILE:keys/password"]]);
        assert_eq!(mariadb.file.as_deref(), Some(Path::new("/data/keys/k.enc")));
        assert_eq!(mariadb.password.as_deref(), Some(Path::new("/data/keys/password")));
        let inline = of(&[&[MARIADB_KEYS, "/etc/k"], &[MARIADB_PASSWORD, "geheim"]]);
        assert_eq!((inline.file.as_deref(), inline.password), (Some(Path::new("/etc/k")), None));
        let mysql = of(&[&[KEYRING_PLUGIN_FILE, "keyring"], &[VAULT_CONFIGURATION, "/etc/vault"]]);
        assert_eq!(mysql.file.as_deref(), Some(Path::new("/data/keyring")));
        assert_eq!(of(&[&[KEYRING_PLUGIN_FILE, ""]]).file, None);
    }
}
