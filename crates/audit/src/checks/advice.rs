//! Remedies for the fork and version that is judged.

use std::path::Path;

use findings::Remedy;
use process::shell_word;
use server::dialect::setting::{Setting, setting};
use server::dialect::variable;
use server::{option_group, quote};

use crate::check::Context;
use crate::facts::sql::SqlFacts;

/// Sets a dynamic variable now and for the next start.
pub(super) fn set_variable(sql: &SqlFacts, name: &str, value: &str) -> Remedy {
    let Setting { statement, line } = setting(&sql.identity.version, name, &literal(value));
    match line {
        Some(line) => Remedy::statement(statement).to_keep(Remedy::option_file(group(sql), [line])),
        None => Remedy::statement(statement),
    }
}

/// A value in the syntax of `SET`: words other than those of switches are quoted, because an unquoted `FORCE` is a
/// syntax error (seen on MariaDB 10.11); numbers must not be quoted.
fn literal(value: &str) -> String {
    let bare = ["ON", "OFF", "NULL", "DEFAULT"].iter().any(|word| value.eq_ignore_ascii_case(word));
    let number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    if bare || number || value.starts_with('\'') {
        return value.to_owned();
    }
    quote::text(value)
}

/// Sets a variable that can only be set at server start.
pub(super) fn set_at_start(sql: &SqlFacts, name: &str, value: &str) -> Remedy {
    option(sql, name, value).then_restart()
}

/// One line for the option file.
pub(super) fn option(sql: &SqlFacts, name: &str, value: &str) -> Remedy {
    Remedy::option_file(group(sql), [format!("{name} = {value}")])
}

/// Owner of the server's files, in the syntax of `chown`.
pub(super) fn server_user(cx: &Context<'_>) -> String {
    let process = cx.facts.host.as_ref().and_then(|host| host.process.as_ref());
    process.map_or_else(|| "mysql".to_owned(), |process| process.uid.to_string())
}

/// A path next to the data directory, quoted for a shell.
pub(super) fn beside_datadir(sql: &SqlFacts, name: &str) -> String {
    let datadir = Path::new(sql.identity.datadir.trim_end_matches('/'));
    shell_word(&datadir.with_file_name(name).to_string_lossy())
}

/// The option group for a setting of this server.
pub(super) fn group(sql: &SqlFacts) -> &'static str {
    option_group::of_flavor(sql.flavor())
}

/// Path of the server's own CA file; a relative path is below the data directory.
pub(super) fn path_of_ca(sql: &SqlFacts) -> String {
    let file = sql.variable_or_none(variable::SSL_CA).filter(|file| !file.is_empty()).unwrap_or("/etc/mysql/ca.pem");
    Path::new(&sql.identity.datadir).join(file).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn sql(made: &FactsBuilder) -> &SqlFacts {
        made.0.sql.as_ref().unwrap()
    }

    #[test]
    fn only_mysql_8_persists() {
        assert_eq!(set_variable(sql(&mysql()), "local_infile", "OFF").to_string(), "SET PERSIST local_infile = OFF");
        let old = FactsBuilder::server("5.7.44", "MySQL Community Server (GPL)");
        assert!(
            set_variable(sql(&old), "local_infile", "OFF").to_string().starts_with("SET GLOBAL local_infile = OFF;")
        );
        assert!(set_variable(sql(&mariadb()), "local_infile", "OFF").to_string().contains("[mariadb]"));
    }

    #[test]
    fn text_is_quoted_and_numbers_are_not() {
        assert!(set_variable(sql(&mariadb()), "innodb_encrypt_tables", "FORCE").to_string().starts_with(
            "SET GLOBAL innodb_encrypt_tables = 'FORCE'; and, to keep it, innodb_encrypt_tables = FORCE under"
        ));
        assert!(set_variable(sql(&mariadb()), "innodb_encryption_threads", "4").to_string().contains("threads = 4;"));
        let mode = set_variable(sql(&mysql()), "block_encryption_mode", "'aes-256-cbc'");
        assert_eq!(mode.to_string(), "SET PERSIST block_encryption_mode = 'aes-256-cbc'");
    }
}
