//! `tls-key-perms`.

use findings::{Remedy, Severity};
use process::shell_word;
use server::dialect::variable;

use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::files::{Content, FileFact};
use crate::facts::host::{FileMode, Role};
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "tls-key-perms",
    title: "A TLS private key can be read by others",
    severity: Severity::High,
    explanation: "Whoever can read the key can pose as the server and, if a suite lacks forward secrecy, decrypt \
        recorded connections. Judged from owner, mode and access control list of the files that ssl_key and the \
        related variables name, and of every private key in the data directory. The groups of the server and of root \
        may read.",
    applies: "every server with a key file",
    fix: "chown mysql, chmod 0600",
    cost: "none; a running server has the key loaded already",
    standards: &["CIS MySQL 3.x", "PCI DSS 4.0.1 3.6.1.3"],
    exposes: Exposes::Help(Attacker::StolenDisk, "The server's TLS private key, to every user of the host"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// A private key file, and what determines who can read it.
struct Key<'a> {
    name: &'a str,
    path: &'a str,
    mode: u32,
    uid: Option<u32>,
    gid: Option<u32>,
    acl: bool,
    passphrase: bool,
}

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let mut results = CheckResults::new();
    let mut sound = Vec::new();
    for mode in modes(cx.facts) {
        match key_of_mode(cx.facts, mode) {
            Some(key) => weigh(cx.facts, &key, &mut results, &mut sound),
            None => results.push_unknown(&mode.path, unread(mode)),
        }
    }
    for file in keys_in_data(cx.facts) {
        weigh(cx.facts, &key_of_file(file), &mut results, &mut sound);
    }
    if !sound.is_empty() {
        let pass = CheckResult::pass(
            "server",
            EvidenceGrade::Bytes,
            format!("{} private keys that only the server may read", sound.len()),
        );
        results.pass_if_clean(sound.into_iter().fold(pass, CheckResult::evidence));
    } else if results.is_empty() {
        return no_key(cx);
    }
    Ok(results)
}

fn modes(facts: &Facts) -> impl Iterator<Item = &FileMode> {
    facts.host.iter().flat_map(|host| &host.modes).filter(|mode| ["tls key", "ca key"].contains(&mode.what.as_str()))
}

/// Private keys below the data directory that no variable names.
fn keys_in_data(facts: &Facts) -> impl Iterator<Item = &FileFact> {
    let files = facts.files.iter().flat_map(|files| &files.files);
    let is_key = |file: &&FileFact| matches!(file.content, Content::PrivateKey { .. });
    files.filter(is_key).filter(|file| !modes(facts).any(|mode| mode.path == file.path))
}

fn key_of_mode<'a>(facts: &Facts, mode: &'a FileMode) -> Option<Key<'a>> {
    let passphrase = facts.files.as_ref().and_then(|files| files.at(&mode.path)).is_some_and(has_passphrase);
    Some(Key {
        name: &mode.path,
        path: &mode.path,
        mode: mode.mode?,
        uid: mode.uid,
        gid: mode.gid,
        acl: mode.acl,
        passphrase,
    })
}

fn key_of_file(file: &FileFact) -> Key<'_> {
    Key {
        name: &file.name,
        path: &file.path,
        mode: file.mode,
        uid: Some(file.uid),
        gid: Some(file.gid),
        acl: false,
        passphrase: has_passphrase(file),
    }
}

fn has_passphrase(file: &FileFact) -> bool {
    matches!(file.content, Content::PrivateKey { encrypted: true, .. })
}

fn weigh(facts: &Facts, key: &Key<'_>, results: &mut CheckResults, sound: &mut Vec<Evidence>) {
    let owner = |id: Option<u32>| id.map_or_else(|| "?".to_owned(), |id| id.to_string());
    let acl = if key.acl { ", access control list" } else { "" };
    let observation =
        format!("mode {:04o}, owner {}, group {}{acl}", key.mode & 0o7777, owner(key.uid), owner(key.gid));
    let evidence = Evidence::Host { source: key.path.to_owned(), observation };
    let Some((severity, why)) = fault(facts, key) else {
        sound.push(evidence);
        return;
    };
    // With a passphrase the file alone is useless.
    let severity = if key.passphrase { Severity::Low } else { severity };
    let result = CheckResult::fail(key.name, EvidenceGrade::Bytes, format!("{} {why}", key.path)).severity(severity);
    results.push(
        result
            .evidence(evidence)
            .fix(Remedy::command(format!("chown mysql: {0} && chmod 0600 {0}", shell_word(key.path)))),
    );
}

fn fault(facts: &Facts, key: &Key<'_>) -> Option<(Severity, String)> {
    if key.mode & 0o007 != 0 {
        return Some((Severity::High, "is open to everybody on the host".to_owned()));
    }
    if key.acl {
        return Some((Severity::High, "has an access control list that lets others in".to_owned()));
    }
    if let (Some(uid), Some(server)) = (key.uid, server_uid(facts))
        && uid != 0
        && uid != server
    {
        return Some((Severity::High, format!("belongs to user {uid}, which is neither root nor the server")));
    }
    let own_group = |gid: u32| gid == 0 || written(facts).is_some_and(|file| file.gid == gid);
    let group = key.gid.filter(|gid| key.mode & 0o070 != 0 && !own_group(*gid))?;
    Some((Severity::Medium, format!("can be read by group {group}")))
}

/// The user of the server's process, else the owner of files that it wrote.
fn server_uid(facts: &Facts) -> Option<u32> {
    let process = facts.host.as_ref().and_then(|host| host.process.as_ref()).map(|process| process.uid);
    process.filter(|uid| *uid != u32::MAX).or_else(|| written(facts).map(|file| file.uid))
}

/// A file that only the server itself can have written.
fn written(facts: &Facts) -> Option<&FileFact> {
    let current = |file: &&FileFact| {
        file.role == Role::Data
            && matches!(file.content, Content::Tablespace { .. } | Content::Redo { .. } | Content::AriaLog)
    };
    facts.files.as_ref()?.files.iter().find(current)
}

fn unread(mode: &FileMode) -> Unavailable {
    Unavailable {
        what: format!("the mode of {}", mode.path),
        why: mode.error.clone().unwrap_or_else(|| "it is not there".to_owned()),
        remedy: access::entering(&mode.path),
    }
}

/// No key file: certain only if the server reports that it names none.
fn no_key(cx: &Context<'_>) -> Observed<CheckResults> {
    if let Some(sql) = &cx.facts.sql {
        return match super::certificates::path_of(sql, variable::SSL_KEY) {
            None if sql.variable(variable::SSL_KEY).is_ok() => {
                Ok(CheckResults::not_applicable("ssl_key is empty: there is no key file"))
            }
            None => {
                Err(sql.variable(variable::SSL_KEY).err().unwrap_or_else(|| nothing_read("the file ssl_key names")))
            }
            Some(path) => Err(cx.facts.host().err().unwrap_or_else(|| nothing_read(&path))),
        };
    }
    if cx.facts.files()?.data_seen() {
        return Ok(CheckResults::not_applicable("the data directory holds no private key"));
    }
    Ok(CheckResults::new())
}

fn nothing_read(path: &str) -> Unavailable {
    Unavailable {
        what: "the mode of the private key".to_owned(),
        why: format!("{path} was not looked at"),
        remedy: access::entering(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn named(mode: Option<u32>, gid: u32, acl: bool) -> FactsBuilder {
        let entry = FileMode {
            path: "/etc/mysql/server-key.pem".to_owned(),
            what: "tls key".to_owned(),
            via: "ssl_key".to_owned(),
            mode,
            uid: Some(0),
            gid: Some(gid),
            acl,
            directory_mode: Some(0o755),
            error: mode.is_none().then(|| "permission denied".to_owned()),
        };
        mysql().variable("ssl_key", "/etc/mysql/server-key.pem").host(|host| host.modes.push(entry))
    }

    #[test]
    fn only_the_server_may_read() {
        assert_eq!(named(Some(0o600), 0, false).statuses(&CHECK), [Pass]);
        assert_eq!(named(Some(0o100_400), 113, false).statuses(&CHECK), [Pass]);
        let open = named(Some(0o644), 0, false).judge(&CHECK);
        assert_eq!((open[0].status, open[0].severity), (Fail, Severity::High));
        let group = named(Some(0o640), 113, false).judge(&CHECK);
        assert_eq!((group[0].status, group[0].severity), (Fail, Severity::Medium));
        assert_eq!(named(Some(0o600), 0, true).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn a_key_that_cannot_be_seen_is_unknown() {
        let found = named(None, 0, false).judge(&CHECK);
        assert_eq!(found[0].status, Unknown);
        assert!(found[0].message.contains("permission denied"));
        assert_eq!(mysql().variable("ssl_key", "server-key.pem").statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn keys_in_the_data_directory_are_judged_offline() {
        let lying = |mode| {
            let mut made = FactsBuilder::nothing().file("client-key.pem", Content::PrivateKey { encrypted: false });
            let file = &mut made.0.files.as_mut().unwrap().files[0];
            file.mode = mode;
            made
        };
        assert_eq!(lying(0o644).statuses(&CHECK), [Fail]);
        assert_eq!(lying(0o600).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_server_without_key_file_is_not_concerned() {
        assert_eq!(mysql().variable("ssl_key", "").statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
