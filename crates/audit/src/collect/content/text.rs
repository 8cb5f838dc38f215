//! Text files of a server: logs, states, persisted variables.

use innodb::{file_suffix, server_file};
use server::program::SAFE_SCRIPTS;

use super::Candidate;
use crate::facts::files::Content;
use crate::facts::host::Role;

/// Maximum size of small text files of a server.
const SMALL_BYTES: u64 = 4 << 20;

/// `mysqld-auto.cnf`, JSON. Sensitive variables are in separate objects with clear values, or together in one encrypted
/// text.
///
/// Source: MySQL manual, "Persisted System Variables"; `persisted_variable.cc`.
pub(super) fn persisted_variables(file: &Candidate<'_>) -> Option<Content> {
    if !file.name.starts_with(keyring::PERSISTED_VARIABLES) {
        return None;
    }
    let bytes = file.whole(SMALL_BYTES)?;
    let tree: serde_json::Value = match serde_json::from_slice(&bytes) {
        Ok(tree) => tree,
        Err(error) => return Some(Content::Unreadable { why: format!("not JSON: line {}", error.line()) }),
    };
    let (mut names, mut sensitive) = (Vec::new(), Vec::new());
    collect_variables(&tree, false, 0, &mut names, &mut sensitive);
    for list in [&mut names, &mut sensitive] {
        list.sort();
        list.dedup();
    }
    Some(Content::PersistedVariables { sensitive, names })
}

/// Every object with a field `Value` is a variable; its parents show whether it is sensitive.
fn collect_variables(
    tree: &serde_json::Value,
    secret: bool,
    depth: u32,
    names: &mut Vec<String>,
    sensitive: &mut Vec<String>,
) {
    let Some(object) = tree.as_object().filter(|_| depth < 8) else { return };
    for (name, value) in object {
        if value.get("Value").is_some() {
            names.push(name.clone());
            if secret {
                sensitive.push(name.clone());
            }
        } else {
            let secret = secret || name.contains("sensitive");
            collect_variables(value, secret, depth.saturating_add(1), names, sensitive);
        }
    }
}

/// `master.info`: the first line is the number of lines, the sixth the password; `relay-log.info` has none.
///
/// Source: MySQL `rpl_mi.cc`, MariaDB `rpl_mi.cc`; seen on MariaDB 10.11.
pub(super) fn replica_state(file: &Candidate<'_>) -> Option<Content> {
    let connection = file.name.starts_with("master") && file.name.ends_with(".info");
    let progress = file.name.starts_with("relay-log") && file.name.ends_with(".info");
    if !connection && !progress {
        return None;
    }
    let bytes = file.whole(SMALL_BYTES)?;
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let counted = lines.first().is_some_and(|line| !line.is_empty() && line.iter().all(u8::is_ascii_digit));
    let password = lines.get(5).is_some_and(|line| !line.trim_ascii().is_empty());
    (counted || progress).then_some(Content::ReplicaState { password: connection && counted && password })
}

/// Names of files that describe structure and have no rows.
const STRUCTURE: &[&str] = &[
    server::auto_cnf::NAME,
    server_file::BUFFER_POOL_DUMP,
    "mysql_upgrade_info",
    "mysql_upgrade_history",
    "mariadb_upgrade_info",
    server_file::ARIA_CONTROL,
    "multi-master.info",
    server_file::TRANSACTION_COORDINATOR,
    server_file::DDL_RECOVERY[0],
    server_file::DDL_RECOVERY[1],
    server_file::GALERA_STATE[0],
    server_file::GALERA_STATE[1],
    server_file::DATABASE_OPTIONS,
    server_file::BACKUP_DETAILS[0],
    server_file::BACKUP_DETAILS[1],
    server_file::BACKUP_DETAILS[2],
    server_file::BACKUP_DETAILS[3],
    server_file::BACKUP_DETAILS[4],
    "metadata",
];

/// Suffixes of such names, after a dot.
const STRUCTURE_SUFFIXES: &[&str] = &[
    file_suffix::OPTIONS,
    file_suffix::PID,
    file_suffix::LINK,
    server_file::LOG_INDEX,
    file_suffix::SERIALIZED_DEFINITION,
];

/// Endings of such names.
const STRUCTURE_ENDINGS: &[&str] = &[
    ".link",
    ".TRG",
    ".TRN",
    ".lock",
    ".flag",
    ".state",
    ".info",
    ".rules",
    "_recovery_progress",
    "_trunc.log",
    "buffer_pool.incomplete",
];

pub(super) fn structure(file: &Candidate<'_>) -> Option<Content> {
    let known = STRUCTURE.contains(&file.name)
        || server_file::BACKUP_MARKS.contains(&file.name)
        || STRUCTURE_SUFFIXES.iter().any(|suffix| file_suffix::has(file.name, suffix))
        || STRUCTURE_ENDINGS.iter().any(|ending| file.name.ends_with(ending));
    // A name alone could hide any content; such files are text or short.
    let plausible = file.text().is_some() || file.size_bytes <= 1 << 20;
    (known && plausible).then_some(Content::Structure)
}

/// A clear-text log: the variable that names it determines its kind, else its first lines.
pub(super) fn log(file: &Candidate<'_>) -> Option<Content> {
    let text = file.text()?;
    let log = file.log.or_else(|| kind_of_log(text)).or_else(|| (file.role == Role::Log).then_some("unknown"))?;
    Some(Content::TextLog { log: log.to_owned() })
}

/// The first lines that servers write; general and slow log begin alike, but only the slow log has lines with `#
/// Query_time`.
fn kind_of_log(text: &str) -> Option<&'static str> {
    let has = |wanted: &str| text.contains(wanted);
    if has("# Query_time:") || has("# User@Host:") {
        return Some("slow");
    }
    if has("Id Command\tArgument") || has("Id Command    Argument") {
        return Some("general");
    }
    if has("<AUDIT>")
        || has("<AUDIT_RECORD")
        || has("\"audit_record\"")
        || text.lines().next().is_some_and(is_audit_line)
    {
        return Some("audit");
    }
    const MARKS: [&str; 6] = ["[Note]", "[Warning]", "[ERROR]", "[System]", "[MY-0", "\"err_symbol\""];
    let logged = |line: &str| {
        let mut marks = MARKS.iter().chain(&SAFE_SCRIPTS);
        line.starts_with(|c: char| c.is_ascii_digit() || c == '{') && marks.any(|mark| line.contains(mark))
    };
    text.lines().take(20).any(logged).then_some("error")
}

/// MariaDB's `server_audit`: `20261120 12:00:00,host,user,…`.
fn is_audit_line(line: &str) -> bool {
    let mut fields = line.split(',');
    let time = fields.next().unwrap_or_default();
    time.len() == 17 && time.bytes().take(8).all(|b| b.is_ascii_digit()) && fields.count() >= 7
}

#[cfg(test)]
mod tests {
    use super::super::testing::recognised;
    use super::*;

    fn log_of(text: &str) -> String {
        match recognised("x.log", Role::Data, text.as_bytes()) {
            Content::TextLog { log } => log,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_password_in_master_info_is_seen_and_not_kept() {
        let state = |text: &str| match recognised("master.info", Role::Data, text.as_bytes()) {
            Content::ReplicaState { password } => password,
            other => panic!("{other:?}"),
        };
        assert!(state("33\nbinlog.000001\n4\nhost\nrepl\nhunter2\n3306\n"));
        assert!(!state("33\nbinlog.000001\n4\nhost\nrepl\n\n3306\n"));
    }

    #[test]
    fn persisted_variables_are_named_without_values() {
        let json = r#"{"Version": 2, "mysql_dynamic_variables": {"general_log": {"Value": "ON", "Metadata": {}}},
            "mysql_sensitive_variables": {"bind_pwd": {"Value": "hunter2", "Metadata": {}}}}"#;
        let content = recognised("mysqld-auto.cnf", Role::Data, json.as_bytes());
        let Content::PersistedVariables { sensitive, names } = &content else { panic!("{content:?}") };
        assert_eq!((names.join(" "), sensitive.join(" ")), ("bind_pwd general_log".to_owned(), "bind_pwd".to_owned()));
        assert!(!format!("{content:?}").contains("hunter2"));
    }

    #[test]
    fn logs_are_recognised_by_their_lines() {
        assert_eq!(
            log_of("/usr/sbin/mysqld, Version: 9.7.4. started with:\nTime                 Id Command    Argument\n"),
            "general"
        );
        assert_eq!(log_of("# Time: 2026\n# User@Host: a[a] @ []  Id: 1\n# Query_time: 1\n"), "slow");
        assert_eq!(log_of("2026-11-20T12:00:00Z 0 [System] [MY-010116] [Server] starting\n"), "error");
        assert_eq!(log_of("20261120 12:00:00,db,root,localhost,8,0,CONNECT,,,0\n"), "audit");
    }

    #[test]
    fn a_log_that_a_variable_names_is_one() {
        assert!(matches!(recognised("strange", Role::Log, b"hello\n"), Content::TextLog { log } if log == "unknown"));
    }
}
