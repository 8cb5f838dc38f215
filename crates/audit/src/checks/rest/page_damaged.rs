//! `rest-page-damaged`.

use findings::Severity;
use innodb::file_kind::report_name;
use innodb::verify::Verdict as Proven;

use super::{data_seen, listed, unless_unwalked, unwalked};
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::proof::evidence;
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::files::FileFact;
use crate::facts::host::Role;
use crate::facts::proof::{Proof, UnsoundFile};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "rest-page-damaged",
    title: "Pages fail their checksum or are in the wrong place",
    severity: Severity::High,
    explanation: "The server finds a damaged page only when it reads the page. Until then every physical backup of \
        this server copies the damage. With --deep every page of tablespaces, undo, redo, doublewrite, binary logs and \
        Aria tables is decrypted with the given keys, and its checksum, position and presence are checked, as `sealant \
        verify` does. A page that the server was writing is read again; a file that keeps changing, or whose key is \
        missing, is UNKNOWN and never damage.",
    applies: "every server, with --deep and access to the data directory",
    fix: "restore the file from a backup that `sealant verify` proves sound, and check the disk",
    cost: "the restore; the check itself reads the data directory once again",
    standards: &["NIST SP 800-53r5 SI-7", "NIST SP 800-53r5 CP-9", "GDPR 32(1)(b)"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Restore,
    locked_out: None,
    judge,
};

/// Maximum number of damaged files reported individually.
const MAX_LISTED: usize = 50;

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files = cx.facts.files()?;
    let Some(proof) = &files.proof else { return unproven(cx) };
    let mut results = CheckResults::new();
    let damaged: Vec<&UnsoundFile> = proof.unsound.iter().filter(|file| is_damage(file.verdict)).collect();
    let (named, more) = damaged.split_at(damaged.len().min(MAX_LISTED));
    named.iter().for_each(|file| results.push(one(file, files.is_opened(&file.path))));
    rest(proof, more, named.len(), &mut results);
    open(proof, &mut results);
    if proof.files() == 0 && results.is_empty() {
        return nothing_to_prove(cx);
    }
    results.pass_if_clean(pass(proof));
    Ok(unless_unwalked(cx, results))
}

const fn is_damage(verdict: Proven) -> bool {
    matches!(verdict, Proven::Damaged | Proven::Truncated | Proven::BadKeyInfo)
}

/// `opened`: a key opens the record on page 0.
fn one(file: &UnsoundFile, opened: bool) -> CheckResult {
    let unit = report_name::unit_of_kind(file.kind);
    let message = match file.verdict {
        Proven::Truncated => {
            let missing = file.findings.first().map_or_else(String::new, |finding| format!(": {}", finding.detail));
            format!("{} is shorter than it must be{missing}", file.name)
        }
        Proven::BadKeyInfo if opened => {
            format!("page 0 of {} is damaged, although the key still opens the file", file.name)
        }
        Proven::BadKeyInfo if !file.is_tablespace() => {
            format!("{} is damaged where it names its key: no key can open it", file.name)
        }
        Proven::BadKeyInfo => {
            format!("page 0 of {}, which holds the information about its key, is damaged", file.name)
        }
        _ if file.units.bad > 0 => {
            format!("{} of {} {unit}s of {} fail their checks", file.units.bad, file.units.total, file.name)
        }
        _ => format!("{} is damaged", file.name),
    };
    let fix = format!(
        "restore {} from a backup that `sealant verify` proves sound, and check the disk; until then keep the older \
            backups",
        file.path
    );
    evidence(file)
        .into_iter()
        .fold(CheckResult::fail(&file.name, EvidenceGrade::Bytes, message).fix(fix), CheckResult::evidence)
}

/// Damaged files that are not reported individually.
fn rest(proof: &Proof, more: &[&UnsoundFile], reported: usize, results: &mut CheckResults) {
    let damage = [Proven::Damaged, Proven::Truncated, Proven::BadKeyInfo];
    let all = damage.iter().fold(0, |sum: u64, results| sum.saturating_add(proof.count(*results)));
    let left = all.saturating_sub(u64::try_from(reported).unwrap_or(u64::MAX));
    if left == 0 {
        return;
    }
    let names = listed(more.iter().map(|file| file.name.as_str()));
    let message = format!("{left} more files are damaged: {names}");
    let result = CheckResult::fail("more files", EvidenceGrade::Bytes, message);
    results.push(more.iter().take(1).flat_map(|file| evidence(file)).fold(result, CheckResult::evidence));
}

/// Files that could not be proven: an UNKNOWN for each reason.
fn open(proof: &Proof, results: &mut CheckResults) {
    const REASONS: [(Proven, &str, &str, &str); 4] = [
        (
            Proven::Unverifiable,
            "unproven files",
            "no key for them was given, they kept changing, or their version is not known",
            "give the keys: `sealant verify DIR --keyring FILE` or --mariadb-key-file FILE; on a busy server audit a \
             snapshot with --offline",
        ),
        (
            Proven::MissingKey,
            "files with a missing key",
            "their key is not in the key file, see key-cannot-open",
            "put the key file with their keys in place, or give it to `sealant verify DIR --keyring FILE`",
        ),
        (
            Proven::WrongKey,
            "files with a wrong key",
            "their key opens nothing, see key-cannot-open",
            "put the key file with their keys in place, or give it to `sealant verify DIR --keyring FILE`",
        ),
        (
            Proven::Unidentified,
            "unidentified files",
            "this release does not know their format, although their name or place suggests one",
            "find out what they are, and remove what does not belong to the server",
        ),
    ];
    for (kind, artefact, why, remedy) in REASONS {
        let count = proof.count(kind);
        if count > 0 {
            let names = listed(proof.unsound.iter().filter(|file| file.verdict == kind).map(|file| file.name.as_str()));
            let what = format!("pages of {count} files ({names})");
            results.push_unknown(artefact, Unavailable { what, why: why.to_owned(), remedy: remedy.to_owned() });
        }
    }
    if let Some(first) = proof.unread.first() {
        let names = listed(proof.unread.iter().map(|file| file.path.as_str()));
        let remedy = access::AS_SERVER_USER.to_owned();
        results.push_unknown(
            "unread files",
            Unavailable { what: format!("pages of {names}"), why: first.why.clone(), remedy },
        );
    }
}

fn pass(proof: &Proof) -> CheckResult {
    let units = &proof.units;
    let text = format!(
        "{} files, {} pages, blocks and events: each was read and decrypted, and every checksum and position is right",
        proof.files(),
        units.total
    );
    let stores = match proof.store_names() {
        names if names.is_empty() => "no key was needed".to_owned(),
        names => format!("opened with {names}"),
    };
    let observation = format!("{} encrypted, {} clear, {} empty; {stores}", units.encrypted, units.clear, units.empty);
    let seen = Evidence::Host { source: format!("sealant verify, {:.0}", proof.at), observation };
    CheckResult::pass("server", EvidenceGrade::Bytes, text).evidence(seen)
}

/// Without `--deep`, checksums were not verified.
fn unproven(cx: &Context<'_>) -> Observed<CheckResults> {
    let files = cx.facts.files.iter().flat_map(|files| &files.files).filter(|file| has_pages(file));
    let paths: Vec<&str> = files.map(|file| file.path.as_str()).collect();
    if paths.is_empty() {
        return nothing_to_prove(cx);
    }
    Err(Unavailable {
        what: format!("pages of {} files", paths.len()),
        why: "not every page was read and opened".to_owned(),
        remedy: "audit with --deep, or prove the files with `sealant verify DIR --keyring FILE`".to_owned(),
    })
}

fn has_pages(file: &FileFact) -> bool {
    file.content.has_pages() && file.role != Role::Backup
}

fn nothing_to_prove(cx: &Context<'_>) -> Observed<CheckResults> {
    match unwalked(cx) {
        Some(unseen) => Err(unseen),
        None if data_seen(cx) => Ok(CheckResults::not_applicable("there is no file with pages, blocks or events")),
        None => Err(Unavailable {
            what: "the server's files".to_owned(),
            why: "the data directory could not be read".to_owned(),
            remedy: access::reading_data(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use innodb::verify::{Check as Layer, Finding};

    use super::*;
    use crate::checks::proof::made::{proof, unsound};
    use crate::facts::files::{Content, KeyProof};
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql, tablespace};

    fn with(proof: Proof) -> FactsBuilder {
        let mut made = mysql().file("demo/t.ibd", tablespace("encrypted", 10, 0));
        made.0.files.as_mut().unwrap().proof = Some(proof);
        made
    }

    fn damaged(name: &str) -> UnsoundFile {
        let mut file = unsound(name, Proven::Damaged);
        file.units.total = 7;
        file.units.bad = 1;
        file.findings.push(Finding {
            unit: Some(4),
            offset: Some(65536),
            check: Layer::OpenedChecksum,
            detail: "the checksum does not match after decryption".to_owned(),
        });
        file
    }

    #[test]
    fn a_damaged_page_fails_with_its_number() {
        let found = with(proof(3, vec![damaged("demo/t.ibd")])).judge(&CHECK);
        assert_eq!((found.len(), found[0].status, found[0].artefact.as_str()), (1, Fail, "demo/t.ibd"));
        assert!(found[0].message.starts_with("1 of 7 pages"), "{}", found[0].message);
        let Evidence::Bytes { path, offset, meaning, .. } = &found[0].evidence[0] else { unreachable!() };
        assert_eq!((path.as_str(), *offset), ("/var/lib/mysql/demo/t.ibd", 65536));
        assert!(meaning.contains("opened-checksum") && meaning.contains("page 4"), "{meaning}");
        for verdict in [Proven::Truncated, Proven::BadKeyInfo] {
            assert_eq!(with(proof(3, vec![unsound("demo/t.ibd", verdict)])).statuses(&CHECK), [Fail]);
        }
    }

    #[test]
    fn a_damaged_page_0_is_not_said_to_lose_a_key_that_opens() {
        let message = |opens| {
            let mut made = with(proof(3, vec![unsound("demo/t.ibd", Proven::BadKeyInfo)]));
            made.0.files.as_mut().unwrap().key_proofs.push(KeyProof {
                path: "/var/lib/mysql/demo/t.ibd".to_owned(),
                key: "INNODBKey-1".to_owned(),
                store: "/keys/keyring".to_owned(),
                opens: Some(opens),
                why: None,
            });
            made.judge(&CHECK)[0].message.clone()
        };
        assert_eq!(message(true), "page 0 of demo/t.ibd is damaged, although the key still opens the file");
        assert!(message(false).contains("holds the information about its key"));
    }

    #[test]
    fn many_damaged_files_are_cut_and_counted() {
        let mut proof = proof(3, (0..200).map(|i| damaged(&format!("demo/t{i}.ibd"))).collect());
        proof.verdicts.insert(Proven::Damaged, 500);
        let found = with(proof).judge(&CHECK);
        assert_eq!(found.len(), MAX_LISTED + 1);
        assert!(found[MAX_LISTED].message.starts_with("450 more files"), "{}", found[MAX_LISTED].message);
    }

    #[test]
    fn sound_files_pass() {
        assert_eq!(with(proof(3, Vec::new())).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn what_changes_or_lacks_its_key_is_unknown_and_no_damage() {
        for verdict in [Proven::Unverifiable, Proven::MissingKey, Proven::WrongKey, Proven::Unidentified] {
            assert_eq!(with(proof(3, vec![unsound("demo/t.ibd", verdict)])).statuses(&CHECK), [Unknown], "{verdict:?}");
        }
        let found = with(proof(3, vec![damaged("demo/t.ibd"), unsound("demo/u.ibd", Proven::MissingKey)]));
        assert_eq!(found.statuses(&CHECK), [Fail, Unknown]);
    }

    #[test]
    fn without_every_page_it_is_unknown_and_without_pages_not_concerned() {
        let made = mysql().file("demo/t.ibd", tablespace("encrypted", 10, 0));
        let found = made.judge(&CHECK);
        assert_eq!(found[0].status, Unknown);
        assert!(found[0].remediation.as_ref().unwrap().contains("--deep"));
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
        let structure = mysql().file("demo/t.frm", Content::Structure);
        assert_eq!(structure.statuses(&CHECK), [NotApplicable]);
        let mut proven = structure;
        proven.0.files.as_mut().unwrap().proof = Some(proof(0, Vec::new()));
        assert_eq!(proven.statuses(&CHECK), [NotApplicable]);
    }
}
