//! `key-backup-missing`.

use std::collections::{BTreeMap, BTreeSet};

use findings::Severity;
use innodb::binlog::BinlogEncryption;
use innodb::tablespace::Encryption;
use innodb::verify::Verdict as Proven;
use register::mariadb_name;

use super::{can_encrypt, keyring, live_stores, wrapped};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::proof::evidence;
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::files::Content;
use crate::facts::host::Role;
use crate::facts::proof::{Proof, ProofStore, UnsoundFile};
use crate::facts::register::RegisterFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "key-backup-missing",
    title: "No copy of the current keys is proven",
    severity: Severity::Critical,
    explanation: "If the keys are lost, everything encrypted with them is lost, including backups. No server records \
        whether a copy exists. A copy named with --keyring-copy (--key-file-copy on MariaDB) is tested: every \
        encrypted file of the server must open with it alone, tablespaces by page 0 and their first pages, logs as a \
        whole. A copy from before the last rotation fails. Without the option, the register of keys decides: a copy \
        that `sealant rotate` proved counts while its bytes are unchanged, it is outside the data directory, and it \
        holds every key that the server holds or uses now. Otherwise, and for keys in a KMS or Vault, the result is \
        UNKNOWN until somebody attests a copy in a waiver, which has an expiry date.",
    applies: "servers with encrypted data",
    fix: "copy the keys off this host after each rotation, and prove the copy with --keyring-copy or `sealant verify \
        DIR --keyring COPY`",
    cost: "none",
    standards: &["PCI DSS 4.0.1 3.7.3", "NIST SP 800-53r5 CP-9", "GDPR 32(1)(c)"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// Maximum number of keys, and of files for one key, in a finding.
const MAX_NAMES: usize = 5;

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    match cx.facts.files.as_ref().and_then(|files| files.copy_proof.as_ref()) {
        Some(proof) => by_proof(proof),
        None => unproven(cx),
    }
}

/// Judges copies that were tested.
fn by_proof(proof: &Proof) -> Observed<CheckResults> {
    let mut results = CheckResults::new();
    proof.stores.iter().filter_map(unusable).for_each(|result| results.push(result));
    if proof.locked > 0 && proof.usable().next().is_some() {
        results.push(not_enough(proof));
    }
    for copy in &proof.stores {
        if let Some(why) = &copy.no_copy {
            let what = format!("whether {} is a copy of the keys", copy.path);
            let remedy = format!("name a copy outside the data directory and the directory of the keys, {REMEDY}");
            results.push_unknown(&copy.path, Unavailable { what, why: format!("it {why}"), remedy });
        }
    }
    if let Some(unseen) = untested(proof) {
        results.push_unknown("files", unseen);
    }
    if results.is_empty() && opened(proof) == 0 {
        return Err(Unavailable {
            what: format!("whether {} suffices", proof.store_names()),
            why: "no file is encrypted with a key that it could have opened".to_owned(),
            remedy: REMEDY.to_owned(),
        });
    }
    results.pass_if_clean(enough(proof));
    Ok(results)
}

/// The command lines that prove a copy.
const REMEDY: &str = "and prove it: `sealant verify DIR --keyring COPY` (MariaDB: --mariadb-key-file COPY), or audit \
    on the server's host with --keyring-copy COPY (--key-file-copy COPY)";

/// A copy that is damaged, or that its password does not open.
fn unusable(copy: &ProofStore) -> Option<CheckResult> {
    let why = copy.why.as_ref()?;
    let seen = Evidence::Host { source: copy.path.clone(), observation: why.clone() };
    let fix = format!("replace {} by a copy of the current keys, {REMEDY}", copy.path);
    let message = format!("the copy {} cannot be used: {why}", copy.path);
    Some(CheckResult::fail(&copy.path, EvidenceGrade::Bytes, message).evidence(seen).fix(fix))
}

/// Some file needs a key that the copies lack.
fn not_enough(proof: &Proof) -> CheckResult {
    let copies = proof.store_names();
    let locked: Vec<&UnsoundFile> = proof.unsound.iter().filter(|file| file.locked).collect();
    let mut by_key: BTreeMap<String, Vec<&UnsoundFile>> = BTreeMap::new();
    for file in &locked {
        by_key.entry(file.key_text()).or_default().push(file);
    }
    let keys: Vec<String> = by_key.iter().take(MAX_NAMES).map(|(key, files)| missing(proof, key, files)).collect();
    let more = by_key.len().saturating_sub(keys.len());
    let more = if more > 0 { format!("; and {more} more keys") } else { String::new() };
    let message =
        format!("the copy {copies} does not open {} of the encrypted files: {}{more}", proof.locked, keys.join("; "));
    let is_lost = locked.iter().any(|file| proof.why_lost(file).is_some());
    let fix = match is_lost && proof.usable().all(|store| store.names_service) {
        true => format!("bring the keys back in the service that {copies} names, {REMEDY}"),
        false => format!("copy the current keys over {copies}, {REMEDY}; repeat it after each rotation"),
    };
    let examples = by_key.values().filter_map(|files| files.first()).take(MAX_NAMES);
    let result = CheckResult::fail(&copies, EvidenceGrade::Bytes, message).fix(fix).evidence(tested(proof));
    examples.flat_map(|file| evidence(file).into_iter().take(1)).fold(result, CheckResult::evidence)
}

fn missing(proof: &Proof, key: &str, files: &[&UnsoundFile]) -> String {
    let how = match files.first().map(|file| file.verdict) {
        Some(Proven::WrongKey) => "is another key there",
        _ => "is not in it",
    };
    let names: Vec<&str> = files.iter().take(MAX_NAMES).map(|file| file.name.as_str()).collect();
    let more = files.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let why = files.first().and_then(|file| proof.why_lost(file)).map_or_else(String::new, |why| format!(": {why}"));
    format!("{key} {how} ({}{more}){why}", names.join(", "))
}

/// Files that show nothing about the copy, although they may be encrypted.
fn untested(proof: &Proof) -> Option<Unavailable> {
    let mute = |verdict| matches!(verdict, Proven::Unverifiable | Proven::BadKeyInfo);
    let listed = proof.unsound.iter().filter(|file| mute(file.verdict)).map(|file| file.name.as_str());
    let names: Vec<&str> = listed.chain(proof.unread.iter().map(|file| file.path.as_str())).take(MAX_NAMES).collect();
    let unread = u64::try_from(proof.unread.len()).unwrap_or(u64::MAX);
    let count =
        proof.count(Proven::Unverifiable).saturating_add(proof.count(Proven::BadKeyInfo)).saturating_add(unread);
    let more = count.saturating_sub(u64::try_from(names.len()).unwrap_or(u64::MAX));
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (count > 0).then(|| Unavailable {
        what: format!("whether the copy opens {}{more}", names.join(", ")),
        why: "unreadable, damaged where the key is named, constantly changing, or encrypted by a key store of which \
            no copy was named"
            .to_owned(),
        remedy: "name copies of all key stores in use, run as a user who can read the data directory, and prove a \
            snapshot of a busy server: `sealant verify DIR --keyring COPY`"
            .to_owned(),
    })
}

/// Encrypted files that the copies opened, with or without damaged pages.
fn opened(proof: &Proof) -> u64 {
    let damaged = |file: &&UnsoundFile| {
        let opens = matches!(file.verdict, Proven::Damaged | Proven::Truncated) && !file.locked;
        opens && file.key.is_some() && file.units.encrypted > 0
    };
    let damaged = proof.unsound.iter().filter(damaged).count();
    proof.count(Proven::Ok).saturating_add(u64::try_from(damaged).unwrap_or(u64::MAX))
}

fn enough(proof: &Proof) -> CheckResult {
    let copies = proof.store_names();
    let message = format!("{copies} alone opens each of {} encrypted files, tried at {:.0}", opened(proof), proof.at);
    CheckResult::pass("server", EvidenceGrade::Bytes, message).evidence(tested(proof))
}

/// What was tested, when and how thoroughly.
fn tested(proof: &Proof) -> Evidence {
    let depth = if proof.every_page { "every page" } else { "page 0 and the first pages of each tablespace" };
    let observation =
        format!("at {:.0}: {} encrypted files opened, {} not; {depth}", proof.at, opened(proof), proof.locked);
    Evidence::Host { source: proof.store_names(), observation }
}

/// No copy was named.
fn unproven(cx: &Context<'_>) -> Observed<CheckResults> {
    let keys_in_use = live_stores(cx).any(|(_, store)| !store.entries.is_empty()) || !wrapped(cx, true).is_empty();
    let mut what = "a copy of the keys".to_owned();
    if let Some(sql) = cx.facts.sql.as_ref().filter(|_| !keys_in_use) {
        if !can_encrypt(sql) {
            return Ok(CheckResults::not_applicable(format!("{} has no encryption at rest", sql.identity.version)));
        }
        match keyring(sql)? {
            None => return Ok(CheckResults::not_applicable("no key store is loaded")),
            Some(keyring) => what = format!("a copy of the keys of {}", keyring.name),
        }
    }
    by_register(cx).map_err(|why| Unavailable {
        what,
        why: format!("no proof of one is recorded: {why}"),
        remedy: format!(
            "copy the keys off this host after each rotation, {REMEDY}; where no file holds the keys, open a restored \
             backup and attest it: a [[waiver]] with check = \"key-backup-missing\", reason, approver and expires"
        ),
    })
}

/// Judges the copies in the register.
///
/// # Errors
/// Why it is not known that unchanged copies contain all keys.
fn by_register(cx: &Context<'_>) -> Result<CheckResults, String> {
    let register = match &cx.facts.register {
        Some(Ok(register)) => register,
        Some(Err(unseen)) => return Err(unseen.why.clone()),
        None => return Err("no register of keys was read".to_owned()),
    };
    if register.copies.is_empty() {
        return Err(format!("{} knows of no copy", register.path));
    }
    let held = register.held.as_ref().map_err(|unseen| {
        format!("{} names copies, but they cannot be compared with the server's keys: {}", register.path, unseen.why)
    })?;
    let keys: BTreeSet<String> = held.iter().cloned().chain(asked_for(cx)).collect();
    let lacking: Vec<&str> =
        keys.iter().filter(|key| !register.copies.iter().any(|copy| copy.keeps(key))).map(String::as_str).collect();
    if lacking.is_empty() && !keys.is_empty() {
        return Ok(CheckResults::one(recorded(register, &keys)));
    }
    let faults = register.copies.iter().filter_map(|copy| Some(format!("{} {}", copy.path, copy.fault()?)));
    let faults: Vec<String> = faults.take(MAX_NAMES).collect();
    let names = lacking.iter().take(MAX_NAMES).copied().collect::<Vec<_>>().join(", ");
    let faults = if faults.is_empty() { String::new() } else { format!("; {}", faults.join("; ")) };
    Err(format!("{} knows of no copy with {names} as it is now{faults}", register.path))
}

/// Copies in the register contain all keys.
fn recorded(register: &RegisterFacts, keys: &BTreeSet<String>) -> CheckResult {
    let used: Vec<_> = register.copies.iter().filter(|copy| keys.iter().any(|key| copy.keeps(key))).collect();
    let names: Vec<&str> = used.iter().map(|copy| copy.path.as_str()).collect();
    let message =
        format!("{} of the server's keys are in {}, by the register {}", keys.len(), names.join(", "), register.path);
    let seen = used.iter().map(|copy| Evidence::Host {
        source: copy.path.clone(),
        observation: format!("unchanged since it was proven at {:.0}, as {} says", copy.proven, register.path),
    });
    seen.fold(CheckResult::pass("server", EvidenceGrade::Bytes, message), CheckResult::evidence)
}

/// Names of the keys in the headers of the server's files.
fn asked_for(cx: &Context<'_>) -> BTreeSet<String> {
    let wrapped = wrapped(cx, true).into_iter().filter(|file| !file.temporary && file.id != 0);
    let wrapped = wrapped.map(|file| file.key_name());
    let files = cx.facts.files.iter().flat_map(|files| &files.files).filter(|file| file.role != Role::Backup);
    let named = files.filter_map(|file| match &file.content {
        Content::BinaryLog { log, .. } => match &log.encryption {
            BinlogEncryption::MySql { key_id, .. } => key_id.clone(),
            _ => None,
        },
        Content::Tablespace { scan } => match &scan.page0.encryption {
            Encryption::MariaDb { scheme: 1, key_id, min_key_version, .. } => {
                Some(mariadb_name(*key_id, min_key_version.0.max(1)))
            }
            _ => None,
        },
        _ => None,
    });
    wrapped.chain(named).collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use register::CopyState;

    use super::super::tests::{UUID, json, space, with_plugins};
    use super::*;
    use crate::checks::proof::made::{proof, store, unsound};
    use crate::facts::register::RegisteredCopy;
    use crate::finding::Finding;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn tried_with(proof: Proof) -> Vec<Finding> {
        let mut made = mysql().file("demo/t.ibd", space(3, UUID));
        made.0.files.as_mut().unwrap().copy_proof = Some(proof);
        made.judge(&CHECK)
    }

    #[test]
    fn without_a_copy_it_is_never_proven() {
        let found = FactsBuilder::nothing().file("component_keyring_file", json(&[1])).judge(&CHECK);
        assert_eq!(found[0].status, Unknown);
        let remedy = found[0].remediation.as_ref().unwrap();
        for variant in ["[[waiver]]", "sealant verify DIR --keyring COPY", "--keyring-copy", "--key-file-copy"] {
            assert!(remedy.contains(variant), "{remedy}");
        }
        let made = with_plugins(mariadb(), &[["aws_key_management", "ENCRYPTION"]]);
        assert_eq!(made.statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn without_keys_there_is_nothing_to_copy() {
        assert_eq!(with_plugins(mariadb(), &[]).statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn a_copy_that_opens_everything_passes() {
        let found = tried_with(proof(7, Vec::new()));
        assert_eq!(found[0].status, Pass);
        assert!(found[0].message.contains("/keys/keyring alone opens each of 7"), "{}", found[0].message);
        let damaged = UnsoundFile {
            units: innodb::verify::Units { encrypted: 6, bad: 1, total: 7, ..Default::default() },
            ..unsound("demo/t.ibd", Proven::Damaged)
        };
        let found = tried_with(proof(7, vec![damaged]));
        assert!(found[0].status == Pass && found[0].message.contains("each of 8"), "{}", found[0].message);
    }

    #[test]
    fn a_copy_from_before_the_rotation_fails_with_keys_and_files() {
        let files = (0..9).map(|i| unsound(&format!("demo/t{i}.ibd"), Proven::MissingKey)).collect();
        let found = tried_with(proof(7, files));
        assert_eq!((found.len(), found[0].status, found[0].severity), (1, Fail, Severity::Critical));
        let key = format!("INNODBKey-{UUID}-3 is not in it (demo/t0.ibd, ");
        let message = &found[0].message;
        assert!(
            message.contains(&key) && message.contains("and 4 more") && message.contains("does not open 9"),
            "{message}"
        );
        assert_eq!(tried_with(proof(0, vec![unsound("demo/t.ibd", Proven::WrongKey)]))[0].status, Fail);
        let hidden = UnsoundFile { locked: true, ..unsound("demo/t.ibd", Proven::Damaged) };
        assert_eq!(tried_with(proof(7, vec![hidden]))[0].status, Fail);
    }

    /// A register with one copy that holds these keys, and a key store with those.
    fn with_register(state: CopyState, copied: &[&str], held: &[&str]) -> FactsBuilder {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let copy = RegisteredCopy {
            path: "/safe/k.age".to_owned(),
            proven: Timestamp::UNIX_EPOCH,
            state,
            no_copy: None,
            keys: set(copied),
            differing: BTreeSet::new(),
        };
        let mut made = mysql().file("demo/t.ibd", space(3, UUID));
        made.0.register = Some(Ok(RegisterFacts {
            path: "/state/keys.json".to_owned(),
            last_rotated: BTreeMap::new(),
            keys: BTreeMap::new(),
            copies: vec![copy],
            backups: BTreeMap::new(),
            held: Ok(set(held)),
        }));
        made
    }

    #[test]
    fn a_copy_in_the_register_counts_as_long_as_it_holds_every_key_and_is_unchanged() {
        let used = format!("INNODBKey-{UUID}-3");
        let passes = with_register(CopyState::Stands, &[&used], &[&used]).judge(&CHECK);
        assert_eq!(passes[0].status, Pass);
        assert!(passes[0].message.contains("/safe/k.age, by the register /state/keys.json"), "{}", passes[0].message);
        let unknown = |made: FactsBuilder| {
            let found = made.judge(&CHECK);
            assert_eq!((found.len(), found[0].status), (1, Unknown));
            found[0].message.clone()
        };
        for state in [CopyState::Gone, CopyState::Changed, CopyState::NoHash] {
            unknown(with_register(state, &[&used], &[&used]));
        }
        unknown(with_register(CopyState::Unread { reason: "denied".to_owned() }, &[&used], &[&used]));
        // The store has a key that was created later, or a table names one that the store lost.
        let why = unknown(with_register(CopyState::Stands, &[&used], &[&used, "another"]));
        assert!(why.contains("another"), "{why}");
        unknown(with_register(CopyState::Stands, &["another"], &["another"]));
        let changed = |change: &dyn Fn(&mut RegisterFacts)| {
            let mut made = with_register(CopyState::Stands, &[&used], &[&used]);
            change(made.0.register.as_mut().unwrap().as_mut().unwrap());
            unknown(made)
        };
        changed(&|register| register.copies[0].no_copy = Some("lies in the data directory".to_owned()));
        changed(&|register| _ = register.copies[0].differing.insert(used.clone()));
        let unseen = |why: &str| Unavailable { what: String::new(), why: why.to_owned(), remedy: String::new() };
        assert!(changed(&|register| register.held = Err(unseen("not permitted"))).contains("not permitted"));
        let mut unread = with_register(CopyState::Stands, &[&used], &[&used]);
        unread.0.register = Some(Err(unseen("is of the server x")));
        assert!(unknown(unread).contains("is of the server x"));
    }

    #[test]
    fn a_copy_that_cannot_be_read_fails() {
        let mut bad = proof(0, vec![unsound("demo/t.ibd", Proven::Unverifiable)]);
        bad.stores[0].why = Some("damaged: its end is missing".to_owned());
        let found = tried_with(bad);
        assert_eq!((found[0].status, found[0].artefact.as_str()), (Fail, "/keys/keyring"));
        let mut half = proof(7, Vec::new());
        half.stores.push(ProofStore { why: Some("is empty".to_owned()), ..store("/keys/other") });
        assert_eq!(tried_with(half)[0].status, Fail);
    }

    #[test]
    fn what_is_no_copy_or_was_not_tried_proves_nothing() {
        let mut same = proof(7, Vec::new());
        same.stores[0].no_copy = Some("is the key store itself, not a copy".to_owned());
        assert_eq!(tried_with(same)[0].status, Unknown);
        for verdict in [Proven::Unverifiable, Proven::BadKeyInfo] {
            let found = tried_with(proof(7, vec![unsound("demo/t.ibd", verdict)]));
            assert_eq!((found.len(), found[0].status), (1, Unknown), "{verdict:?}");
        }
        assert_eq!(tried_with(proof(0, Vec::new()))[0].status, Unknown);
    }
}
