//! `key-filekey-colocated`.

use std::path::Path;

use findings::Severity;
use server::dialect::key_store::{MARIADB_KEYS, MARIADB_PASSWORD, named_file};

use super::key_path;
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::setting::{SERVER_GROUPS, nullable, on_command_line, option};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::host::{HostFacts, PathOnDisk};
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "key-filekey-colocated",
    title: "The password of the key file lies beside it or in an option file",
    severity: Severity::High,
    explanation: "An encrypted key file is as safe as its password. If the password is in an option file, every \
        account can also read it with SHOW VARIABLES. If it is in a file on the same device as the key file, a thief \
        of the disk has both. Judged from file_key_management_filekey, whose value is never stored, and the devices \
        below both files.",
    applies: "MariaDB with file_key_management and a password for its file",
    fix: "file_key_management_filekey = FILE:PATH on another device, or a secret store that provides it at start",
    cost: "one restart",
    standards: &["PCI DSS 4.0.1 3.6.1.2"],
    exposes: Exposes::Help(Attacker::StolenDisk, "The password of the key file, on the same host"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

const VARIABLE: &str = MARIADB_PASSWORD;

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if !sql.is_mariadb() {
        return Ok(CheckResults::not_applicable("MySQL has no file_key_management"));
    }
    if sql.variable_or_none(MARIADB_KEYS).is_none_or(str::is_empty) {
        sql.rows("variables")?;
        return Ok(CheckResults::not_applicable("file_key_management is not loaded"));
    }
    if let Some(result) = cx.facts.host.as_ref().and_then(inline) {
        return Ok(CheckResults::one(result));
    }
    match nullable(sql, VARIABLE)? {
        None | Some("") => Ok(CheckResults::not_applicable("the key file has no password; see key-file-clear")),
        Some(value) => match named_file(VARIABLE, value) {
            Some(path) => beside(cx, sql, path).map(CheckResults::one),
            None => Ok(CheckResults::one(
                CheckResult::fail(
                    VARIABLE,
                    EvidenceGrade::Declared,
                    "the password is in the variable itself, where every account can read it",
                )
                .evidence(sql.evidence("variables", format!("{VARIABLE} is set and does not begin with FILE:"))),
            )),
        },
    }
}

/// The password itself, in an option file or on the command line.
fn inline(host: &HostFacts) -> Option<CheckResult> {
    let is_file = |value: &str| named_file(VARIABLE, value).is_some();
    if let Some(set) = option(host, SERVER_GROUPS, VARIABLE).filter(|set| !is_file(set.value())) {
        let message = format!("the password of the key file is in {}", set.entry.file);
        let seen = Evidence::Option {
            file: set.entry.file.clone(),
            line: set.entry.line,
            setting: format!("{VARIABLE} = (secret)"),
        };
        return Some(CheckResult::fail(&set.entry.file, EvidenceGrade::Declared, message).evidence(seen));
    }
    let process = host.process.as_ref()?;
    on_command_line(process, VARIABLE).filter(|argument| !is_file(argument.value()))?;
    let seen = Evidence::Host {
        source: format!("/proc/{}/cmdline", process.pid),
        observation: format!("--{VARIABLE}=(secret)"),
    };
    Some(
        CheckResult::fail(
            "command line",
            EvidenceGrade::Declared,
            "the password of the key file is on the command line",
        )
        .evidence(seen),
    )
}

fn beside(cx: &Context<'_>, sql: &SqlFacts, password_path: &str) -> Observed<CheckResult> {
    let (key, _) = key_path(sql).ok_or_else(|| Unavailable {
        what: "path of the key file".to_owned(),
        why: "file_key_management_filename is empty".to_owned(),
        remedy: "none: the plug-in does not start without it".to_owned(),
    })?;
    let evidence = sql.evidence("variables", format!("key file {key}, its password in FILE:{password_path}"));
    if Path::new(&key).parent() == Path::new(password_path).parent() {
        let message = format!("{password_path} lies beside {key}");
        return Ok(CheckResult::fail(password_path, EvidenceGrade::Declared, message).evidence(evidence));
    }
    let host = cx.facts.host()?;
    let location = |path: &str| host.paths.iter().find(|location| location.path == path);
    match (location(&key), location(password_path)) {
        (Some(a), Some(b)) if together(a, b) => {
            let message = format!("{password_path} lies on the same disk as {key} ({})", a.device);
            Ok(CheckResult::fail(password_path, EvidenceGrade::Bytes, message).evidence(evidence))
        }
        (Some(_), Some(_)) => {
            let message = format!("{password_path} lies on another disk than {key}");
            Ok(CheckResult::pass(password_path, EvidenceGrade::Bytes, message).evidence(evidence))
        }
        _ => Err(Unavailable {
            what: format!("device of {password_path}"),
            why: "its device could not be determined".to_owned(),
            remedy: access::AS_SERVER_USER.to_owned(),
        }),
    }
}

fn together(a: &PathOnDisk, b: &PathOnDisk) -> bool {
    a.device == b.device || a.chain.iter().any(|device| b.chain.contains(device))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::host::OptionEntry;
    use crate::finding::Status::{Fail, NotApplicable, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn with(filekey: &str) -> FactsBuilder {
        mariadb().variable("file_key_management_filename", "/etc/mysql/keys.enc").variable(VARIABLE, filekey)
    }

    #[test]
    fn beside_or_inline_fails_and_the_value_is_never_shown() {
        assert_eq!(with("FILE:/etc/mysql/password").statuses(&CHECK), [Fail]);
        let found = with("swordfish").judge(&CHECK);
        assert_eq!(found[0].status, Fail);
        assert!(!format!("{found:?}").contains("swordfish"));
    }

    #[test]
    fn an_option_file_with_the_password_fails() {
        let entry = OptionEntry {
            file: "/etc/mysql/my.cnf".to_owned(),
            line: 9,
            group: "mariadb".to_owned(),
            key: VARIABLE.to_owned(),
            value: None,
            secret: true,
            read_by_server: true,
        };
        let found = with("FILE:/root/password").host(|host| host.options.push(entry)).judge(&CHECK);
        assert_eq!(found[0].artefact, "/etc/mysql/my.cnf");
    }

    #[test]
    fn a_remote_directory_is_unknown() {
        assert_eq!(with("FILE:/root/password").statuses(&CHECK), [Unknown]);
        assert_eq!(with("").statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [NotApplicable]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
    }
}
