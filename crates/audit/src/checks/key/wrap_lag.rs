//! `key-wrap-lag`.

use std::collections::{BTreeMap, BTreeSet};

use findings::{Remedy, Severity};
use process::shell_word;

use super::{Wrapped, live_stores, newest_master_keys, nothing_wrapped, wrapped};
use crate::artefact::Kind;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "key-wrap-lag",
    title: "A tablespace is still wrapped by an older master key",
    severity: Severity::High,
    explanation: "ALTER INSTANCE ROTATE INNODB MASTER KEY re-wraps every tablespace that the server has open. One \
        that was restored, discarded or missed by an interrupted rotation keeps the old key. That key must then not \
        be removed, and whoever has it can open the tablespace. Page 0 names the master key in clear; it is compared \
        with the newest of the same server uuid in any other page 0, redo header, key file or the running keyring. \
        The redo log counts once, by its newest header: the key in it opens the older files, which are not wrapped \
        again. Number 0 is the key of bootstrap, a public constant. For ten minutes after a change of a running \
        server's keyring the key before the newest is UNKNOWN, not FAIL: the server re-wraps at once in memory, and \
        writes page 0 later.",
    applies: "MySQL 5.7.11 and newer",
    fix: "sealant rotate run --redo --recipient age1… --keyring-backup FILE",
    cost: "seconds; blocks DDL on tablespaces meanwhile; the keyring is backed up before and after",
    standards: &["PCI DSS 4.0.1 3.7.4", "PCI DSS 4.0.1 3.7.5"],
    exposes: Exposes::Help(Attacker::Operator, "Tablespaces, to whoever kept an older master key"),
    closed_by: ClosedBy::Rotate,
    locked_out: None,
    judge,
};

/// Effect of the remedy's command.
const ROTATED: &str =
    "it rotates, and waits until page 0 of every tablespace and the header of the redo log are on disk";

/// How long after a rotation page 0 may exist only in the server's memory. An idle server writes it within seconds, a
/// busy one with its next checkpoints.
///
/// Source: seen on 5.7.22 and 9.7.4.
const FLUSH_SECONDS: u64 = 600;

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let mut spaces = wrapped(cx, true);
    spaces.retain(|space| !space.temporary);
    if spaces.is_empty() {
        return nothing_wrapped(cx);
    }
    let newest = newest(cx, &spaces);
    let unknown = unknown(cx);
    let seconds = seconds_since_rotation(cx).filter(|seconds| *seconds < FLUSH_SECONDS);
    let mut results = CheckResults::new();
    for space in &spaces {
        if let Some(message) = behind(space, &newest) {
            if let Some(seconds) = seconds.filter(|_| is_one_behind(space, &newest) && !unknown.contains(space.path)) {
                results.push_unknown(space.name, unflushed(message, seconds));
                continue;
            }
            let result = CheckResult::fail(space.name, EvidenceGrade::Bytes, message).evidence(space.evidence());
            results.push(match unknown.contains(space.path) {
                true => result.fix(format!(
                    "{}: no rotation includes it, since the server does not know it; import it, or move it away",
                    shell_word(space.path)
                )),
                false => result.fix(Remedy::command(CHECK.fix).note(ROTATED)),
            });
        }
    }
    let keys: Vec<String> = newest.iter().map(|(uuid, id)| format!("{id} of {uuid}")).collect();
    let text =
        format!("{} tablespaces and logs are wrapped by the newest key known: {}", spaces.len(), keys.join(", "));
    let pass = CheckResult::pass("server", EvidenceGrade::Bytes, text);
    results.pass_if_clean(spaces.iter().take(3).map(Wrapped::evidence).fold(pass, CheckResult::evidence));
    Ok(results)
}

/// Seconds between the last change of the running server's key file and this audit.
fn seconds_since_rotation(cx: &Context<'_>) -> Option<u64> {
    cx.facts.sql.as_ref()?;
    let changed = live_stores(cx).map(|(file, _)| file.modified).max()?;
    Some(cx.facts.collected_at.as_second().abs_diff(changed))
}

fn unflushed(message: String, seconds: u64) -> Unavailable {
    Unavailable {
        what: message,
        why: format!("its keyring changed {seconds} s before, and the server may not have written page 0 since"),
        remedy: format!("audit again {} minutes after the rotation", FLUSH_SECONDS / 60),
    }
}

/// Files of tables that are not in the server's list of tablespaces.
fn unknown<'a>(cx: &'a Context<'_>) -> BTreeSet<&'a str> {
    if cx.facts.sql.as_ref().is_none_or(|sql| sql.tablespaces().is_err()) {
        return BTreeSet::new();
    }
    let files = [Kind::Table, Kind::GeneralTablespace].iter().flat_map(|kind| cx.artefacts.with_kind(*kind));
    files.filter(|space| space.tablespace.is_none()).filter_map(|space| Some(space.file?.path.as_str())).collect()
}

/// The newest key of each server UUID; files of 5.7.11 have no UUID and are compared among themselves.
fn newest(cx: &Context<'_>, spaces: &[Wrapped<'_>]) -> BTreeMap<String, u32> {
    let mut newest = BTreeMap::new();
    for space in spaces {
        let known = newest.entry(owner(space)).or_insert(space.id);
        *known = space.id.max(*known);
    }
    for (uuid, id) in newest_master_keys(cx) {
        if let Some(known) = newest.get_mut(&uuid) {
            *known = id.max(*known);
        }
    }
    newest
}

fn owner(space: &Wrapped<'_>) -> String {
    space.uuid.map_or_else(|| "no uuid".to_owned(), str::to_ascii_lowercase)
}

/// Whether only the latest rotation is missing. The bootstrap key never counts, because it is public.
fn is_one_behind(space: &Wrapped<'_>, newest: &BTreeMap<String, u32>) -> bool {
    space.id != 0 && newest.get(&owner(space)).is_some_and(|newest| newest.saturating_sub(space.id) == 1)
}

fn behind(space: &Wrapped<'_>, newest: &BTreeMap<String, u32>) -> Option<String> {
    if space.id == 0 {
        return Some(format!("{} is wrapped by the key of bootstrap, which is public", space.name));
    }
    let newest = *newest.get(&owner(space))?;
    (space.id < newest).then(|| format!("{} is wrapped by master key {}, the newest is {newest}", space.name, space.id))
}

#[cfg(test)]
mod tests {
    use innodb::tablespace::TablespaceKind;

    use super::super::tests::{UUID, json, redo, space};
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql, tablespace};

    const OTHER: &str = "11111111-e4cd-11f1-8c02-02fc00000001";

    #[test]
    fn an_older_key_than_another_space_has_fails() {
        let made = FactsBuilder::nothing().file("demo/a.ibd", space(2, UUID)).file("demo/b.ibd", space(1, UUID));
        let found = made.judge(&CHECK);
        assert_eq!((found.len(), found[0].status, found[0].artefact.as_str()), (1, Fail, "demo/b.ibd"));
        assert!(format!("{:?}", found[0].evidence).contains("6c434300000001"));
    }

    #[test]
    fn the_keyring_tells_of_an_interrupted_rotation() {
        let made =
            |numbers: &[u32]| mysql().file("demo/a.ibd", space(2, UUID)).file("component_keyring_file", json(numbers));
        assert_eq!(made(&[1, 2]).statuses(&CHECK), [Pass]);
        assert_eq!(made(&[1, 2, 3]).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn soon_after_a_rotation_page_0_may_not_be_written_yet() {
        let made = |seconds: i64, number: u32| {
            let mut made = mysql()
                .file("demo/a.ibd", space(2, UUID))
                .file("demo/b.ibd", space(number, UUID))
                .file("component_keyring_file", json(&[1, 2]));
            let now = made.0.collected_at.as_second();
            made.0.files.as_mut().unwrap().files[2].modified = now - seconds;
            made
        };
        assert_eq!(made(3, 1).statuses(&CHECK), [Unknown]);
        assert_eq!(made(-3, 1).statuses(&CHECK), [Unknown], "rotated during the audit");
        assert_eq!(made(3, 2).statuses(&CHECK), [Pass]);
        assert_eq!(made(3, 0).statuses(&CHECK), [Fail], "a rotation does not excuse the public key");
        assert_eq!(made(600, 1).statuses(&CHECK), [Fail]);
        let mut twice = made(3, 1).file("demo/c.ibd", space(3, UUID)).file("demo/d.ibd", space(3, UUID));
        twice.0.files.as_mut().unwrap().files[0].content = space(3, UUID);
        assert_eq!(twice.statuses(&CHECK), [Fail], "older than the rotation before");
        let mut offline = made(3, 1);
        offline.0.sql = None;
        assert_eq!(offline.statuses(&CHECK), [Fail], "without a server nothing more is written");
    }

    #[test]
    fn the_redo_log_counts_once_by_its_newest_header() {
        let made = |newest: u32| {
            mysql()
                .file("demo/a.ibd", space(2, UUID))
                .file("#innodb_redo/#ib_redo7", redo(1, 700))
                .file("#innodb_redo/#ib_redo9", redo(newest, 900))
                .file("#innodb_redo/#ib_redo12_tmp", redo(1, 500))
        };
        assert_eq!(made(2).statuses(&CHECK), [Pass]);
        let found = made(1).judge(&CHECK);
        assert_eq!((found.len(), found[0].artefact.as_str()), (1, "#innodb_redo/#ib_redo9"));
        assert!(found[0].remediation.as_ref().is_some_and(|fix| fix.contains("sealant rotate run --redo")));
    }

    #[test]
    fn temporary_tablespaces_are_not_rewrapped() {
        let Content::Tablespace { mut scan } = space(1, UUID) else { panic!("a tablespace") };
        scan.page0.kind = TablespaceKind::SessionTemporary;
        let temporary = Content::Tablespace { scan };
        let made = mysql().file("demo/a.ibd", space(2, UUID)).file("#innodb_temp/temp_1.ibt", temporary);
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn keys_of_different_servers_are_not_compared() {
        let made = mysql().file("demo/a.ibd", space(5, UUID)).file("demo/b.ibd", space(1, OTHER));
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn the_key_of_bootstrap_fails() {
        assert_eq!(mysql().file("mysql.ibd", space(0, UUID)).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn clear_servers_and_mariadb_are_not_concerned() {
        assert_eq!(mysql().file("demo/a.ibd", tablespace("plain", 0, 3)).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
