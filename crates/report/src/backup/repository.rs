//! Repositories: their backups, receipts, checks, and whether keys open a backup.

use std::io::Write;

use archive::Receipt;
use backup::{
    Repository,
    check::Checked,
    keys::KeyCheck,
    list::{ListReport, Tested},
    restore::JudgedReceipt,
};
use jiff::Timestamp;

use crate::{Error, Message, binlogs::spool_text, labels::second, size, visible};

/// Warnings about problems of the store that did not stop the backup.
#[must_use]
pub fn store_messages(repository: &Repository) -> Vec<Message> {
    repository.warnings().into_iter().map(Message::warning).collect()
}

/// Writes the backups of a host, a line for each.
///
/// # Errors
/// [`Error::Write`].
pub fn write_backup_list_table(list: &ListReport, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{:>6}  {:20}  {:12}  {:>10}  {:>10}  receipt", "number", "ended", "state", "data", "stored")?;
    for Tested { listed: backup, .. } in &list.backups {
        let ended = second(backup.ended);
        let state = if backup.good { "good" } else { "not proven" };
        let (data, stored, receipt) = (size(backup.bytes), size(backup.stored), &backup.receipt);
        writeln!(out, "{:>6}  {ended:20}  {state:12}  {data:>10}  {stored:>10}  {receipt}", backup.number)?;
    }
    for unusable in &list.unusable {
        writeln!(out, "{} cannot be used: {}", visible(&unusable.object), visible(&unusable.what))?;
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
    for spooled in &list.spooled {
        writeln!(out, "{}", spool_text(spooled))?;
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
            "{} % of the objects were read; the next check continues after them",
            checked.percent_done
        )));
    }
    if !checked.signed {
        messages.push(Message::warning("signatures were not verified: give --allowed-signers"));
    }
    if checked.unasked > 0 {
        messages.push(Message::info(format!(
            "older versions of {} bad objects were not looked for; a restore looks for those that it needs",
            checked.unasked
        )));
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

/// Message about how many of the needed keys are available.
#[must_use]
pub fn key_check_message(judged: &JudgedReceipt, check: &KeyCheck) -> Message {
    let number = judged.receipt.number;
    if check.needed == 0 {
        return Message::warning(format!(
            "backup {number}: its manifest names nothing that needs a key, so the copy was not tested; with pages = \
             \"as-is\", only a restore tests the keys of MySQL"
        ));
    }
    let opens = check.needed.saturating_sub(check.missing.len() as u64);
    Message::info(format!("backup {number}: the keys open {opens} of {}", check.needed))
}

#[cfg(test)]
mod tests {
    use super::*;

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
