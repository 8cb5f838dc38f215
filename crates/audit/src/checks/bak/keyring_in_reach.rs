//! `bak-keyring-in-reach`.

use findings::{Remedy, Severity};
use process::shell_word;

use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::key::in_backup::{below, data_below, opens_data};
use crate::checks::key::same_disk::{key_paths, no_file};
use crate::checks::separation::{Separation, disk_evidence, path_on_disk, separation};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::files::{Content, FileFact, FileFacts, Root};
use crate::facts::host::{HostFacts, PathOnDisk, Role};
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "bak-keyring-in-reach",
    title: "The keyring, or a copy of it, lies on the disk that has the backups",
    severity: Severity::High,
    explanation: "A thief of that disk, or whoever else may read it, has the encrypted tables of the backups and what \
        opens them; and if the disk is lost, the backups and the keys are lost together. Backups that are encrypted to \
        an age identity, as those of `sealant backup`, need that identity, too: there the severity is medium. The key \
        file of the server, and copies of it in other given directories, are compared with the data in directories of \
        backups by the block devices below them. Keys inside a directory of backups are found by key-in-backup.",
    applies: "servers with a key file, and directories of backups",
    fix: "keep the backups on another machine or in a bucket, and the copy of the keyring apart from both; then check \
        that the copy opens them: `sealant backup keyring check latest --identity FILE --keyring COPY`",
    cost: "another place for the backups or for the keyring",
    standards: &["PCI DSS 4.0.1 3.6.1.2", "PCI DSS 4.0.1 3.6.1.4", "NIST SP 800-57pt1r5"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Backups on a disk that also has the keyring"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files = cx.facts.files()?;
    let sets: Vec<&Root> = roots(files).filter(|root| data_below(files, root).next().is_some()).collect();
    if sets.is_empty() {
        return Ok(CheckResults::not_applicable("no directory with backups was given; name it with --backup DIR"));
    }
    let servers = key_paths(cx);
    let copies: Vec<&FileFact> = roots(files)
        .filter(|root| !sets.iter().any(|set| set.path == root.path))
        .flat_map(|root| below(files, root).filter(|file| is_readable_store(file)))
        .collect();
    if servers.is_empty() && copies.is_empty() {
        return no_file(cx);
    }
    let host = cx.facts.host()?;
    let mut results = CheckResults::new();
    for set in sets {
        let disks = disks_of(host, files, set);
        let of_servers = servers.iter().map(|path| (path.as_str(), path_on_disk(host, path, Role::Key)));
        let of_copies = copies.iter().map(|file| (file.path.as_str(), path_on_disk(host, &file.path, Role::Backup)));
        for (path, key) in of_servers.chain(of_copies) {
            match compare_all(files, (path, key), set, &disks) {
                Ok(result) => results.push(result),
                Err(unseen) => results.push_unknown(path, unseen),
            }
        }
    }
    Ok(results)
}

/// The disks below the data in a directory of backups, in which others may be mounted. `None`: not known.
fn disks_of<'a>(host: &'a HostFacts, files: &FileFacts, set: &Root) -> Vec<Option<&'a PathOnDisk>> {
    let mut disks = Vec::new();
    for file in data_below(files, set) {
        let disk = path_on_disk(host, &file.path, Role::Backup);
        if !disks.contains(&disk) {
            disks.push(disk);
        }
    }
    disks
}

/// Compares a key with all disks of the backups: one that has both is enough to fail, and one that is not known keeps
/// it from passing.
fn compare_all(
    files: &FileFacts,
    (path, key): (&str, Option<&PathOnDisk>),
    set: &Root,
    disks: &[Option<&PathOnDisk>],
) -> Observed<CheckResult> {
    let compared: Vec<Observed<CheckResult>> = disks
        .iter()
        .map(|disk| match key.zip(*disk) {
            Some((key, disk)) => compare(files, path, key, set, disk),
            None => Err(unseen(path)),
        })
        .collect();
    let rank = |result: &Observed<CheckResult>| match result {
        Ok(result) if result.has_failed() => 0,
        Err(_) => 1,
        Ok(_) => 2,
    };
    compared.into_iter().min_by_key(rank).unwrap_or_else(|| Err(unseen(path)))
}

/// Directories of backups that were read.
fn roots(files: &FileFacts) -> impl Iterator<Item = &Root> {
    files.roots.iter().filter(|root| root.role == Role::Backup && root.error.is_none())
}

fn is_readable_store(file: &FileFact) -> bool {
    matches!(&file.content, Content::KeyStore { summary } if opens_data(summary))
}

fn unseen(path: &str) -> Unavailable {
    Unavailable {
        what: format!("device of {path}"),
        why: "its device, or that of the backups, could not be determined".to_owned(),
        remedy: crate::access::AS_SERVER_USER.to_owned(),
    }
}

fn compare(files: &FileFacts, path: &str, key: &PathOnDisk, set: &Root, backups: &PathOnDisk) -> Observed<CheckResult> {
    let shared = match separation(key, backups)? {
        Separation::SameFileSystem => format!("file system {}", backups.mount_point),
        Separation::SameDisk(disk) => format!("disk {disk}"),
        Separation::InMemory | Separation::OtherDisk => {
            let message = format!("{path} is not on the disk of the backups in {}", set.path);
            let result = CheckResult::pass(path, EvidenceGrade::Bytes, message);
            return Ok(result.evidence(disk_evidence(key)).evidence(disk_evidence(backups)));
        }
    };
    let is_sealed = data_below(files, set).all(needs_identity);
    let (severity, more) =
        if is_sealed { (Severity::Medium, ", which need an age identity, too") } else { (Severity::High, "") };
    let message = format!("{path} lies on the {shared}, which also has the backups in {}{more}", set.path);
    let result = CheckResult::fail(path, EvidenceGrade::Bytes, message).severity(severity).fix(remedy(path, set));
    Ok(result.evidence(disk_evidence(key)).evidence(disk_evidence(backups)))
}

/// Whether a file of a backup is encrypted to an age identity.
fn needs_identity(file: &FileFact) -> bool {
    match &file.content {
        Content::BackupReceipt { .. } => true,
        Content::Backup { backup } => backup.layers.last().is_some_and(|layer| layer == "age"),
        _ => false,
    }
}

fn remedy(path: &str, set: &Root) -> Remedy {
    let advice = format!(
        "move the backups in {} to another machine or a bucket, or {path} to another disk, and keep a copy of the keys \
         in a third place; then check there that it opens the backups: sealant backup keyring check latest --identity \
         FILE --keyring COPY",
        shell_word(&set.path)
    );
    Remedy::advice(advice)
}

#[cfg(test)]
mod tests {
    use super::super::history::testing::{hours_ago, receipt, with_receipt};
    use super::super::tests::in_set;
    use super::*;
    use crate::checks::key::tests::{json, with_component, with_plugins};
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql, on_disk, tablespace};

    /// A server whose key file lies on the device `8:1`, and backups on another one.
    fn with_backups(made: FactsBuilder, device: &str, disk: &str) -> FactsBuilder {
        let backups = on_disk("/backup", Role::Backup, device, &[disk]);
        made.host(|host| host.paths = vec![backups, on_disk("/keys/k", Role::Key, "8:1", &["sda"])])
    }

    fn sealed() -> FactsBuilder {
        with_receipt(with_component(mysql(), "Active", "/keys/k"), receipt(1, hours_ago(1)))
    }

    #[test]
    fn a_keyring_on_the_disk_of_the_backups_fails_until_one_of_them_is_moved() {
        let found = with_backups(sealed(), "8:1", "sda").judge(&CHECK);
        assert_eq!((found.len(), found[0].status, found[0].severity), (1, Fail, Severity::Medium));
        assert!(found[0].message.contains("/keys/k lies on the file system /"), "{}", found[0].message);
        assert!(found[0].remediation.as_ref().unwrap().contains("sealant backup keyring check"));
        assert_eq!(with_backups(sealed(), "8:2", "sda").statuses(&CHECK), [Fail]);
        assert_eq!(with_backups(sealed(), "8:17", "sdb").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn pages_that_no_identity_protects_are_worse() {
        let made = in_set(sealed(), "t.ibd", tablespace("encrypted", 4, 0));
        assert_eq!(with_backups(made, "8:1", "sda").judge(&CHECK)[0].severity, Severity::High);
    }

    #[test]
    fn a_copy_in_another_directory_is_judged_by_its_disk() {
        let with_copy = |device: &str, disk: &str| {
            let mut made = with_backups(sealed(), "8:17", "sdb").file("copy", json(&[1]));
            let files = made.0.files.as_mut().unwrap();
            let mut root = files.roots.iter().find(|root| root.role == Role::Backup).unwrap().clone();
            root.path = "/safe".to_owned();
            files.roots.push(root);
            made.last_file(|file| (file.path, file.role) = ("/safe/copy".to_owned(), Role::Backup))
                .host(|host| host.paths.push(on_disk("/safe", Role::Backup, device, &[disk])))
        };
        let found = with_copy("8:17", "sdb").judge(&CHECK);
        let failed: Vec<&str> =
            found.iter().filter(|one| one.status == Fail).map(|one| one.artefact.as_str()).collect();
        assert_eq!(failed, ["/safe/copy"]);
        assert_eq!(with_copy("8:33", "sdc").statuses(&CHECK), [Pass, Pass]);
    }

    #[test]
    fn a_disk_mounted_inside_counts_for_what_lies_there() {
        let mounted = |device: &str, disk: &str| {
            let inside = on_disk("/backup/hosts", Role::Backup, device, &[disk]);
            with_backups(sealed(), "8:17", "sdb").host(|host| host.paths.push(inside))
        };
        assert_eq!(mounted("8:1", "sda").statuses(&CHECK), [Fail]);
        assert_eq!(mounted("8:33", "sdc").statuses(&CHECK), [Pass]);
        let root = on_disk("/backup", Role::Backup, "8:1", &["sda"]);
        let moved = mounted("8:33", "sdc").host(|host| host.paths[0] = root);
        assert_eq!(moved.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn backups_on_a_file_server_are_not_on_a_local_disk() {
        let remote = |fs_type: &str| {
            let on_server = on_disk("/backup", Role::Backup, "0:50", &[]);
            let backups = PathOnDisk { fs_type: fs_type.to_owned(), ..on_server };
            with_backups(sealed(), "8:17", "sdb").host(|host| host.paths[0] = backups)
        };
        assert_eq!(remote("nfs4").statuses(&CHECK), [Pass]);
        assert_eq!(remote("zfs").statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn without_a_key_file_or_backups_nothing_is_judged() {
        assert_eq!(with_component(mysql(), "Active", "/keys/k").statuses(&CHECK), [Unknown]);
        let without_backups = with_component(mysql(), "Active", "/keys/k").file("ca.pem", Content::Structure);
        assert_eq!(without_backups.statuses(&CHECK), [NotApplicable]);
        let service = with_plugins(mysql(), &[["keyring_okv", "KEYRING"]]);
        assert_eq!(with_receipt(service, receipt(1, hours_ago(1))).statuses(&CHECK), [NotApplicable]);
        // The host is not known.
        assert_eq!(sealed().statuses(&CHECK), [Unknown]);
    }
}
