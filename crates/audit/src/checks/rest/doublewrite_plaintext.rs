//! `rest-doublewrite-plaintext`.

use std::collections::HashMap;

use findings::Severity;
use innodb::SpaceId;

use super::{all_seen, covered_by_disk, listed, unread, unwalked, with_evidence};
use crate::access;
use crate::artefact::{Artefact, Kind, State, byte_evidence};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub const CHECK: Check = Check {
    id: "rest-doublewrite-plaintext",
    title: "The doublewrite buffer holds clear copies of pages of encrypted tablespaces",
    severity: Severity::Medium,
    explanation: "Every page is written to the doublewrite buffer before it is written to its tablespace, and the \
        copy stays until its slot is used again. These copies are clear: those from before a tablespace was encrypted, \
        of its pages that are still clear, of tables dropped or rebuilt since, and, on MySQL before 8.0.23 and Percona \
        Server before 8.0.20, of every encrypted page. Judged by the type and space id of each slot, compared with the \
        tablespaces. Copies of clear tablespaces do not count here. MySQL from 8.0.20 on keeps the slots in \
        #ib_*.dblwr files, older servers and MariaDB inside ibdata1, Percona Server before 8.0.20 in also in \
        xb_doublewrite (innodb_parallel_doublewrite_path), in clear unless innodb_parallel_dblwr_encrypt is on.",
    applies: "every server with an encrypted tablespace",
    fix: "wait for writes, which use the slots again, then scan again. Slots that are only used when the buffer pool \
        is full may keep their pages for very long: SET GLOBAL innodb_fast_shutdown = 0, stop the server, check in its \
        log that it stopped cleanly, move the #ib_*.dblwr files away, start the server, which creates new ones, and \
        destroy the old. Until then put innodb_doublewrite_dir on an encrypted disk. Percona Server before 8.0.20: \
        innodb_parallel_dblwr_encrypt = ON under [mysqld]; a clean stop removes xb_doublewrite",
    cost: "none; new files and a change of innodb_doublewrite_dir need a restart",
    standards: &["PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Copies of pages of encrypted tables, in the doublewrite files"),
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

/// Clear copies in a doublewrite buffer, by the tablespaces they belong to.
#[derive(Default)]
struct Copies<'a> {
    /// Number of pages with rows, of tablespaces that are meant to be encrypted.
    encrypted: u64,
    /// Names of these tablespaces.
    names: Vec<&'a str>,
    /// Number of pages with rows, of tablespaces that no longer exist.
    gone: u64,
    /// Number of pages with rows, of tablespaces that may exist outside what was read.
    hidden: u64,
    /// Number of pages with rows, of tablespaces that are clear themselves.
    clear: u64,
}

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let spaces = spaces(cx);
    if !spaces.values().any(|space| space.meant_to_be_encrypted()) {
        return nothing_encrypted(cx, &spaces);
    }
    let mut results = CheckResults::new();
    let mut disk = Vec::new();
    let mut seen = Copies::default();
    for buffer in buffers(cx) {
        let copies = copies(buffer, &spaces, all_known(cx));
        if copies.encrypted + copies.gone == 0 {
            seen.clear += copies.clear;
            seen.hidden += copies.hidden;
        } else if buffer.disk_encryption().is_some() {
            disk.push(buffer);
        } else {
            results.push(failure(buffer, &copies));
        }
    }
    covered_by_disk(cx, &disk).into_iter().for_each(|result| results.push(result));
    unread(&unread_files(cx)).into_iter().for_each(|result| results.push(result));
    if let (true, Some(unseen)) = (seen.hidden > 0, unwalked(cx)) {
        results.push_unknown("doublewrite buffer", unseen);
    }
    if buffers(cx).next().is_none() {
        results.push_unknown("doublewrite buffer", no_bytes());
    } else if disk.is_empty() {
        results.pass_if_clean(pass(cx, &seen));
    }
    Ok(results)
}

fn spaces<'c>(cx: &'c Context<'_>) -> HashMap<SpaceId, &'c Artefact<'c>> {
    const KINDS: [Kind; 5] =
        [Kind::Table, Kind::GeneralTablespace, Kind::MysqlTablespace, Kind::Undo, Kind::SystemTablespace];
    let all = cx.artefacts.iter().filter(|artefact| KINDS.contains(&artefact.kind));
    all.filter_map(|artefact| Some((artefact.space_id()?, artefact))).collect()
}

/// Doublewrite files, and system tablespaces with a doublewrite area.
fn buffers<'c>(cx: &'c Context<'_>) -> impl Iterator<Item = &'c Artefact<'c>> {
    cx.artefacts.iter().filter(|artefact| {
        artefact.page_copies().is_some_and(|copies| copies.slots > 0 || artefact.kind == Kind::Doublewrite)
    })
}

fn unread_files<'c>(cx: &'c Context<'_>) -> Vec<&'c Artefact<'c>> {
    cx.artefacts
        .with_kind(Kind::Doublewrite)
        .filter(|file| file.page_copies().is_none() && file.bytes != Some(State::Empty))
        .collect()
}

/// Whether all tablespaces are known, so that one that was not found does not exist.
fn all_known(cx: &Context<'_>) -> bool {
    cx.facts.sql.as_ref().is_some_and(|sql| sql.answered("tablespaces")) || unwalked(cx).is_none()
}

fn copies<'c>(buffer: &Artefact<'_>, spaces: &HashMap<SpaceId, &'c Artefact<'c>>, all_known: bool) -> Copies<'c> {
    let mut found = Copies::default();
    for pages in buffer.page_copies().iter().flat_map(|copies| &copies.by_space).filter(|pages| pages.clear_data > 0) {
        match spaces.get(&pages.space_id) {
            Some(space) if space.meant_to_be_encrypted() => {
                found.encrypted += pages.clear_data;
                found.names.push(&space.name);
            }
            Some(_) => found.clear += pages.clear_data,
            // The list of MySQL omits the system tablespace, which is never encrypted.
            None if pages.space_id == SpaceId(0) => found.clear += pages.clear_data,
            None if !all_known => found.hidden += pages.clear_data,
            None => found.gone += pages.clear_data,
        }
    }
    found
}

fn failure(buffer: &Artefact<'_>, copies: &Copies<'_>) -> CheckResult {
    let mut text = Vec::new();
    if copies.encrypted > 0 {
        let names = listed(copies.names.iter().copied());
        text.push(format!("{} clear pages with rows of encrypted tablespaces ({names})", copies.encrypted));
    }
    if copies.gone > 0 {
        text.push(format!("{} clear pages with rows of tablespaces that no longer exist", copies.gone));
    }
    if copies.clear > 0 {
        text.push(format!("{} of clear tablespaces, which do not count here", copies.clear));
    }
    let text = format!("{} holds {}", buffer.name, text.join(", "));
    with_evidence(CheckResult::fail(&buffer.name, EvidenceGrade::Bytes, text), evidence(buffer))
}

fn pass(cx: &Context<'_>, seen: &Copies<'_>) -> CheckResult {
    let news = if seen.clear > 0 {
        format!("; {} clear copies belong to clear tablespaces", seen.clear)
    } else {
        String::new()
    };
    let slots: u64 = buffers(cx).filter_map(|buffer| buffer.page_copies()).map(|copies| copies.slots).sum();
    let text = format!("none of {slots} slots read holds a clear page with rows of an encrypted tablespace{news}");
    let evidence = buffers(cx).next().map(evidence).unwrap_or_default();
    with_evidence(CheckResult::pass("server", EvidenceGrade::Bytes, text), evidence)
}

fn evidence(buffer: &Artefact<'_>) -> Vec<Evidence> {
    let Some(file) = buffer.file else { return Vec::new() };
    if buffer.kind == Kind::Doublewrite {
        return byte_evidence(file);
    }
    let copies = buffer.page_copies().cloned().unwrap_or_default();
    let meaning = format!(
        "doublewrite area: {} slots, {} encrypted, {} clear with rows, {} clear without",
        copies.slots, copies.encrypted, copies.clear_data, copies.clear_structural
    );
    // Pages 64 to 191 of 16 KiB, unless page 5 names others.
    vec![Evidence::Bytes { path: file.path.clone(), offset: 1 << 20, hex: String::new(), meaning }]
}

fn nothing_encrypted(cx: &Context<'_>, spaces: &HashMap<SpaceId, &Artefact<'_>>) -> Observed<CheckResults> {
    let named = cx.facts.sql.as_ref().is_some_and(|sql| sql.answered("tablespaces"));
    if all_seen(cx) || named && spaces.values().any(|space| space.state().is_some()) {
        return Ok(CheckResults::not_applicable(
            "no tablespace is encrypted: clear copies of clear pages do not count",
        ));
    }
    cx.facts.files()?;
    unwalked(cx).map_or_else(|| Ok(CheckResults::new()), Err)
}

fn no_bytes() -> Unavailable {
    Unavailable {
        what: "slots of the doublewrite buffer".to_owned(),
        why: "no server reports what its doublewrite buffer holds, and no doublewrite file was read".to_owned(),
        remedy: access::reading(
            "#ib_*.dblwr, or before 8.0.20 ibdata1 and, of Percona Server, xb_doublewrite; on MariaDB ibdata1",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, TABLESPACE_COLUMNS, mysql, tablespace, tablespace_with};
    use innodb::doublewrite::DoublewriteScan;
    use innodb::tablespace::{DoublewriteCopies, SpacePages, TablespaceKind};

    fn of_spaces(pages: &[(u32, u64)]) -> DoublewriteCopies {
        let by_space = pages
            .iter()
            .map(|(space, clear)| SpacePages { space_id: SpaceId(*space), clear_data: *clear, ..SpacePages::default() })
            .collect();
        let clear_data = pages.iter().map(|(_, clear)| clear).sum();
        DoublewriteCopies { slots: 64, clear_data, by_space, ..DoublewriteCopies::default() }
    }

    fn file(pages: &[(u32, u64)]) -> Content {
        Content::Doublewrite {
            scan: Box::new(DoublewriteScan {
                file_bytes: 1 << 20,
                page_bytes: 16384,
                complete: true,
                copies: of_spaces(pages),
                clear_slots: Vec::new(),
            }),
        }
    }

    fn with_table(what: &str) -> FactsBuilder {
        mysql().file("demo/t.ibd", tablespace(what, 9, 0))
    }

    #[test]
    fn clear_copies_of_an_encrypted_tablespace_fail() {
        let found = with_table("encrypted").file("#ib_16384_0.dblwr", file(&[(7, 3)])).judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Bytes)));
        assert!(found[0].message.contains("demo/t.ibd"));
    }

    #[test]
    fn copies_of_dropped_tables_fail_and_of_clear_ones_are_no_news() {
        let made = with_table("encrypted").file("#ib_16384_0.dblwr", file(&[(99, 3)]));
        assert!(made.judge(&CHECK)[0].message.contains("no longer exist"));
        let made = with_table("encrypted").file("#ib_16384_0.dblwr", file(&[(0, 3)]));
        let found = made.judge(&CHECK);
        assert_eq!(found[0].status, Pass);
        assert!(found[0].message.contains("belong to clear tablespaces"));
    }

    #[test]
    fn old_servers_keep_the_slots_in_the_system_tablespace() {
        let ibdata1 = tablespace_with("plain", 0, 0, |scan| {
            scan.kind = TablespaceKind::System;
            scan.page0.space_id = SpaceId(0);
            scan.doublewrite = of_spaces(&[(7, 1)]);
        });
        assert_eq!(with_table("encrypted").file("ibdata1", ibdata1).judge(&CHECK)[0].artefact, "ibdata1");
    }

    #[test]
    fn nothing_encrypted_is_not_applicable() {
        let clear = FactsBuilder::nothing()
            .file("demo/t.ibd", tablespace("plain", 0, 9))
            .file("#ib_16384_0.dblwr", file(&[(7, 3)]));
        assert_eq!(clear.statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn without_bytes_it_is_unknown() {
        let made = mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[&["7", "demo/t", "Single", "Y"]]);
        assert_eq!(made.statuses(&CHECK), [Unknown]);
        let made = with_table("encrypted").file("#ib_16384_0.dblwr", Content::Unreadable { why: "denied".to_owned() });
        assert!(made.statuses(&CHECK).contains(&Unknown));
    }
}
