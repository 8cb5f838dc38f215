//! The proof of a migration: for a terminal, as JSON Lines to keep, and as a page for an auditor.

use std::io::Write;

use ::migrate::{ChunkProof, JournalEntry, Phase, Proof, ProofVerdict, TableProof};
use askama::Template;
use aws_lc_rs::digest::{Context, SHA256};
use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use super::{json_line, plan::paragraph, run::phase_name};
use crate::{
    Error, Message,
    html::content_security,
    text::{count, number, visible},
};

const STYLE: &str = concat!(include_str!("../../templates/bench.css"), include_str!("../../templates/migrate.css"));

/// Writes a summary of the proof as text, in 80 columns.
///
/// # Errors
/// [`Error::Write`].
pub fn write_migrate_proof(proof: &Proof, out: &mut dyn Write) -> Result<(), Error> {
    paragraph(out, "verdict", &verdict(proof))?;
    for (label, text) in facts(proof) {
        paragraph(out, label, &text)?;
    }
    writeln!(out)?;
    for entry in &proof.journal {
        paragraph(out, "", format!("{}  {}  {}", entry.at, entry.what, entry.detail).trim_end())?;
    }
    Ok(())
}

/// A warning if the proof does not prove the migration.
#[must_use]
pub fn migrate_unproven(proof: &Proof) -> Option<Message> {
    why_unproven(proof).map(|why| Message::warning(format!("the proof does not prove the migration: {why}")))
}

/// Writes the proof as JSON Lines, schema `sealant.migrate-proof/1`. The last line has the SHA-256 of all lines before
/// it.
///
/// # Errors
/// [`Error::Write`].
pub fn write_migrate_proof_lines(proof: &Proof, out: &mut dyn Write) -> Result<(), Error> {
    let mut hash = Context::new(&SHA256);
    let mut line = |record: &str, fields: Value| -> Result<(), Error> {
        let text = line(record, fields)?;
        hash.update(&text);
        Ok(out.write_all(&text)?)
    };
    line("migration", migration(proof))?;
    for (table, status) in proof.tables.iter().zip(&proof.status.tables) {
        let mut fields = serde_json::to_value(table)?;
        if let Value::Object(fields) = &mut fields {
            fields
                .extend([("complete".to_owned(), json!(status.complete)), ("chunks".to_owned(), json!(status.chunks))]);
            fields.extend([("equal_chunks".to_owned(), json!(status.verified))]);
        }
        line("table", fields)?;
    }
    for chunk in proof.tables.iter().flat_map(|table| &table.chunks) {
        line("chunk", serde_json::to_value(chunk)?)?;
    }
    for entry in &proof.journal {
        line("event", serde_json::to_value(entry)?)?;
    }
    let digest = HEXLOWER.encode(hash.finish().as_ref());
    Ok(out.write_all(&self::line("end", json!({ "sha256": digest }))?)?)
}

fn line(record: &str, fields: Value) -> Result<Vec<u8>, Error> {
    json_line([("schema", json!("sealant.migrate-proof/1")), ("record", json!(record))], fields)
}

fn migration(proof: &Proof) -> Value {
    let [endpoint, version, uuid] = &proof.target;
    json!({
        "at": proof.at,
        "verdict": match proof.verdict() {
            ProofVerdict::Proven => "proven",
            ProofVerdict::NotCompared => "not-compared",
            ProofVerdict::LessEncrypted => "less-encrypted",
        },
        "phase": phase_name(proof.status.phase),
        "source": { "uuid": proof.source_uuid, "end_position": proof.source_end },
        "target": { "endpoint": endpoint, "version": version, "uuid": uuid, "end_position": proof.target_end },
        "applied": proof.status.position,
    })
}

/// The verdict as a sentence.
fn verdict(proof: &Proof) -> String {
    match (why_unproven(proof), proof.status.phase) {
        (None, Phase::Switched) => {
            "Proven: every row was compared after its last change and is equal, and no table is less encrypted.".to_owned()
        }
        (None, _) => {
            "Equal so far: every row was compared and is equal, and no table is less encrypted. The cut-over is not done."
                .to_owned()
        }
        (Some(why), _) => format!("Not proven: {why}."),
    }
}

fn why_unproven(proof: &Proof) -> Option<&'static str> {
    match proof.verdict() {
        ProofVerdict::Proven => None,
        ProofVerdict::NotCompared => Some("rows are not copied, not compared since they changed, or differ"),
        ProofVerdict::LessEncrypted => Some("a table is less encrypted than it was, or is not there"),
    }
}

/// Facts about the migration as a whole: pairs of label and text.
fn facts(proof: &Proof) -> Vec<(&'static str, String)> {
    let [endpoint, version, uuid] = &proof.target;
    let opened = proof.journal.iter().find(|entry| entry.what == "opened");
    let opened = opened.map_or_else(String::new, |entry| format!("{}, ", entry.detail));
    let chunks: Vec<&ChunkProof> = proof.tables.iter().flat_map(|table| &table.chunks).collect();
    let current = || chunks.iter().filter(|chunk| chunk.current);
    let rows: u64 = current().map(|chunk| chunk.rows).sum();
    let compared = format!(
        "{} of {} in {}, by a sum of 60 bits of SHA-256 of each row, computed by both servers",
        count(current().count(), "range"),
        number(proof.status.tables.iter().map(|table| table.chunks).sum::<u64>()),
        count(proof.tables.len(), "table")
    );
    let mut facts = vec![
        ("source", format!("{opened}server {}", proof.source_uuid)),
        ("target", format!("{endpoint}, {version}, server {uuid}")),
        ("rows", format!("{}: {compared}", count(rows, "row"))),
    ];
    if !proof.source_end.is_empty() {
        facts.push(("end", format!("the target has everything up to {} of the source's log", proof.source_end)));
    }
    let blocked = proof.journal.iter().filter(|entry| matches!(entry.what.as_str(), "switched" | "lifted"));
    facts.extend(blocked.map(|entry| {
        let until = if entry.what == "switched" { "the cut-over was done" } else { "they were allowed again" };
        ("blocked", format!("{}, until {until} at {}", entry.detail, entry.at))
    }));
    if let Some(clients) = proof.journal.iter().rfind(|entry| entry.what == "clients") {
        facts.push(("clients", format!("connected at the source when writes were blocked: {}", clients.detail)));
    }
    facts.push(("read", format!("{} UTC", proof.at)));
    facts
}

#[derive(Template)]
#[template(path = "migrate.html")]
struct Page<'p> {
    policy: String,
    style: &'static str,
    proven: bool,
    verdict: String,
    facts: Vec<(&'static str, String)>,
    tables: Vec<Row>,
    journal: Vec<[String; 3]>,
    position: &'p str,
}

/// A table's cells.
struct Row {
    name: String,
    rows: String,
    ranges: String,
    last: String,
    position: String,
    rest: String,
    good: bool,
}

/// Writes a page for an auditor. It loads no other resource and runs no script.
///
/// # Errors
/// [`Error::Write`], [`Error::Template`].
pub fn write_migrate_html(proof: &Proof, out: &mut dyn Write) -> Result<(), Error> {
    let page = Page {
        policy: content_security(STYLE, ""),
        style: STYLE,
        proven: proof.verdict() == ProofVerdict::Proven,
        verdict: verdict(proof),
        facts: facts(proof).into_iter().map(|(label, text)| (label, visible(&text).into_owned())).collect(),
        tables: proof
            .tables
            .iter()
            .zip(&proof.status.tables)
            .map(|(table, status)| row(table, status.chunks))
            .collect(),
        journal: proof.journal.iter().map(cells).collect(),
        position: &proof.status.position,
    };
    Ok(out.write_all(page.render()?.as_bytes())?)
}

fn cells(entry: &JournalEntry) -> [String; 3] {
    [&entry.at, &entry.what, &entry.detail].map(|text| visible(text).into_owned())
}

fn row(table: &TableProof, chunks: u64) -> Row {
    let current = || table.chunks.iter().filter(|chunk| chunk.current);
    let equal = u64::try_from(current().count()).unwrap_or(u64::MAX);
    let (last, position) = current().map(ChunkProof::last).max().unwrap_or(("–", "–"));
    let state = |encrypted: Option<bool>| match encrypted {
        Some(true) => "encrypted",
        Some(false) => "clear",
        None => "unknown",
    };
    let at_target = match table.target_encrypted {
        Some(false) if table.storage_encrypted => "storage",
        encrypted => state(encrypted),
    };
    Row {
        name: visible(&table.table).into_owned(),
        rows: number(current().map(|chunk| chunk.rows).sum::<u64>()),
        ranges: format!("{} of {}", number(equal), number(chunks)),
        last: last.to_owned(),
        position: position.to_owned(),
        rest: format!("{} > {}", state(table.source_encrypted), at_target),
        good: equal == chunks && chunks > 0 && !table.is_weaker(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use migrate::{FallbackStatus, Status, TableStatus};

    use super::*;
    use crate::{testing::assert_page, text::collect};

    fn proof() -> Proof {
        let at = || "2026-11-27 12:00:00".to_owned();
        let table = TableStatus {
            name: "shop.orders".to_owned(),
            chunks: 1,
            rows: 1234,
            bytes: 99,
            verified: 1,
            complete: true,
        };
        let chunk = ChunkProof {
            table: table.name.clone(),
            chunk: 0,
            rows: 1234,
            checksum: "77".to_owned(),
            position: "binlog.000002:900".to_owned(),
            at: at(),
            changed_rows: 3,
            changed_position: "binlog.000002:950".to_owned(),
            changed_at: at(),
            current: true,
        };
        let proven = TableProof {
            table: table.name.clone(),
            source_encrypted: Some(true),
            target_encrypted: Some(true),
            storage_encrypted: false,
            chunks: vec![chunk],
        };
        let status = Status {
            phase: Phase::Switched,
            step: "switched".to_owned(),
            fenced: false,
            paused: false,
            running: false,
            seen: Duration::ZERO,
            fallback: FallbackStatus::Impossible,
            position: "binlog.000002:900".to_owned(),
            tables: vec![table],
        };
        Proof {
            at: at(),
            target: ["db2:3306", "9.7.4", "4e11fa47"].map(str::to_owned),
            source_uuid: "3e11fa47".to_owned(),
            source_end: "binlog.000002:900".to_owned(),
            target_end: "binlog.000005:14".to_owned(),
            status,
            tables: vec![proven],
            journal: vec![JournalEntry { at: at(), what: "switched".to_owned(), detail: "0.9 s <b>".to_owned() }],
        }
    }

    #[test]
    fn the_page_has_a_heading_for_every_column_and_loads_nothing() {
        let page = collect(|out| write_migrate_html(&proof(), out)).unwrap();
        assert_page(&page, STYLE);
        let markup = page.replace(STYLE, "");
        let tables = markup.split("<table class=\"tables\">").nth(1).unwrap().split("</table>").next().unwrap();
        let headings: Vec<&str> =
            tables.split("<th>").skip(1).map(|heading| heading.split("</th>").next().unwrap()).collect();
        assert_eq!(
            headings,
            [
                "table",
                "at rest: source &gt; target",
                "rows equal",
                "ranges",
                "last compared",
                "position in the source's log"
            ]
        );
        assert_eq!(tables.matches("<td>").count(), headings.len());
        assert!(markup.contains("0.9 s &#60;b&#62;") || markup.contains("0.9 s &lt;b&gt;"), "{markup}");
    }

    #[test]
    fn the_last_line_is_a_digest_of_those_before_it() {
        let lines = collect(|out| write_migrate_proof_lines(&proof(), out)).unwrap();
        let (before, last) = lines.trim_end().rsplit_once('\n').unwrap();
        let end: Value = serde_json::from_str(last).unwrap();
        assert_eq!(end["sha256"], files::sha256_hex(format!("{before}\n").as_bytes()));
        assert_eq!(before.lines().count(), 4);
    }
}
