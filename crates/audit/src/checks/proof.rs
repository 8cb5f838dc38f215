//! Results of a page-by-page proof, as evidence.

use innodb::file_kind::report_name;
use innodb::verify::Finding;

use crate::facts::proof::UnsoundFile;
use crate::finding::Evidence;

/// Position of each failed check, so that it can be verified; the whole file if there is no position.
pub(super) fn evidence(file: &UnsoundFile) -> Vec<Evidence> {
    if file.findings.is_empty() {
        return vec![bytes(file, None, format!("{}: `sealant verify` says why", file.verdict.name()))];
    }
    file.findings.iter().map(|finding| bytes(file, finding.offset, describe(file, finding))).collect()
}

fn bytes(file: &UnsoundFile, offset: Option<u64>, meaning: String) -> Evidence {
    Evidence::Bytes { path: file.path.clone(), offset: offset.unwrap_or(0), hex: String::new(), meaning }
}

/// The name of the check in the JSON of `sealant verify`.
fn describe(file: &UnsoundFile, finding: &Finding) -> String {
    let check = serde_json::to_value(finding.check).ok();
    let check = check.as_ref().and_then(|name| name.as_str()).unwrap_or("check").to_owned();
    match finding.unit {
        Some(unit) => format!("{check} of {} {unit}: {}", report_name::unit_of_kind(file.kind), finding.detail),
        None => format!("{check}: {}", finding.detail),
    }
}

/// Hand-made proofs.
#[cfg(test)]
pub(super) mod made {
    use std::collections::BTreeMap;

    use innodb::MasterKeyId;
    use innodb::file_kind::FileKind;
    use innodb::verify::{RequiredKey, Units, Verdict};

    use crate::facts::proof::{Proof, ProofStore, UnsoundFile};

    /// A proof with one keyring: it has `sound` sound encrypted files, and the files in `unsound`.
    pub(in crate::checks) fn proof(sound: u64, unsound: Vec<UnsoundFile>) -> Proof {
        let mut verdicts = BTreeMap::new();
        if sound > 0 {
            verdicts.insert(Verdict::Ok, sound);
        }
        for file in &unsound {
            *verdicts.entry(file.verdict).or_default() += 1;
        }
        Proof {
            at: crate::testing::NOW.parse().unwrap(),
            stores: vec![store("/keys/keyring")],
            every_page: true,
            verdicts,
            units: Units { total: 100, encrypted: 90, clear: 10, ..Units::default() },
            locked: unsound.iter().map(|file| u64::from(file.locked)).sum(),
            unsound,
            unread: Vec::new(),
            lost_keys: Vec::new(),
        }
    }

    /// A key store that could be used.
    pub(in crate::checks) fn store(path: &str) -> ProofStore {
        ProofStore { path: path.to_owned(), why: None, no_copy: None, damaged_entries: 0, names_service: false }
    }

    /// A table of the data directory with this verdict, wrapped by master key 3.
    pub(in crate::checks) fn unsound(name: &str, verdict: Verdict) -> UnsoundFile {
        let uuid = crate::checks::key::tests::UUID;
        UnsoundFile {
            path: format!("/var/lib/mysql/{name}"),
            name: name.to_owned(),
            kind: Some(FileKind::Tablespace),
            verdict,
            locked: matches!(verdict, Verdict::MissingKey | Verdict::WrongKey),
            key: Some(RequiredKey::MySql {
                name: format!("INNODBKey-{uuid}-3"),
                master_key_id: MasterKeyId(3),
                server_uuid: Some(uuid.to_owned()),
            }),
            units: Units::default(),
            findings: Vec::new(),
            findings_left_out: 0,
        }
    }
}
