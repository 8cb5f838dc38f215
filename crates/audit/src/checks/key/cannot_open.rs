//! `key-cannot-open`.

mod every_page;
mod mariadb;

use std::collections::{HashMap, HashSet};

use files::quantity::size;
use findings::Severity;
use innodb::binlog::BinlogEncryption;
use innodb::keys::percona_binary_log_key_name;
use keyring::{StoreKind, StoreSummary};

use super::{
    Wrapped, is_mariadb, key_path, keyring, live_stores, nothing_wrapped, path_evidence, store_evidence, wrapped,
};
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::files::{Content, KeyProof};
use crate::facts::host::Role;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub const CHECK: Check = Check {
    id: "key-cannot-open",
    title: "The key file does not open a tablespace",
    severity: Severity::Critical,
    explanation: "A running server holds its keys in memory, and notices a lost, truncated or replaced key file only \
        at its next start. Page 0 of each tablespace names its master key: the key file must be complete and hold a \
        key of that name. If the key can be tried, the checksum inside page 0 decides, on MariaDB the space id inside \
        an encrypted page. A name alone does not prove that the key opens the file: the result is UNKNOWN. With --deep \
        every encrypted page, block and event of every file is decrypted with the key files found, as `sealant verify` \
        does, and that decides.",
    applies: "MySQL with a keyring file, MariaDB with a key file",
    fix: "put the right key file back before the server restarts",
    cost: "none while the server runs",
    standards: &["PCI DSS 4.0.1 3.7.3", "NIST SP 800-53r5 CP-9"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if let Some(proof) = every_page::proof(cx) {
        return every_page::judge(cx, proof);
    }
    if is_mariadb(cx) {
        return mariadb::judge(cx);
    }
    let wanted = wrapped(cx, true);
    let keys = Keys::collect(cx);
    let mut results = CheckResults::new();
    logs_without_key(cx, &keys, &mut results);
    if wanted.is_empty() {
        return if results.has_failed() { Ok(results) } else { nothing_wrapped(cx) };
    }
    if let Some(result) = lost(cx) {
        return Ok(CheckResults::one(wanted.iter().take(3).map(Wrapped::evidence).fold(result, CheckResult::evidence)));
    }
    damaged(cx, &mut results);
    let mut counts = Counts::default();
    for space in &wanted {
        match keys.test_key(space) {
            KeyTest::Fails(result) => results.push(result),
            KeyTest::Opens => counts.proven = counts.proven.saturating_add(1),
            KeyTest::OnlyNamed => counts.named = counts.named.saturating_add(1),
            KeyTest::NoKeys => counts.blind = counts.blind.saturating_add(1),
        }
    }
    counts.close(cx, results)
}

#[derive(Default)]
struct Counts {
    proven: usize,
    named: usize,
    blind: usize,
}

enum KeyTest {
    Fails(CheckResult),
    Opens,
    OnlyNamed,
    NoKeys,
}

/// Everything known about the server's keys.
struct Keys<'a> {
    /// Key files with named keys.
    stores: Vec<&'a StoreSummary>,
    /// Tests by tablespace file.
    proofs: HashMap<&'a str, Vec<&'a KeyProof>>,
    /// Key names in the running server's memory; empty if unknown.
    in_memory: HashSet<String>,
}

impl<'a> Keys<'a> {
    fn collect(cx: &'a Context<'_>) -> Self {
        let named = live_stores(cx).map(|(_, store)| store).filter(|store| store.kind != StoreKind::AwsPlugin);
        let mut proofs: HashMap<&str, Vec<&KeyProof>> = HashMap::new();
        for proof in cx.facts.files.iter().flat_map(|files| &files.key_proofs) {
            proofs.entry(&proof.path).or_default().push(proof);
        }
        let rows = cx.facts.sql.as_ref().and_then(|sql| sql.rows("keyring_keys").ok()).unwrap_or_default();
        let in_memory = rows.iter().map(|row| row.text("key_id").to_ascii_lowercase()).collect();
        Self { stores: named.collect(), proofs, in_memory }
    }

    fn test_key(&self, space: &Wrapped<'_>) -> KeyTest {
        // The bootstrap key is public and needs no keyring; `key-wrap-lag` reports it.
        if space.id == 0 {
            return KeyTest::Opens;
        }
        let key = space.key_name();
        let fail = |why: String| {
            let fix = format!("put the key file with {key} back before the server restarts");
            KeyTest::Fails(CheckResult::fail(space.name, EvidenceGrade::Bytes, why).evidence(space.evidence()).fix(fix))
        };
        let of_space = self.proofs.get(space.path).map_or(&[][..], Vec::as_slice);
        if of_space.iter().any(|proof| proof.opens == Some(true)) {
            return KeyTest::Opens;
        }
        if let Some(proof) = of_space.iter().find(|proof| proof.opens == Some(false)) {
            return fail(format!("{} of {} does not open {}", proof.key, proof.store, space.name));
        }
        match space.uuid {
            // The running keyring may have a key whose file was not found; it lists all keys or none.
            _ if self.stores.is_empty() && self.in_memory.contains(&key.to_ascii_lowercase()) => KeyTest::OnlyNamed,
            _ if self.stores.is_empty() => KeyTest::NoKeys,
            Some(uuid) if !self.stores.iter().any(|store| store.has_master_key(uuid, space.id)) => {
                fail(format!("{} needs {key}, which no key file holds", space.name))
            }
            _ => KeyTest::OnlyNamed,
        }
    }
}

/// The server's key file is missing, or no longer a key file: the server runs with the keys in its memory.
fn lost(cx: &Context<'_>) -> Option<CheckResult> {
    let sql = cx.facts.sql.as_ref()?;
    let files = cx.facts.files.as_ref()?;
    keyring(sql).ok()??.is_local_file().then_some(())?;
    let (path, source) = key_path(sql)?;
    let gone = files.roots.iter().any(|root| root.path == path && root.missing);
    let (what, bytes) = match files.at(&path) {
        None if gone => ("is gone", None),
        Some(file) => match file.content {
            Content::Empty => ("is empty", Some(file)),
            Content::KeyStore { .. } | Content::Unreadable { .. } | Content::Link { .. } => return None,
            _ => ("is no key file", Some(file)),
        },
        None => return None,
    };
    let seen = Evidence::Host {
        source: path.clone(),
        observation: bytes.map_or_else(|| "no such file".to_owned(), |file| size(file.size_bytes)),
    };
    let message = format!("{path} {what}: at its next start the server cannot open what is encrypted");
    let result = CheckResult::fail(&path, EvidenceGrade::Bytes, message)
        .evidence(seen)
        .evidence(path_evidence(sql, &path, source));
    Some(result.fix(format!("put the key file back to {path} before the server restarts")))
}

/// Encrypted binary logs whose master key is in no key file.
fn logs_without_key(cx: &Context<'_>, keys: &Keys<'_>, results: &mut CheckResults) {
    // Percona Server 5.7.20 named the key without a version.
    let is_key = |entry: &str, key: &str| entry == key || key.strip_prefix(entry).is_some_and(|v| v.starts_with(':'));
    let known = |key: &str| keys.stores.iter().flat_map(|store| &store.entries).any(|entry| is_key(&entry.id, key));
    for file in cx.facts.files.iter().flat_map(|files| &files.files).filter(|file| file.role != Role::Backup) {
        let Content::BinaryLog { log, .. } = &file.content else { continue };
        let key = match &log.encryption {
            BinlogEncryption::MySql { key_id: Some(key), .. } => key.clone(),
            BinlogEncryption::Percona { key_version, .. } => percona_binary_log_key_name(key_version),
            _ => continue,
        };
        if !keys.stores.is_empty() && !known(&key) {
            let message = format!("{} needs {key}, which no key file holds", file.name);
            let result = CheckResult::fail(&file.name, EvidenceGrade::Bytes, message)
                .fix(format!("put the key file with {key} back before the server restarts"));
            results.push(crate::artefact::byte_evidence(file).into_iter().fold(result, CheckResult::evidence));
        }
    }
}

fn damaged(cx: &Context<'_>, results: &mut CheckResults) {
    for (file, store) in live_stores(cx).filter(|(_, store)| !store.damage.is_empty()) {
        let message = format!("{} is damaged: {:?}", file.path, store.damage);
        results
            .push(CheckResult::fail(&file.path, EvidenceGrade::Bytes, message).evidence(store_evidence(file, store)));
    }
}

impl Counts {
    fn close(self, cx: &Context<'_>, mut results: CheckResults) -> Observed<CheckResults> {
        if self.named > 0 {
            results.push_unknown(
                "tablespaces",
                Unavailable {
                    what: format!("whether the keys open {} tablespaces", self.named),
                    why: "the keys that page 0 names exist, but were not tried on it".to_owned(),
                    remedy:
                        "read the key file as the server's user, or restore a copy of the data with a copy of the keys"
                            .to_owned(),
                },
            );
        }
        if self.blind > 0 {
            results.push_unknown("tablespaces", no_keys(cx, self.blind));
        }
        let description = format!("the key file opens each of {} tablespaces and logs", self.proven);
        let pass = CheckResult::pass("server", EvidenceGrade::Bytes, description);
        let stores = live_stores(cx).map(|(file, store)| store_evidence(file, store));
        results.pass_if_clean(stores.fold(pass, CheckResult::evidence));
        Ok(results)
    }
}

fn no_keys(cx: &Context<'_>, count: usize) -> Unavailable {
    let local = cx.facts.sql.as_ref().and_then(|sql| Some((keyring(sql).ok()??, key_path(sql))));
    let (why, remedy) = match local {
        Some((keyring, _)) if !keyring.is_local_file() => (
            format!("the keys are kept by {}, which is not queried", keyring.name),
            "test a restart on a copy of the server, and record it in a waiver".to_owned(),
        ),
        _ if live_stores(cx).any(|(_, store)| store.kind == StoreKind::OpensslSalted) => (
            "the key file is encrypted, and no file with its password was found".to_owned(),
            "file_key_management_filekey = FILE:PATH, and run as a user who can read PATH".to_owned(),
        ),
        Some((_, Some((path, _)))) => ("the key file could not be read".to_owned(), access::reading(&path)),
        _ => ("no key file was found".to_owned(), access::reading("the key file")),
    };
    Unavailable { what: format!("keys of {count} tablespaces"), why, remedy }
}

#[cfg(test)]
mod tests {
    use innodb::verify::Verdict as Proven;
    use keyring::inspect;

    use super::super::tests::{UUID, json, mariadb_keys, space};
    use super::every_page::MAX_LISTED;
    use super::*;
    use crate::facts::proof::UnsoundFile;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql, tablespace, tablespace_with};

    const KEYRING: &str = "component_keyring_file";

    fn proven(opens: Option<bool>) -> FactsBuilder {
        let mut made = mysql().file("demo/t.ibd", space(2, UUID)).file(KEYRING, json(&[1, 2]));
        made.0.files.as_mut().unwrap().key_proofs.push(KeyProof {
            path: "/var/lib/mysql/demo/t.ibd".to_owned(),
            key: format!("INNODBKey-{UUID}-2"),
            store: format!("/var/lib/mysql/{KEYRING}"),
            opens,
            why: None,
        });
        made
    }

    #[test]
    fn a_key_that_no_file_holds_fails() {
        let found =
            FactsBuilder::nothing().file("demo/t.ibd", space(3, UUID)).file(KEYRING, json(&[1, 2])).judge(&CHECK);
        assert_eq!((found[0].status, found[0].artefact.as_str()), (Fail, "demo/t.ibd"));
        let foreign = space(2, "11111111-e4cd-11f1-8c02-02fc00000001");
        assert_eq!(mysql().file("demo/t.ibd", foreign).file(KEYRING, json(&[2])).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn a_log_of_percona_5_7_needs_the_key_it_names() {
        let encryption = BinlogEncryption::Percona { scheme: 1, key_version: innodb::KeyVersion(0) };
        let log = innodb::binlog::BinlogHead { encryption, server_version: None, created: None, file_bytes: 9 };
        let made = || mysql().file("binlog.000001", Content::BinaryLog { log: log.clone(), events: None });
        let failures = |made: FactsBuilder| made.judge(&CHECK).iter().filter(|found| found.status == Fail).count();
        assert_eq!(failures(made().file(KEYRING, json(&[1, 2]))), 1);
        let keyring = include_bytes!("../../../../../testdata/keyring/percona57-plugin-file");
        let summary = inspect(keyring).unwrap();
        assert_eq!(failures(made().file("keyring", Content::KeyStore { summary })), 0);
    }

    #[test]
    fn decryption_decides_and_a_name_alone_is_unknown() {
        assert_eq!(proven(Some(true)).statuses(&CHECK), [Pass]);
        assert_eq!(proven(Some(false)).statuses(&CHECK), [Fail]);
        assert_eq!(proven(None).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn every_page_decides_where_it_was_opened() {
        use crate::checks::proof::made::{proof, unsound};
        let judged = |deep| {
            let mut made = proven(None);
            made.0.files.as_mut().unwrap().proof = Some(deep);
            made.judge(&CHECK)
        };
        assert_eq!(judged(proof(7, Vec::new()))[0].status, Pass);
        // The key opens the record on page 0: the damage is elsewhere on the page, and `rest-page-damaged` reports it.
        let mut made = proven(Some(true));
        made.0.files.as_mut().unwrap().proof = Some(proof(0, vec![unsound("demo/t.ibd", Proven::BadKeyInfo)]));
        assert_eq!(made.statuses(&CHECK), [Pass]);
        for verdict in [Proven::MissingKey, Proven::WrongKey, Proven::BadKeyInfo] {
            let found = judged(proof(7, vec![unsound("demo/t.ibd", verdict)]));
            assert_eq!((found.len(), found[0].status, found[0].artefact.as_str()), (1, Fail, "demo/t.ibd"));
            assert!(!found[0].evidence.is_empty());
        }
        let log = UnsoundFile {
            kind: Some(innodb::file_kind::FileKind::Binlog),
            ..unsound("binlog.000002", Proven::MissingKey)
        };
        assert_eq!(judged(proof(7, vec![log]))[0].artefact, "binlog.000002");
        assert_eq!(judged(proof(7, vec![unsound("demo/t.ibd", Proven::Unverifiable)]))[0].status, Unknown);
        let mut in_service = proof(7, vec![unsound("demo/t.ibd", Proven::MissingKey)]);
        in_service.stores[0].names_service = true;
        let name = format!("INNODBKey-{UUID}-3");
        in_service.lost_keys = vec![format!("{name}0 is deleted"), format!("in the Vault, {name} is destroyed")];
        let found = judged(in_service);
        let says = format!("does not hold: in the Vault, {name} is destroyed");
        assert!(found[0].message.ends_with(&says), "{}", found[0].message);
        assert!(found[0].remediation.as_deref().is_some_and(|fix| fix.contains("back in the service")), "{found:?}");
        assert_eq!(judged(proof(7, vec![unsound("demo/t.ibd", Proven::Damaged)]))[0].status, Pass);
        let many = (0..120).map(|i| unsound(&format!("demo/t{i}.ibd"), Proven::MissingKey)).collect();
        let found = judged(proof(7, many));
        assert_eq!(found.len(), MAX_LISTED + 1);
        assert!(found[MAX_LISTED].message.starts_with("70 more files"), "{}", found[MAX_LISTED].message);
    }

    #[test]
    fn keys_that_were_not_found_leave_the_decision_to_page_0() {
        use crate::checks::proof::made::{proof, unsound};
        let mut made = proven(Some(true));
        let mut deep = proof(0, vec![unsound("demo/t.ibd", Proven::Unverifiable)]);
        deep.stores.clear();
        made.0.files.as_mut().unwrap().proof = Some(deep);
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_cut_key_file_fails_by_itself() {
        let Content::KeyStore { summary } = json(&[1]) else { unreachable!() };
        let text = format!(r#"{{"version":"1.0","elements":[{{"user":"","data_id":"INNODBKey-{UUID}-1","da"#);
        let cut = inspect(text.as_bytes()).unwrap();
        assert!(summary.damage.is_empty());
        let found =
            mysql().file("demo/t.ibd", space(1, UUID)).file(KEYRING, Content::KeyStore { summary: cut }).judge(&CHECK);
        assert!(found.iter().any(|f| f.status == Fail && f.artefact.ends_with(KEYRING)));
    }

    #[test]
    fn without_a_key_file_it_is_unknown_and_without_encryption_not_concerned() {
        assert_eq!(mysql().file("demo/t.ibd", space(1, UUID)).statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().file("demo/t.ibd", tablespace("plain", 0, 5)).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn mariadbs_keys_are_looked_up_by_number() {
        let needs = |id| {
            tablespace_with("mariadb", 5, 0, |scan| {
                if let innodb::tablespace::Encryption::MariaDb { key_id, .. } = &mut scan.page0.encryption {
                    *key_id = id;
                }
            })
        };
        let made = |id| FactsBuilder::nothing().file("demo/t.ibd", needs(id)).file("keys.txt", mariadb_keys());
        assert_eq!(made(7).statuses(&CHECK), [Fail]);
        assert_eq!(made(2).statuses(&CHECK), [Unknown]);
        let tried = |opens| {
            let mut made = made(2).file("demo/empty.ibd", needs(2));
            made.0.files.as_mut().unwrap().key_proofs.push(KeyProof {
                path: "/var/lib/mysql/demo/t.ibd".to_owned(),
                key: "key 2".to_owned(),
                store: "/keys.txt".to_owned(),
                opens: Some(opens),
                why: None,
            });
            made.statuses(&CHECK)
        };
        assert_eq!(tried(true), [Pass]);
        assert_eq!(tried(false), [Fail, Unknown]);
    }
}
