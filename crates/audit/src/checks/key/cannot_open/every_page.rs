//! Keys that were tried on every page (`--deep`): files that they do not open.

use std::collections::HashSet;

use innodb::verify::Verdict as Proven;

use super::{damaged, lost, mariadb};
use crate::check::{CheckResult, CheckResults, Context};
use crate::checks::key::{is_mariadb, keyring, live_stores, nothing_wrapped, store_evidence};
use crate::checks::proof::evidence;
use crate::facts::proof::{Proof, UnsoundFile};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

/// Maximum number of files reported individually.
pub(super) const MAX_LISTED: usize = 50;

/// The result of `--deep` with the server's own keys; `None` if a KMS or Vault has the keys, or none were found.
pub(super) fn proof<'a>(cx: &'a Context<'_>) -> Option<&'a Proof> {
    let remote = |sql| keyring(sql).is_ok_and(|keyring| keyring.is_some_and(|keyring| !keyring.is_local_file()));
    let proof = cx.facts.files.as_ref()?.proof.as_ref()?;
    (proof.usable().next().is_some() && !cx.facts.sql.as_ref().is_some_and(remote)).then_some(proof)
}

/// What reading every page with these keys showed.
pub(super) fn judge(cx: &Context<'_>, proof: &Proof) -> Observed<CheckResults> {
    if let Some(result) = lost(cx) {
        return Ok(CheckResults::one(result));
    }
    let mut results = CheckResults::new();
    damaged(cx, &mut results);
    let opened_all_the_same = opened_despite_damage(cx, proof);
    refused(proof, &opened_all_the_same, &mut results);
    if let Some(unseen) = unopened(cx, proof) {
        results.push_unknown("files", unseen);
    }
    let opened = proof.count(Proven::Ok);
    if results.is_empty() && opened == 0 && opened_all_the_same.is_empty() {
        return if is_mariadb(cx) { mariadb::judge(cx) } else { nothing_wrapped(cx) };
    }
    let besides = match opened_all_the_same.len() {
        0 => String::new(),
        more => format!("; also {more} whose page 0 is damaged, see rest-page-damaged"),
    };
    let description =
        format!("{} opens each of {opened} encrypted files, every page of them{besides}", proof.store_names());
    let stores = live_stores(cx).map(|(file, store)| store_evidence(file, store));
    results.pass_if_clean(
        stores.fold(CheckResult::pass("server", EvidenceGrade::Bytes, description), CheckResult::evidence),
    );
    Ok(results)
}

/// Files whose page 0 is damaged, but not in the part that holds the key: `rest-page-damaged` reports them.
fn opened_despite_damage<'a>(cx: &'a Context<'_>, proof: &'a Proof) -> HashSet<&'a str> {
    let damaged = proof.unsound.iter().filter(|file| file.verdict == Proven::BadKeyInfo && !file.locked);
    damaged.map(|file| file.path.as_str()).filter(|path| is_opened(cx, path)).collect()
}

/// Whether a key was tried on page 0 of a tablespace, and opens it.
fn is_opened(cx: &Context<'_>, path: &str) -> bool {
    cx.facts.files.as_ref().is_some_and(|files| files.is_opened(path))
}

/// Files that no known key opens.
fn refused(proof: &Proof, opened: &HashSet<&str>, results: &mut CheckResults) {
    let damaged = proof.count(Proven::BadKeyInfo).saturating_sub(u64::try_from(opened.len()).unwrap_or(u64::MAX));
    let all = proof.locked.saturating_add(damaged);
    let is_refused = |file: &&UnsoundFile| {
        (file.locked || file.verdict == Proven::BadKeyInfo) && !opened.contains(file.path.as_str())
    };
    let listed = proof.unsound.iter().filter(is_refused).take(MAX_LISTED);
    let mut reported = 0_u64;
    for file in listed {
        results.push(refusal(proof, file));
        reported = reported.saturating_add(1);
    }
    let left = all.saturating_sub(reported);
    if left > 0 {
        let stores = proof.store_names();
        let message = format!("{left} more files are not opened by {stores}");
        let observation = format!("{all} files in all are not opened by it; `sealant verify` lists them");
        let seen = Evidence::Host { source: stores, observation };
        results.push(CheckResult::fail("more files", EvidenceGrade::Bytes, message).evidence(seen));
    }
}

/// A file that no known key opens.
fn refusal(proof: &Proof, file: &UnsoundFile) -> CheckResult {
    let (key, stores) = (file.key_text(), proof.store_names());
    let bring_back = |right: &str| match proof.is_with_service() {
        true => format!("bring {right}{key} back in the service before the server restarts"),
        false => format!("put the key file with {right}{key} back before the server restarts"),
    };
    let (message, fix) = match file.verdict {
        Proven::BadKeyInfo if file.is_tablespace() => (
            format!("page 0 of {}, which holds the information about its key, is damaged", file.name),
            format!("restore {} from a backup that `sealant verify` proves sound", file.path),
        ),
        Proven::BadKeyInfo => (
            format!("the information about the key of {} is damaged: no key can open it", file.name),
            format!("restore {} from a backup that `sealant verify` proves sound", file.path),
        ),
        Proven::WrongKey => (format!("{key} of {stores} does not open {}", file.name), bring_back("the right ")),
        _ => {
            let why = proof.why_lost(file).map_or_else(String::new, |why| format!(": {why}"));
            (format!("{} needs {key}, which {stores} does not hold{why}", file.name), bring_back(""))
        }
    };
    evidence(file)
        .into_iter()
        .fold(CheckResult::fail(&file.name, EvidenceGrade::Bytes, message).fix(fix), CheckResult::evidence)
}

/// Encrypted files that could not be proven, and whose key could not be tested on page 0: a running server changes
/// them.
fn unopened(cx: &Context<'_>, proof: &Proof) -> Option<Unavailable> {
    let open =
        |file: &&UnsoundFile| file.verdict == Proven::Unverifiable && file.key.is_some() && !is_opened(cx, &file.path);
    let open: Vec<&UnsoundFile> = proof.unsound.iter().filter(open).collect();
    let first = open.first()?;
    Some(Unavailable {
        what: format!("whether the keys open {} and {} more files", first.name, open.len().saturating_sub(1)),
        why: first.findings.first().map_or_else(|| "no key of its kind was found".to_owned(), |f| f.detail.clone()),
        remedy: "audit a snapshot with --offline, or `sealant verify DIR --keyring FILE`".to_owned(),
    })
}
