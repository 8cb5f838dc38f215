//! `key-file-perms`.

use findings::{Remedy, Severity};
use process::shell_word;

use super::{can_encrypt, keyring, live_stores};
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::host::FileMode;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};
use crate::key_access::KeyAccess;

pub(crate) const CHECK: Check = Check {
    id: "key-file-perms",
    title: "Users other than the server's can read or replace the key file",
    severity: Severity::Critical,
    explanation: "Whoever can read the key file can open every table without the server. MySQL creates it with mode \
        0640 (observed on 9.7), so that the whole group can read it; it should be 0600 and its directory 0700. Judged \
        from mode, owner, access control list and directory. Severity: critical if everybody can read it, high if a \
        group of several users can, medium if the group is the owner's private one.",
    applies: "servers with a key file",
    fix: "chmod 0600 the key file, chown it to the server's user, chmod 0700 its directory",
    cost: "none; the server reads the file with its own user",
    standards: &["PCI DSS 4.0.1 3.6.1.3", "CIS MySQL 3.x"],
    exposes: Exposes::Help(Attacker::Operator, "The keys, to other users of the host"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// Files with keys or with a password for them, by the collector's names.
const SECRET: &[&str] = &["keyring", "key file", "key file password"];
/// Files that determine which keys are used: they must not be writable by others.
const CONFIGURATION: &[&str] = &["keyring manifest", "keyring configuration"];

/// Permissions of a file.
struct Access<'a> {
    path: &'a str,
    mode: u32,
    uid: Option<u32>,
    gid: Option<u32>,
    acl: bool,
    directory_mode: Option<u32>,
    secret: bool,
}

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let mut results = CheckResults::new();
    let modes = cx.facts.host.iter().flat_map(|host| &host.modes);
    let concerned = |mode: &&FileMode| [SECRET, CONFIGURATION].iter().any(|what| what.contains(&mode.what.as_str()));
    let mut sound = Vec::new();
    for file in modes.clone().filter(concerned) {
        match access(file).map(|access| (rule(cx, &access), access.evidence())) {
            Some((Some(fault), _)) => results.push(fault),
            Some((None, seen)) => sound.push(seen),
            None => results.push_unknown(&file.path, unseen(file)),
        }
    }
    for (file, _) in live_stores(cx) {
        if !modes.clone().any(|known| known.path == file.path) {
            let (mode, uid, gid) = (file.mode, Some(file.uid), Some(file.gid));
            let access = Access { path: &file.path, mode, uid, gid, acl: false, directory_mode: None, secret: true };
            match rule(cx, &access) {
                Some(fault) => results.push(fault),
                None => sound.push(access.evidence()),
            }
        }
    }
    if results.is_empty() && sound.is_empty() {
        return no_file(cx);
    }
    let message = format!("{} key files and their configuration are the server's alone", sound.len());
    results.pass_if_clean(
        sound.into_iter().fold(CheckResult::pass("server", EvidenceGrade::Bytes, message), CheckResult::evidence),
    );
    Ok(results)
}

fn access(file: &FileMode) -> Option<Access<'_>> {
    Some(Access {
        path: &file.path,
        mode: file.mode? & 0o7777,
        uid: file.uid,
        gid: file.gid,
        acl: file.acl,
        directory_mode: file.directory_mode,
        secret: SECRET.contains(&file.what.as_str()),
    })
}

fn unseen(file: &FileMode) -> Unavailable {
    Unavailable {
        what: format!("mode of {}", file.path),
        why: file.error.clone().unwrap_or_else(|| "it could not be looked at".to_owned()),
        remedy: access::entering(&file.path),
    }
}

fn no_file(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    let local = if can_encrypt(sql) { keyring(sql)?.filter(super::Keyring::is_local_file) } else { None };
    let Some(keyring) = local else {
        return Ok(CheckResults::not_applicable("no file key store is loaded"));
    };
    cx.facts.host()?;
    Err(Unavailable {
        what: format!("key file of {}", keyring.name),
        why: "it was not found, or its path is not known".to_owned(),
        remedy: access::AS_SERVER_USER.to_owned(),
    })
}

/// What is wrong with a file's permissions; `None` if nothing is.
fn rule(cx: &Context<'_>, file: &Access<'_>) -> Option<CheckResult> {
    let faults = faults(cx, file);
    let worst = faults.iter().map(|(_, severity)| *severity).max()?;
    let message: Vec<&str> = faults.iter().map(|(word, _)| *word).collect();
    let result = CheckResult::fail(file.path, EvidenceGrade::Bytes, format!("{} {}", file.path, message.join(", ")));
    Some(result.severity(worst).fix(Remedy::command(file.fix(cx))).evidence(file.evidence()))
}

fn faults(cx: &Context<'_>, file: &Access<'_>) -> Vec<(&'static str, Severity)> {
    let server = cx.facts.host.as_ref().and_then(|host| Some(host.process.as_ref()?.uid));
    let Access { mode, uid, gid, acl, directory_mode, secret, .. } = *file;
    KeyAccess { mode, uid, gid, acl, directory_mode, secret }.faults(server)
}

impl Access<'_> {
    fn evidence(&self) -> Evidence {
        Evidence::Host { source: self.path.to_owned(), observation: self.describe() }
    }

    fn describe(&self) -> String {
        let number = |id: Option<u32>| id.map_or_else(|| "?".to_owned(), |id| id.to_string());
        let directory =
            self.directory_mode.map_or_else(String::new, |mode| format!(", directory {:04o}", mode & 0o7777));
        let acl = if self.acl { ", access control list" } else { "" };
        format!("mode {:04o}, owner {}, group {}{directory}{acl}", self.mode, number(self.uid), number(self.gid))
    }

    fn fix(&self, cx: &Context<'_>) -> String {
        let owner = cx
            .facts
            .host
            .as_ref()
            .and_then(|host| host.process.as_ref())
            .map_or_else(|| "mysql".to_owned(), |p| p.uid.to_string());
        let path = shell_word(self.path);
        let acl = if self.acl { format!("setfacl -b {path} && ") } else { String::new() };
        let mode = if self.secret { "0600" } else { "go-w" };
        let directory =
            std::path::Path::new(self.path).parent().map_or_else(String::new, |d| shell_word(&d.to_string_lossy()));
        format!("{acl}chown {owner} {path} && chmod {mode} {path} && chmod go-w {directory}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{json, with_component, with_plugins};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn key_file(mode: u32, gid: u32) -> FileMode {
        FileMode {
            path: "/keys/k".to_owned(),
            what: "keyring".to_owned(),
            via: "Data_file".to_owned(),
            mode: Some(mode),
            uid: Some(999),
            gid: Some(gid),
            acl: false,
            directory_mode: Some(0o700),
            error: None,
        }
    }

    fn with(file: FileMode) -> FactsBuilder {
        mysql().host(|host| host.modes.push(file))
    }

    #[test]
    fn only_the_owner_may_read() {
        assert_eq!(with(key_file(0o600, 999)).statuses(&CHECK), [Pass]);
        assert_eq!(with(key_file(0o400, 5)).statuses(&CHECK), [Pass]);
        let severity = |mode, gid| with(key_file(mode, gid)).judge(&CHECK)[0].severity;
        assert_eq!(severity(0o644, 999), Severity::Critical);
        assert_eq!(severity(0o640, 5), Severity::High);
        assert_eq!(severity(0o640, 999), Severity::Medium);
        assert_eq!(with(key_file(0o640, 999)).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn access_lists_other_owners_and_open_directories_fail() {
        assert_eq!(with(FileMode { acl: true, ..key_file(0o600, 999) }).statuses(&CHECK), [Fail]);
        assert_eq!(with(FileMode { directory_mode: Some(0o777), ..key_file(0o600, 999) }).statuses(&CHECK), [Fail]);
        assert_eq!(with(FileMode { directory_mode: Some(0o1777), ..key_file(0o600, 999) }).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_manifest_may_be_read_but_not_written() {
        let manifest = |mode| FileMode { what: "keyring manifest".to_owned(), ..key_file(mode, 5) };
        assert_eq!(with(manifest(0o644)).statuses(&CHECK), [Pass]);
        assert_eq!(with(manifest(0o664)).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn a_file_in_the_data_directory_is_judged_without_a_server() {
        let found = FactsBuilder::nothing().file("component_keyring_file", json(&[1])).judge(&CHECK);
        assert_eq!(found[0].status, Fail);
        assert!(found[0].remediation.as_ref().unwrap().contains("chmod 0600"));
    }

    #[test]
    fn a_file_that_cannot_be_seen_is_unknown() {
        let hidden = FileMode { mode: None, error: Some("permission denied".to_owned()), ..key_file(0, 0) };
        assert_eq!(with(hidden).statuses(&CHECK), [Unknown]);
        assert_eq!(with_component(mysql(), "Active", "/k").statuses(&CHECK), [Unknown]);
        let made = with_plugins(mysql(), &[["keyring_okv", "KEYRING"]]);
        assert_eq!(made.statuses(&CHECK), [NotApplicable]);
    }
}
