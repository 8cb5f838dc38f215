//! How settings are changed while a server runs.

use super::capability::Capability;
use super::variable;
use crate::version::{Flavor, ServerVersion};

/// How to set a global variable persistently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// SQL text of the statement.
    pub statement: String,
    /// The line for the option file, if the statement's effect ends at the next start.
    pub line: Option<String>,
}

/// Sets a dynamic variable; `value` is in the syntax of `SET`. Without `SET PERSIST`, the setting is lost at a restart.
#[must_use]
pub fn setting(version: &ServerVersion, variable: &str, value: &str) -> Setting {
    if version.can(Capability::PersistVariables) && !never_persists(version, variable) {
        return Setting { statement: format!("SET PERSIST {variable} = {value}"), line: None };
    }
    let plain = value.trim_matches('\'');
    Setting { statement: format!("SET GLOBAL {variable} = {value}"), line: Some(format!("{variable} = {plain}")) }
}

/// Whether a variable that encrypts something can be set only when the server starts. Source: MariaDB documentation,
/// "Encryption System Variables". Those of MySQL can be set while it runs.
#[must_use]
pub fn is_set_at_start(flavor: Flavor, name: &str) -> bool {
    const AT_START: [&str; 4] = [
        variable::MARIADB_REDO,
        variable::MARIADB_BINARY_LOGS,
        variable::TEMPORARY_FILES,
        variable::MARIADB_TEMPORARY_TABLESPACE,
    ];
    flavor == Flavor::MariaDb && AT_START.contains(&name)
}

/// [`reload_tls`] of MySQL as a literal, for use in `concat!`.
#[macro_export]
macro_rules! mysql_reload_tls {
    () => {
        "ALTER INSTANCE RELOAD TLS"
    };
}

/// [`reload_tls`] of MariaDB as a literal, for use in `concat!`.
#[macro_export]
macro_rules! mariadb_reload_tls {
    () => {
        "FLUSH NO_WRITE_TO_BINLOG SSL"
    };
}

/// Makes a server with [`Capability::ReloadTls`] reload its certificates. The statement is not written to the binary
/// log, because replicas have their own certificates.
#[must_use]
pub fn reload_tls(flavor: Flavor) -> &'static str {
    if flavor.is_mysql_like() { mysql_reload_tls!() } else { mariadb_reload_tls!() }
}

/// Whether `SET PERSIST` fails for a variable: before 8.4, Percona Server refuses it for [`variable::MYSQL_REDO`]
/// (error 1238, seen on 8.0.27-18).
fn never_persists(version: &ServerVersion, name: &str) -> bool {
    version.flavor == Flavor::Percona && !version.at_least(8, 4, 0) && name == variable::MYSQL_REDO
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::VersionHints;

    fn version(text: &str, comment: &str) -> ServerVersion {
        ServerVersion::parse(text, VersionHints { comment, ..VersionHints::default() }).unwrap()
    }

    #[test]
    fn what_is_not_persistent_gets_a_line() {
        let redo = |text, comment| setting(&version(text, comment), "innodb_redo_log_encrypt", "ON");
        assert_eq!(redo("8.0.27", "").statement, "SET PERSIST innodb_redo_log_encrypt = ON");
        let percona = redo("8.0.27-18", "Percona Server (GPL), Release 18");
        assert_eq!(percona.statement, "SET GLOBAL innodb_redo_log_encrypt = ON");
        assert_eq!(percona.line.as_deref(), Some("innodb_redo_log_encrypt = ON"));
        let old = setting(&version("5.7.22", ""), "innodb_change_buffering", "'none'");
        assert_eq!(old.statement, "SET GLOBAL innodb_change_buffering = 'none'");
        assert_eq!(old.line.as_deref(), Some("innodb_change_buffering = none"));
    }
}
