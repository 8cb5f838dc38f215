//! `host-config-secret`.

use findings::Severity;
use server::secret_name::is_account_password;

use super::{observed, servers_host};
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::host::{HostFacts, OptionEntry, SecretLocation};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "host-config-secret",
    title: "Passwords are readable in option files, environments, command lines or histories",
    severity: Severity::High,
    explanation: "A password in an option file, in MYSQL_PWD, on a command line or in a client's history can be read \
        by whoever has access to the file or the process list, and backups keep it. .mylogin.cnf is obfuscated with a \
        key that is stored in it. Judged from the option files and home directories on this host and from /proc. The \
        password itself is never stored.",
    applies: "every server",
    fix: "an account that needs no password (socket, X.509), or mysql_config_editor and mode 0600",
    cost: "none; scripts that rely on it must change",
    standards: &[
        "CIS MySQL 1.3",
        "CIS MySQL 1.4",
        "CIS MySQL 1.5",
        "CIS MySQL 1.6",
        "CIS MySQL 7.3",
        "PCI DSS 4.0.1 8.3.2",
    ],
    exposes: Exposes::Help(Attacker::StolenDisk, "Passwords, in option files, environments or command lines"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let host = servers_host(cx.facts)?;
    let mut results = CheckResults::new();
    let mut named = Vec::new();
    for entry in host.options.iter().filter(|entry| is_password(entry)) {
        results.push(in_option_file(host, entry));
        named.push(entry.file.as_str());
    }
    let locations = host
        .secrets
        .iter()
        .filter(|secret| !(secret.kind.contains("option file") && named.contains(&secret.location.as_str())));
    locations.for_each(|secret| results.push(in_location(secret)));
    host.unreadable_options.iter().for_each(|(file, why)| results.push_unknown(file, unseen(file, why)));
    if let Some(first) = host.secrets_unseen.first() {
        let why = format!("{} places could not be read, {first} among them", host.secrets_unseen.len());
        results.push_unknown(
            "server",
            Unavailable { what: "environments and homes".to_owned(), why, remedy: access::AS_SERVER_USER.to_owned() },
        );
    }
    let files: std::collections::BTreeSet<&str> = host.options.iter().map(|entry| entry.file.as_str()).collect();
    let text = format!("no password in {} option files, environments, command lines and histories", files.len());
    let evidence = files.iter().map(|file| observed(*file, "no password"));
    results
        .pass_if_clean(evidence.fold(CheckResult::pass("server", EvidenceGrade::Bytes, text), CheckResult::evidence));
    Ok(results)
}

/// Passwords of accounts. The key of a key file is checked by key-filekey-colocated.
fn is_password(entry: &OptionEntry) -> bool {
    entry.secret && is_account_password(&entry.key)
}

fn in_option_file(host: &HostFacts, entry: &OptionEntry) -> CheckResult {
    let mode = host.modes.iter().find(|mode| mode.path == entry.file).and_then(|mode| mode.mode);
    let known = host.secrets.iter().find(|secret| secret.location == entry.file).and_then(|secret| secret.mode);
    let mode = mode.or(known);
    let text =
        format!("{} line {} holds a password in clear ([{}] {})", entry.file, entry.line, entry.group, entry.key);
    let result = CheckResult::fail(&entry.file, EvidenceGrade::Bytes, text).severity(severity(mode)).evidence(
        Evidence::Option {
            file: entry.file.clone(),
            line: entry.line,
            setting: format!("{} (value left out)", entry.key),
        },
    );
    let result = match mode {
        Some(mode) => result.evidence(observed(&entry.file, format!("mode {:04o}", mode & 0o7777))),
        None => result,
    };
    result.fix(format!(
        "remove the line from {0} and chmod 0600 '{0}'; see mysql_config_editor, or use socket or X.509 authentication",
        entry.file
    ))
}

/// Only its owner can read a file of mode 0600, but it is still in clear text.
const fn severity(mode: Option<u32>) -> Severity {
    match mode {
        Some(mode) if mode & 0o077 == 0 => Severity::Medium,
        _ => Severity::High,
    }
}

fn in_location(secret: &SecretLocation) -> CheckResult {
    let obfuscated = secret.kind.contains("obfuscated");
    let private = secret.mode.is_some_and(|mode| mode & 0o077 == 0);
    let severity = match (obfuscated, private) {
        (true, true) => Severity::Info,
        (false, true) => Severity::Medium,
        _ => Severity::High,
    };
    let mode = secret.mode.map_or(String::new(), |mode| format!(", mode {:04o}", mode & 0o7777));
    let result = if obfuscated && private {
        // A file that follows the remedy cannot fail.
        CheckResult::pass(&secret.location, EvidenceGrade::Bytes, format!("{}: {}{mode}", secret.location, secret.kind))
    } else {
        CheckResult::fail(&secret.location, EvidenceGrade::Bytes, format!("{}: {}{mode}", secret.location, secret.kind))
    };
    result.severity(severity).evidence(observed(&secret.location, format!("{}{mode}", secret.kind)))
}

fn unseen(file: &str, why: &str) -> Unavailable {
    Unavailable { what: file.to_owned(), why: why.to_owned(), remedy: access::reading(file) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn entry(key: &str, secret: bool) -> OptionEntry {
        OptionEntry {
            file: "/root/.my.cnf".to_owned(),
            line: 3,
            group: "client".to_owned(),
            key: key.to_owned(),
            value: None,
            secret,
            read_by_server: false,
        }
    }

    fn secret(kind: &str, mode: Option<u32>) -> FactsBuilder {
        mysql().host(|host| {
            host.secrets.push(SecretLocation { location: "/root/x".to_owned(), kind: kind.to_owned(), mode })
        })
    }

    #[test]
    fn a_password_in_an_option_file_fails_with_its_line() {
        let made = mysql().host(|host| host.options.push(entry("password", true)));
        let found = made.judge(&CHECK);
        assert_eq!(
            (found[0].status, found[0].severity, found[0].artefact.as_str()),
            (Fail, Severity::High, "/root/.my.cnf")
        );
        assert!(found[0].message.contains("line 3"));
        assert_eq!(
            mysql().host(|host| host.options.push(entry("file_key_management_filekey", true))).statuses(&CHECK),
            [Pass]
        );
    }

    #[test]
    fn other_locations_fail_by_mode_and_kind() {
        assert_eq!(secret("MYSQL_PWD in environment", None).judge(&CHECK)[0].severity, Severity::High);
        assert_eq!(secret("client history", Some(0o600)).judge(&CHECK)[0].severity, Severity::Medium);
        assert_eq!(secret("login path (obfuscated only)", Some(0o644)).statuses(&CHECK), [Fail]);
        assert!(secret("login path (obfuscated only)", Some(0o600)).statuses(&CHECK).iter().all(|s| *s == Pass));
    }

    #[test]
    fn what_was_not_read_is_unknown() {
        let made = mysql().host(|host| host.unreadable_options.push(("/etc/x.cnf".to_owned(), "denied".to_owned())));
        assert_eq!(made.statuses(&CHECK), [Unknown]);
        assert_eq!(
            mysql().host(|host| host.secrets_unseen.push("/proc/7/environ".to_owned())).statuses(&CHECK),
            [Unknown]
        );
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
