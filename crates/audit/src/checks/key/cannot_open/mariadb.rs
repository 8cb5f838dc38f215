//! MariaDB's keys: tried on pages of each tablespace, or at least looked up by number.

use std::collections::{HashMap, HashSet};

use keyring::StoreKind;

use super::{Counts, damaged, lost};
use crate::access;
use crate::artefact::byte_evidence;
use crate::check::{CheckResult, CheckResults, Context};
use crate::checks::key::live_stores;
use crate::facts::files::{Content, FileFact, FileFacts, KeyProof};
use crate::facts::host::Role;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

/// MariaDB names keys by number, so that the existence of the number alone is UNKNOWN; an opened page decides.
pub(super) fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files = cx.facts.files()?;
    let wanted: Vec<(&FileFact, u32)> = files.files.iter().filter_map(|file| Some((file, key_id(file)?))).collect();
    if wanted.is_empty() {
        return if files.data_seen() {
            Ok(CheckResults::not_applicable("no tablespace is encrypted"))
        } else {
            Err(Unavailable {
                what: "page 0 of the tablespaces".to_owned(),
                why: "the data directory could not be read".to_owned(),
                remedy: access::reading_data(),
            })
        };
    }
    if let Some(result) = lost(cx) {
        return Ok(CheckResults::one(result));
    }
    let mut results = CheckResults::new();
    damaged(cx, &mut results);
    let mut counts = Counts::default();
    let plain: Vec<_> = live_stores(cx).filter(|(_, store)| store.kind == StoreKind::MariaDbPlain).collect();
    let tests = PageTests::collect(files);
    for (file, id) in wanted {
        if let Some(proof) = tests.failed(file) {
            let message = format!("{} of {} does not open {}", proof.key, proof.store, file.name);
            let result = CheckResult::fail(&file.name, EvidenceGrade::Bytes, message)
                .fix(format!("put the key file with the right key {id} back before the server restarts"));
            results.push(byte_evidence(file).into_iter().fold(result, CheckResult::evidence));
        } else if tests.proven.contains(&id) {
            counts.proven = counts.proven.saturating_add(1);
        } else if plain.is_empty() {
            counts.blind = counts.blind.saturating_add(1);
        } else if plain.iter().any(|(_, store)| store.entries.iter().any(|entry| entry.id == id.to_string())) {
            counts.named = counts.named.saturating_add(1);
        } else {
            let message = format!("{} needs key {id}, which no key file holds", file.name);
            let result = CheckResult::fail(&file.name, EvidenceGrade::Bytes, message)
                .fix(format!("put key {id} back into the key file"));
            results.push(byte_evidence(file).into_iter().fold(result, CheckResult::evidence));
        }
    }
    counts.close(cx, results)
}

/// Results of the keys on pages.
struct PageTests<'a> {
    failed: HashMap<&'a str, &'a KeyProof>,
    /// Keys that opened a page: a tablespace without an encrypted page needs no further proof.
    proven: HashSet<u32>,
}

impl<'a> PageTests<'a> {
    fn collect(files: &'a FileFacts) -> Self {
        let opened = |opens: bool| files.key_proofs.iter().filter(move |proof| proof.opens == Some(opens));
        let number = |proof: &KeyProof| proof.key.strip_prefix("key ").and_then(|id| id.parse().ok());
        let succeeded: HashSet<&str> = opened(true).map(|proof| proof.path.as_str()).collect();
        let failed = opened(false).filter(|proof| !succeeded.contains(proof.path.as_str()));
        Self {
            failed: failed.map(|proof| (proof.path.as_str(), proof)).collect(),
            proven: opened(true).filter_map(number).collect(),
        }
    }

    fn failed(&self, file: &FileFact) -> Option<&KeyProof> {
        self.failed.get(file.path.as_str()).copied()
    }
}

/// The key that a tablespace of the running server uses.
fn key_id(file: &FileFact) -> Option<u32> {
    match &file.content {
        Content::Tablespace { scan } if file.role != Role::Backup => match scan.page0.encryption {
            innodb::tablespace::Encryption::MariaDb { scheme: 1, key_id, .. } => Some(key_id),
            _ => None,
        },
        _ => None,
    }
}
