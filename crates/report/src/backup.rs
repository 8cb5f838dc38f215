//! Human-readable reports on backups, restores and checks of repositories.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use archive::{
    Manifest, Receipt,
    manifest::{ExcludedFile, StoredFile},
};
use backup::{
    Config, Repository,
    check::Checked,
    config::PageStorage,
    init::Init,
    keys::KeyCheck,
    list::ListReport,
    prove::Proof,
    recipients::Challenge,
    restore::{self, Event, JudgedReceipt, Opened, RestorePlan, Restored},
    run::{self, Backup, RunPlan},
};
use codec::entry::{Entry, Kind};
use innodb::keys::NoKeys;
use jiff::Timestamp;
use serde::Serialize;

use crate::{Error, Message, binlogs::replay_messages, labels::second, size, visible};
use snapshot::{Provider, SnapshotCopy};

/// Writes a document as one line of JSON.
///
/// # Errors
/// [`Error::Write`].
pub fn write_json_line(document: &impl Serialize, out: &mut dyn Write) -> Result<(), Error> {
    serde_json::to_writer(&mut *out, document)?;
    writeln!(out)?;
    Ok(())
}

/// Source of the data, for a status line.
#[must_use]
pub fn backup_copy_message(copy: &SnapshotCopy) -> String {
    match copy.provider() {
        Provider::Stopped => "no server runs on it, so the data directory itself is read".to_owned(),
        provider => format!("copy taken by {provider}; {}", copy.effect()),
    }
}

/// Problems of the store that did not stop the backup.
#[must_use]
pub fn store_messages(repository: &Repository) -> Vec<Message> {
    repository.warnings().into_iter().map(Message::warning).collect()
}

/// Messages after a repository and a key were created.
#[must_use]
pub fn backup_init_messages(config: &Config, init: &Init) -> Vec<Message> {
    let state = |made| if made { "made" } else { "there already" };
    let (repository, key) = (&config.repository, config.signing_key.display());
    let mut messages = vec![
        Message::info(format!("repository {repository} ({}), id {}", state(init.made_repository), init.repository.id)),
        Message::info(format!("signing key {key} ({})", state(init.made_key))),
        Message::info(format!("backups of {} are encrypted to {} recipients", config.host, config.recipients.len())),
        Message::info(match config.pages {
            PageStorage::Open => {
                "pages of encrypted tables are decrypted before they are stored: whoever has a recipient's identity \
                    can read all rows"
            }
            PageStorage::AsIs => {
                "pages are stored as they are: reading encrypted tables needs an identity and the server's keyring"
            }
        }),
    ];
    if config.recipients.len() == 1 {
        messages.push(Message::warning(
            "if the identity of the only recipient is lost, so are all backups; add a second recipient, and keep its \
                identity elsewhere",
        ));
    }
    if !init.challenges.is_empty() {
        messages.extend(challenge_messages(&init.challenges));
    }
    messages.push(Message::hint("keep this line on the restore host, as the file for --allowed-signers:"));
    messages
}

/// Messages that ask holders to prove possession of the recipients' identities.
fn challenge_messages(challenges: &[Challenge]) -> Vec<Message> {
    let mut messages = vec![Message::warning(format!(
        "nobody has proven possession of the identity of {} of the recipients; a backup that nobody can decrypt is \
         useless",
        challenges.len()
    ))];
    for challenge in challenges {
        messages.push(Message::hint(format!("on the machine with the identity of {}, run:", challenge.recipient)));
        messages.push(Message::lines(format!("age -d -i IDENTITY <<END\n{}\nEND", challenge.armored())));
    }
    messages.push(Message::hint("then here, for each word that was printed: sealant backup init --answer WORD"));
    messages
}

/// Progress of a backup.
#[must_use]
pub fn backup_progress(progress: &run::RunProgress) -> String {
    let stored = size(progress.stored_bytes.load(Ordering::Relaxed));
    format!("{}, {stored} stored", part("reading", &progress.bytes, &progress.total_bytes))
}

/// Messages about a completed backup.
#[must_use]
pub fn backup_messages(made: &Backup, seconds: f64) -> Vec<Message> {
    let receipt = &made.receipt;
    let mut messages = Vec::new();
    if let Some(number) = made.finished {
        messages.push(Message::info(format!(
            "backup {number} of a run that was interrupted at its end was completed first"
        )));
    }
    messages.extend(left_out_messages(&made.left_out));
    messages.extend(receipt.findings.iter().map(|finding| Message::warning(visible(&finding.text))));
    let kind = match (made.base, made.full) {
        (Some(base), _) => format!("continues from {base}"),
        (None, Some(why)) => format!("a full one: {why}"),
        (None, None) => "a full one".to_owned(),
    };
    messages.push(Message::info(format!(
        "backup {} of {}: {} in {} files, {} changed, {} stored, in {seconds:.1} s ({kind})",
        receipt.number,
        receipt.host,
        size(receipt.bytes.data),
        made.files,
        size(receipt.bytes.changed),
        size(receipt.bytes.stored),
    )));
    if !receipt.unproven_recipients.is_empty() {
        messages.push(Message::warning(format!(
            "nobody has proven possession of the identity of {} of {} recipients: see `sealant backup init`",
            receipt.unproven_recipients.len(),
            receipt.recipients.len().saturating_add(receipt.key_recipients.len())
        )));
    }
    if receipt.pages.unproven > 0 {
        messages.push(Message::hint(
            "with the server's keys, under [server] of the configuration, encrypted pages compress and are proven",
        ));
    }
    messages.push(Message::info(format!("receipt {}", made.sha256)));
    messages
}

/// Writes the backups of a host, a line for each.
///
/// # Errors
/// [`Error::Write`].
pub fn write_backup_list_table(list: &ListReport, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{:>6}  {:20}  {:12}  {:>10}  {:>10}  receipt", "number", "ended", "state", "data", "stored")?;
    for backup in &list.backups {
        let ended = second(backup.ended);
        let state = if backup.good { "good" } else { "not proven" };
        let (data, stored, receipt) = (size(backup.bytes), size(backup.stored), &backup.receipt);
        writeln!(out, "{:>6}  {ended:20}  {state:12}  {data:>10}  {stored:>10}  {receipt}", backup.number)?;
    }
    writeln!(out, "{} backups of {}", list.backups.len(), list.host)?;
    for window in &list.windows {
        let (from, to) = (second(window.from), second(window.to));
        writeln!(out, "any second from {from} to {to} can be restored, with backup {} and later ones", window.backup)?;
    }
    for gap in &list.gaps {
        let time = |time: Option<Timestamp>| time.map_or_else(|| "-".to_owned(), second);
        let (from, to, server) = (time(gap.from), time(gap.to), visible(&gap.server));
        writeln!(out, "logs of {server} are missing from {from} to {to}: {}", visible(&gap.reason))?;
    }
    Ok(())
}

/// Writes what the receipt of a backup says.
///
/// # Errors
/// [`Error::Write`].
pub fn write_receipt_table(judged: &JudgedReceipt, out: &mut dyn Write) -> Result<(), Error> {
    let receipt: &Receipt = &judged.receipt;
    let new = receipt.packs.iter().filter(|pack| pack.new).count();
    let (bytes, pages) = (receipt.bytes, receipt.pages);
    writeln!(out, "backup {} of {}, receipt {}", receipt.number, receipt.host, judged.sha256)?;
    writeln!(out, "made        {} to {}, by {}", receipt.began, receipt.ended, visible(&receipt.tool))?;
    writeln!(out, "copy        {}", visible(&receipt.provider))?;
    let kind = if receipt.full { "full" } else { "incremental" };
    writeln!(out, "data        {}, {} changed ({kind})", size(bytes.data), size(bytes.changed))?;
    writeln!(out, "stored      {} in {new} new packs; {} packs are needed", size(bytes.stored), receipt.packs.len())?;
    writeln!(out, "pages       {} seen, {} damaged, {} unproven", pages.seen, pages.damaged, pages.unproven)?;
    for finding in &receipt.findings {
        writeln!(out, "{:10}  {}", visible(&finding.id), visible(&finding.text))?;
    }
    for recipient in &receipt.recipients {
        let unproven = receipt.unproven_recipients.contains(recipient);
        let note = if unproven { " (nobody has proven possession of its identity)" } else { "" };
        writeln!(out, "recipient   {}{note}", visible(recipient))?;
    }
    Ok(())
}

/// Writes what is wrong with a repository.
///
/// # Errors
/// [`Error::Write`].
pub fn write_backup_check_table(checked: &Checked, out: &mut dyn Write) -> Result<(), Error> {
    for bad in &checked.bad {
        writeln!(out, "{}: {}", visible(&bad.object), visible(&bad.what))?;
    }
    for found in &checked.breaks {
        writeln!(out, "{found}")?;
    }
    Ok(())
}

/// Summary of a check: what it examined.
#[must_use]
pub fn backup_check_messages(host: &str, checked: &Checked) -> Vec<Message> {
    let Checked { receipts, named, present, read, .. } = checked;
    let bad = checked.bad.len();
    let mut messages = vec![Message::info(format!(
        "{host}: {receipts} receipts; of {named} objects {present} are there, {read} were read, {bad} are bad"
    ))];
    if checked.read_until.is_some() {
        messages.push(Message::info(format!(
            "{} % of the packs were read; the next check continues after them",
            checked.percent_done
        )));
    }
    if !checked.signed {
        messages.push(Message::warning("signatures were not verified: give --allowed-signers"));
    }
    if !checked.unnamed.is_empty() {
        messages.push(Message::hint(format!(
            "no receipt names {} objects: they are from interrupted runs or of removed receipts",
            checked.unnamed.len()
        )));
    }
    messages
}

/// Writes what keys do not open in a backup.
///
/// # Errors
/// [`Error::Write`].
pub fn write_key_check_table(check: &KeyCheck, out: &mut dyn Write) -> Result<(), Error> {
    for missing in &check.missing {
        writeln!(out, "not opened: {}", visible(missing))?;
    }
    Ok(())
}

/// Parts of a manifest to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestList {
    /// Files, directories and links.
    Files,
    /// Everything that needs a key.
    Keys,
    /// The packs that hold each part of each file.
    Map,
}

/// Lists the content of a manifest, one line each.
///
/// # Errors
/// [`Error::Write`].
pub fn write_manifest_table(manifest: &Manifest, list: ManifestList, out: &mut dyn Write) -> Result<(), Error> {
    match list {
        ManifestList::Files => manifest.files.iter().try_for_each(|file| write_file(&file.entry, out)),
        ManifestList::Keys => {
            // Without keys, everything that needs one counts as missing.
            let needed = backup::keys::check(manifest, &NoKeys).missing;
            Ok(needed.iter().try_for_each(|key| writeln!(out, "{}", visible(key)))?)
        }
        ManifestList::Map => manifest.files.iter().try_for_each(|file| write_runs(manifest, file, out)),
    }
}

fn write_file(entry: &Entry, out: &mut dyn Write) -> Result<(), Error> {
    let path = entry.path.to_string();
    let path = visible(&path);
    match &entry.kind {
        Kind::File { bytes } => writeln!(out, "{bytes:>16}  {path}")?,
        Kind::Directory => writeln!(out, "{:>16}  {path}/", "")?,
        Kind::Link { target } => {
            writeln!(out, "{:>16}  {path} -> {}", "", visible(&String::from_utf8_lossy(target)))?;
        }
    }
    Ok(())
}

fn write_runs(manifest: &Manifest, file: &StoredFile, out: &mut dyn Write) -> Result<(), Error> {
    let path = file.entry.path.to_string();
    let path = visible(&path);
    for run in &file.runs {
        let pack = usize::try_from(run.pack).ok().and_then(|pack| manifest.packs.get(pack));
        let pack = pack.map(|pack| pack.sha256.to_string()).unwrap_or_default();
        writeln!(out, "{path}  {} {}  {pack}", run.at, run.bytes)?;
    }
    Ok(())
}

/// How many of the needed keys are available.
#[must_use]
pub fn key_check_message(judged: &JudgedReceipt, check: &KeyCheck) -> Message {
    let opens = check.needed.saturating_sub(check.missing.len() as u64);
    Message::info(format!("backup {}: the keys open {opens} of {}", judged.receipt.number, check.needed))
}

/// Progress of a restore.
#[must_use]
pub fn restore_progress(progress: &restore::RestoreProgress) -> String {
    if progress.proven_bytes.load(Ordering::Relaxed) > 0 {
        return part("reading back", &progress.proven_bytes, &progress.total_bytes);
    }
    part("writing", &progress.written_bytes, &progress.total_bytes)
}

/// The status line during a step of a restore, while it lasts.
#[must_use]
pub fn restore_status(event: &Event<'_>) -> Option<String> {
    match event {
        Event::Replaying(bytes) => Some(format!("{} of binary logs replayed", size(*bytes))),
        Event::Proving(text) => Some((*text).to_owned()),
        Event::Restored { .. } | Event::Replayed(_) | Event::Proven { .. } => None,
    }
}

/// What a step of a restore has done.
#[must_use]
pub fn restore_messages(opened: &Opened, event: &Event<'_>) -> Vec<Message> {
    match event {
        Event::Restored { into, restored, seconds } => restored_messages(into, opened, restored, *seconds),
        Event::Replayed(replayed) => replay_messages(replayed),
        Event::Proven { proof, restored_seconds } => proof_messages(proof, *restored_seconds),
        Event::Replaying(_) | Event::Proving(_) => Vec::new(),
    }
}

/// What was restored, and what could not be verified.
fn restored_messages(into: &Path, opened: &Opened, restored: &Restored, seconds: f64) -> Vec<Message> {
    let (pages, mut messages) = (restored.pages, Vec::new());
    if restored.finished {
        messages.push(Message::info("only an interrupted commit of a restore had to be completed"));
    }
    messages.push(Message::info(format!(
        "restored backup {} of {} into {}: {} in {seconds:.1} s, {} pages proven; tree {}",
        restored.number,
        opened.host(),
        into.display(),
        size(restored.bytes),
        pages.proven,
        restored.tree
    )));
    if let Some(rekeyed) = &restored.rekeyed {
        messages.push(Message::info(rekeyed.to_string()));
        messages.push(Message::hint(rekeyed.how_to_start()));
    }
    if pages.bad > 0 {
        messages.push(Message::warning(format!(
            "{} pages are damaged, as they were at the backup; `sealant verify` names them",
            pages.bad
        )));
    }
    if pages.unproven > 0 {
        messages.push(Message::warning(
            "pages could not be proven, because no given key opens them: give --keyring or --mariadb-key-file",
        ));
    }
    if let Some(lost) = &restored.salvaged {
        messages.extend(lost.iter().map(|lost| Message::warning(format!("lost: {}", visible(lost)))));
        messages.push(Message::warning(
            "the files were found in packs alone: owners, permissions, empty files and directories are not those of the backup",
        ));
    }
    let Some(judged) = opened.receipt() else {
        messages.push(Message::warning(
            "without its receipt nothing shows who wrote the backup, and whether it is the newest",
        ));
        return messages;
    };
    if !judged.signed {
        messages.push(Message::warning("the signature was not verified: give --allowed-signers"));
    }
    if !judged.newest_known {
        messages.push(Message::warning(
            "whoever controls the repository could hide newer backups: it is not proven that this one is the newest",
        ));
        messages.push(Message::hint(format!("with --receipt {} it would be", judged.sha256)));
    }
    if !judged.newest_binlogs_known {
        messages.push(Message::warning(
            "whoever controls the repository could hide newer binary logs: it is not proven that the archive ends here",
        ));
        messages.push(Message::hint(
            "--binlog-receipt with the hash that `sealant backup binlogs` printed last on the database host would prove it",
        ));
    }
    messages
}

/// The planned restore.
#[must_use]
pub fn restore_plan_messages(into: &Path, opened: &Opened, plan: &RestorePlan) -> Vec<Message> {
    let mut messages = vec![
        Message::info(format!(
            "backup {} of {}, complete at {:.0}: {} files and directories, {}, {} of it on disk",
            opened.number(),
            opened.host(),
            opened.time(),
            plan.entries,
            size(plan.bytes),
            size(plan.stored_bytes)
        )),
        Message::info(format!("to be fetched: {} packs, {}", plan.packs, size(plan.fetch_bytes))),
        Message::info("the keys encrypt every file that the backup has decrypted"),
    ];
    match plan.free_bytes {
        Some(free) if free < plan.stored_bytes => {
            messages.push(Message::warning(format!("{} has {} free, which is not enough", into.display(), size(free))))
        }
        Some(free) => messages.push(Message::info(format!("{} has {} free", into.display(), size(free)))),
        None => {}
    }
    messages.push(Message::info("nothing was restored (--dry-run)"));
    messages
}

/// The planned backup run.
#[must_use]
pub fn backup_plan_messages(plan: &RunPlan) -> Vec<Message> {
    let kind = match (plan.base, &plan.full) {
        (Some(base), _) => format!("only what changed since backup {base}"),
        (None, Some(full)) => format!("everything: {full}"),
        (None, None) => "everything".to_owned(),
    };
    let mut messages = vec![
        Message::info(format!("backup {} would store {kind}", plan.number)),
        Message::info(format!("to be read: {} files and directories, {}", plan.entries, size(plan.bytes))),
        Message::info(match plan.copy.provider {
            Provider::Stopped => "no server runs on it, so the data directory would be read directly".to_owned(),
            provider => format!(
                "the copy would be taken by {provider}; writes would wait for about {:.0} ms",
                plan.copy.freeze().as_secs_f64() * 1000.0
            ),
        }),
    ];
    messages.extend(left_out_messages(&plan.left_out));
    messages.push(Message::info("nothing was stored (--dry-run)"));
    messages
}

/// Results of starting a server on the restored directory.
fn proof_messages(proof: &Proof, restored_seconds: f64) -> Vec<Message> {
    let recovered = proof.recovered.as_secs_f64();
    let mut messages = vec![Message::info(format!(
        "{} recovered it in {recovered:.1} s and checked {} of {} tables; time to recover: {:.1} s",
        proof.server,
        proof.checked,
        proof.tables,
        restored_seconds + recovered
    ))];
    if let Some(gtids) = &proof.gtids {
        let gtid = visible(&gtids.gtid);
        messages.push(if gtids.is_whole {
            Message::info(format!("it has every transaction of the backup's position: {gtid}"))
        } else {
            let expected = visible(&gtids.expected);
            Message::warning(format!("it has recovered {gtid}, and the backup's position is {expected}"))
        });
    }
    messages.extend(proof.bad_tables.iter().map(|table| Message::warning(visible(table))));
    if proof.bad_pages > 0 {
        messages.push(Message::warning(format!("{} pages are damaged after the server has stopped", proof.bad_pages)));
    }
    messages
}

fn left_out_messages(files: &[ExcludedFile]) -> impl Iterator<Item = Message> {
    files.iter().map(|file| Message::info(format!("not in the backup: {}: {}", visible(&file.path), file.why)))
}

/// Bytes done, of a total.
fn part(what: &str, done: &AtomicU64, all: &AtomicU64) -> String {
    let (done, all) = (done.load(Ordering::Relaxed), all.load(Ordering::Relaxed));
    let percent = done.saturating_mul(100).checked_div(all).unwrap_or(0).min(100);
    format!("{what} {} of {} ({percent} %)", size(done), size(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_says_how_much_is_read_and_stored() {
        let progress = run::RunProgress::default();
        progress.total_bytes.store(4 << 20, Ordering::Relaxed);
        progress.bytes.store(1 << 20, Ordering::Relaxed);
        progress.stored_bytes.store(512, Ordering::Relaxed);
        assert_eq!(backup_progress(&progress), "reading 1.0 MiB of 4.0 MiB (25 %), 512 B stored");
    }

    #[test]
    fn an_empty_restore_has_no_percentage_to_divide_by() {
        assert_eq!(restore_progress(&restore::RestoreProgress::default()), "writing 0 B of 0 B (0 %)");
    }

    #[test]
    fn a_check_says_what_it_did_not_judge() {
        let checked =
            Checked { receipts: 2, named: 5, present: 4, unnamed: vec!["packs/x".to_owned()], ..Checked::default() };
        let messages = backup_check_messages("db1", &checked);
        assert!(
            matches!(messages.as_slice(), [Message::Info(_), Message::Warning(_), Message::Hint(_)]),
            "{messages:?}"
        );
        let signed = Checked { signed: true, unnamed: Vec::new(), ..checked };
        assert_eq!(backup_check_messages("db1", &signed).len(), 1);
    }
}
