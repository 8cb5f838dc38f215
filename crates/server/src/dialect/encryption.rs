//! What a version of MySQL or Percona Server can encrypt, and how it persists settings.
//!
//! Source: MySQL manual, "InnoDB Data-at-Rest Encryption" of 5.7 and 8.0; seen on 5.7.22: 5.7 encrypts nothing else.
//! Percona's own options (system and temporary tablespace, binary logs of 5.7) are not included.

use crate::version::{Flavor, ServerVersion};

/// Something that can be encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encrypts {
    /// Tables with their own file; master keys can be rotated.
    Tables,
    /// Auxiliary tables of full-text indexes.
    FullText,
    /// Defaults for new tables of a schema and of the server.
    Defaults,
    /// General tablespaces.
    General,
    /// `mysql.ibd`.
    Dictionary,
    /// Undo tablespaces.
    Undo,
    /// The redo log.
    Redo,
    /// Binary and relay logs.
    BinaryLogs,
    /// Copies of encrypted pages in doublewrite files. Earlier versions wrote pages there, and in the system tablespace
    /// of 5.7, before encrypting them.
    Doublewrite,
}

/// The first version that supports each.
const SINCE: [(Encrypts, (u16, u16, u16)); 9] = [
    (Encrypts::Tables, (5, 7, 11)),
    (Encrypts::FullText, (8, 0, 0)),
    (Encrypts::Undo, (8, 0, 1)),
    (Encrypts::Redo, (8, 0, 1)),
    (Encrypts::General, (8, 0, 13)),
    (Encrypts::BinaryLogs, (8, 0, 14)),
    (Encrypts::Dictionary, (8, 0, 16)),
    (Encrypts::Defaults, (8, 0, 16)),
    (Encrypts::Doublewrite, (8, 0, 23)),
];

/// Whether this server of the MySQL family can encrypt `what`. Not for MariaDB.
#[must_use]
pub fn encrypts(version: &ServerVersion, what: Encrypts) -> bool {
    SINCE.iter().any(|(known, (major, minor, patch))| *known == what && version.at_least(*major, *minor, *patch))
}

/// How to set a global variable persistently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The statement.
    pub statement: String,
    /// The line for the option file, if the statement's effect ends at the next start.
    pub line: Option<String>,
}

/// Sets a dynamic variable; `value` is in the syntax of `SET`. `SET PERSIST` exists since MySQL 8.0.0; MySQL 5.x and
/// MariaDB lose `SET GLOBAL` at a restart.
#[must_use]
pub fn setting(version: &ServerVersion, variable: &str, value: &str) -> Setting {
    let persists = version.flavor.is_mysql_like() && version.at_least(8, 0, 0);
    if persists && !never_persists(version, variable) {
        return Setting { statement: format!("SET PERSIST {variable} = {value}"), line: None };
    }
    let plain = value.trim_matches('\'');
    Setting { statement: format!("SET GLOBAL {variable} = {value}"), line: Some(format!("{variable} = {plain}")) }
}

/// Percona's variable of this name cannot be persisted: error 1238, seen on 8.0.27-18.
fn never_persists(version: &ServerVersion, variable: &str) -> bool {
    version.flavor == Flavor::Percona && !version.at_least(8, 4, 0) && variable == "innodb_redo_log_encrypt"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::VersionHints;

    fn version(text: &str, comment: &str) -> ServerVersion {
        ServerVersion::parse(text, VersionHints { comment, ..VersionHints::default() }).unwrap()
    }

    #[test]
    fn a_5_7_encrypts_tables_alone() {
        let server = version("5.7.22-log", "");
        let all = SINCE.iter().map(|(what, _)| *what).filter(|what| encrypts(&server, *what));
        assert_eq!(all.collect::<Vec<_>>(), [Encrypts::Tables]);
        assert!(!encrypts(&version("5.7.10", ""), Encrypts::Tables));
        let server = version("8.0.33", "");
        assert!(SINCE.iter().all(|(what, _)| encrypts(&server, *what)));
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
