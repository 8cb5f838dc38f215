//! `key-same-disk`.

use std::path::Path;

use findings::Severity;
use server::dialect::key_store::MARIADB_PASSWORD;

use super::{can_encrypt, is_filled, key_path, keyring, live_stores, path_evidence, store_evidence};
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::separation::{Separation, disk_evidence, path_on_disk, separation};
use crate::exposure::{ClosedBy, Exposes, KeyFlaw};
use crate::facts::files::{Content, FileFact};
use crate::facts::host::{PathOnDisk, Role};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "key-same-disk",
    title: "Keys lie on the same disk as the data",
    severity: Severity::High,
    explanation: "Encryption at rest protects against a stolen disk, but not if the disk also holds the key. A key \
        inside the data directory is also in every file copy of it. The path of the key file is compared with the data \
        directory, and the block devices below both.",
    applies: "servers with a key file",
    fix: "move the key file to another device, or use a KMS",
    cost: "one restart",
    standards: &["PCI DSS 4.0.1 3.6.1.2", "PCI DSS 4.0.1 3.6.1.4"],
    exposes: Exposes::Keys(KeyFlaw::BesideData, "The key store lies on the same disk as the data it protects"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let mut results = CheckResults::new();
    for (file, store) in live_stores(cx).filter(|(_, store)| is_filled(store)) {
        if data_directory(cx, followed(cx, &file.path)).is_some() {
            let message = format!("{} lies in the data directory", file.name);
            results.push(
                CheckResult::fail(&file.path, EvidenceGrade::Bytes, message).evidence(store_evidence(file, store)),
            );
        }
    }
    // The server and the host facts may name a file that was judged above.
    for path in key_paths(cx) {
        let judged = |file: &FileFact| file.path == path && data_directory(cx, followed(cx, &file.path)).is_some();
        if !live_stores(cx).any(|(file, _)| judged(file)) {
            match by_disk(cx, &path) {
                Ok(result) => results.push(result),
                Err(unseen) => results.push_unknown(&path, unseen),
            }
        }
    }
    if results.is_empty() { no_file(cx) } else { Ok(results) }
}

/// Paths of key files, according to the server or the host facts.
pub(in crate::checks) fn key_paths(cx: &Context<'_>) -> Vec<String> {
    let host = cx.facts.host.iter().flat_map(|host| &host.paths);
    // The password of an encrypted key file is not a key; see key-filekey-colocated.
    let is_key = |path: &&PathOnDisk| {
        path.role == Role::Key && path.via != MARIADB_PASSWORD && !is_configuration(cx, &path.path)
    };
    let keys = host.filter(is_key);
    let mut paths: Vec<String> = keys.map(|path| path.path.clone()).collect();
    let reported = cx.facts.sql.as_ref().and_then(key_path).map(|(path, _)| path);
    if let Some(reported) = reported.filter(|_| paths.is_empty()) {
        paths.push(reported);
    }
    paths
}

/// A manifest or a component's configuration names the location of keys, and has none.
fn is_configuration(cx: &Context<'_>, path: &str) -> bool {
    use keyring::StoreKind::{ComponentConfig, Manifest, VaultConfig};
    let file = cx.facts.files.as_ref().and_then(|files| files.at(path));
    matches!(
        file.map(|file| &file.content),
        Some(Content::KeyStore { summary }) if matches!(summary.kind, Manifest | ComponentConfig | VaultConfig)
    )
}

/// The result without the path of a key file.
pub(in crate::checks) fn no_file(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if !can_encrypt(sql) || keyring(sql)?.is_none_or(|keyring| !keyring.is_local_file()) {
        return Ok(CheckResults::not_applicable("no file key store is loaded"));
    }
    Err(Unavailable {
        what: "path of the key file".to_owned(),
        why: "neither the server nor the host shows it".to_owned(),
        remedy: sql.grant("SELECT ON performance_schema.*"),
    })
}

/// The data directory that contains `path`, if any.
fn data_directory<'a>(cx: &'a Context<'_>, path: &str) -> Option<&'a str> {
    let reported = cx.facts.sql.iter().map(|sql| sql.identity.datadir.as_str());
    let roots = cx.facts.files.iter().flat_map(|files| &files.roots).filter(|root| root.role == Role::Data);
    let mut directories = reported.chain(roots.map(|root| root.path.as_str())).filter(|dir| !dir.is_empty());
    directories.find(|dir| Path::new(path).starts_with(dir))
}

/// A key file's path with links resolved, if the host facts have it: a link can lead out of the data directory.
fn followed<'a>(cx: &'a Context<'_>, path: &'a str) -> &'a str {
    let path_on_disk = cx.facts.host.as_ref().and_then(|host| path_on_disk(host, path, Role::Key));
    path_on_disk
        .filter(|path_on_disk| path_on_disk.path == path && !path_on_disk.resolved.is_empty())
        .map_or(path, |path_on_disk| &path_on_disk.resolved)
}

fn by_disk(cx: &Context<'_>, path: &str) -> Observed<CheckResult> {
    if let Some(directory) = data_directory(cx, followed(cx, path)) {
        let result =
            CheckResult::fail(path, EvidenceGrade::Reported, format!("{path} lies in the data directory {directory}"));
        return Ok(with_source(cx, path, result));
    }
    let host = cx.facts.host()?;
    let (Some(key), Some(data)) =
        (path_on_disk(host, path, Role::Key), host.paths.iter().find(|p| p.role == Role::Data))
    else {
        return Err(Unavailable {
            what: format!("device of {path}"),
            why: "its device, or the data directory's, could not be determined".to_owned(),
            remedy: access::AS_SERVER_USER.to_owned(),
        });
    };
    Ok(compare(path, key, data)?.evidence(disk_evidence(key)).evidence(disk_evidence(data)))
}

fn compare(path: &str, key: &PathOnDisk, data: &PathOnDisk) -> Observed<CheckResult> {
    let grade = EvidenceGrade::Bytes;
    Ok(match separation(key, data)? {
        Separation::InMemory => CheckResult::pass(path, grade, format!("{path} lies in memory only ({})", key.fs_type)),
        Separation::SameFileSystem => {
            let message = format!("{path} lies on the data's file system, device {}", key.device);
            CheckResult::fail(path, grade, message)
        }
        Separation::SameDisk(disk) => {
            CheckResult::fail(path, grade, format!("{path} and the data lie on the same disk {disk}"))
        }
        Separation::OtherDisk => CheckResult::pass(path, grade, format!("{path} lies on another disk than the data")),
    })
}

fn with_source(cx: &Context<'_>, path: &str, result: CheckResult) -> CheckResult {
    match cx.facts.sql.as_ref().and_then(|sql| Some((sql, key_path(sql)?))) {
        Some((sql, (reported, source))) => result.evidence(path_evidence(sql, &reported, source)),
        None => result.evidence(Evidence::Host { source: path.to_owned(), observation: "key file".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{json, with_component, with_plugins};
    use super::*;
    use crate::facts::host::DiskLayer;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql, on_disk};

    fn located(key: PathOnDisk) -> FactsBuilder {
        let data = on_disk("/var/lib/mysql", Role::Data, "8:1", &["sda1", "sda"]);
        with_component(mysql(), "Active", "/keys/k").host(|host| host.paths = vec![data, key])
    }

    #[test]
    fn inside_the_data_directory_fails_by_path_and_by_bytes() {
        assert_eq!(with_component(mysql(), "Active", "/var/lib/mysql/k").statuses(&CHECK), [Fail]);
        let found = FactsBuilder::nothing().file("component_keyring_file", json(&[1])).judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Bytes)));
    }

    #[test]
    fn devices_decide_outside_of_it() {
        assert_eq!(located(on_disk("/keys/k", Role::Key, "8:1", &["sda1", "sda"])).statuses(&CHECK), [Fail]);
        assert_eq!(located(on_disk("/keys/k", Role::Key, "8:2", &["sda2", "sda"])).statuses(&CHECK), [Fail]);
        assert_eq!(located(on_disk("/keys/k", Role::Key, "8:17", &["sdb1", "sdb"])).statuses(&CHECK), [Pass]);
        assert_eq!(located(on_disk("/keys/k", Role::Key, "0:40", &[])).statuses(&CHECK), [Unknown]);
        let memory = PathOnDisk { layer: DiskLayer::Memory, ..on_disk("/keys/k", Role::Key, "0:40", &[]) };
        assert_eq!(located(memory).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn from_afar_another_path_proves_nothing() {
        assert_eq!(with_component(mysql(), "Active", "/keys/k").statuses(&CHECK), [Unknown]);
        assert_eq!(with_plugins(mysql(), &[["keyring_okv", "KEYRING"]]).statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
