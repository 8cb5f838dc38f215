//! Backups of a host: its set-up, plans, progress and results.

use std::{sync::atomic::Ordering, time::Duration};

use archive::names::Number;
use backup::{
    Config,
    config::PageStorage,
    init::{Init, Observed},
    keys::KeyCheck,
    recipients::Challenge,
    run::{self, Backup, FullEstimate, LastBackup, Repacked, RunPlan},
};
use files::quantity::{clock, eta, rate, short_seconds};
use snapshot::{CopyProgress, Estimate, Provider, SnapshotCopy};

use super::{left_out_messages, part};
use crate::{
    Message, size,
    text::{count, first_names},
    visible,
};

/// Maximum number of encrypted files and keys that a warning names.
const MOST_NAMED: usize = 3;

/// Messages after a repository and a key were created.
#[must_use]
pub fn backup_init_messages(config: &Config, init: &Init) -> Vec<Message> {
    let state = |made| if made { "made" } else { "there already" };
    let (repository, key) = (&config.repository, config.signing_key.display());
    let mut messages = vec![
        Message::info(format!("repository {repository} ({}), id {}", state(init.made_repository), init.repository.id)),
        Message::info(format!("signing key {key} ({})", state(init.made_key))),
        Message::info(format!(
            "backups of {} are encrypted to {}",
            config.host,
            count(config.recipients.len(), "recipient")
        )),
        Message::info(match config.pages {
            PageStorage::Decrypted => {
                "pages of encrypted tables are decrypted before they are stored: whoever has a recipient's identity \
                    can read all rows"
            }
            PageStorage::AsIs => {
                "pages are stored as they are: reading encrypted tables needs an identity and the server's keyring"
            }
        }),
    ];
    messages.extend(init.observed.iter().flat_map(store_abilities));
    let unobserved = |fault| Message::warning(format!("what the store does could not be observed: {fault}"));
    messages.extend(init.unobserved.iter().map(unobserved));
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

/// Messages about the abilities of the store, and warnings about those that it lacks.
fn store_abilities(observed: &Observed) -> Vec<Message> {
    let text = |is_so: Option<bool>| match is_so {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not known",
    };
    let abilities = format!(
        "the store refuses to replace objects: yes, refuses wrong checksums: {}, keeps versions: {}, locks objects: {}",
        text(observed.checksums),
        text(observed.versions),
        text(observed.locks)
    );
    std::iter::once(Message::info(abilities)).chain(observed.warnings().into_iter().map(Message::warning)).collect()
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

/// Messages about a planned backup run.
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
    messages.extend(copy_room_message(&plan.copy));
    messages.extend(expectation_messages(plan));
    messages.extend(repacked_message(plan.repacked, "would be stored again"));
    messages.extend(left_out_messages(&plan.left_out));
    messages.push(Message::info("nothing was stored (--dry-run)"));
    messages
}

/// What a copy needs that does not share its bytes with the data.
fn copy_room_message(copy: &Estimate) -> Option<Message> {
    let text = format!("the copy would take {} on a disk of this host, until the run ends", size(copy.copy_bytes));
    (copy.copy_bytes > 0).then(|| Message::info(text))
}

/// How large the backup would be, and how long it would take.
fn expectation_messages(plan: &RunPlan) -> Vec<Message> {
    let full = plan.full_estimate.map(|FullEstimate { stored_bytes, duration }| {
        let what = if plan.base.is_some() { "a full backup" } else { "it" };
        let after = if plan.copy.copy_bytes > 0 { " after the copy" } else { "" };
        Message::info(format!(
            "{what} would store about {}, and take about {}{after}, as samples of the data say",
            size(stored_bytes),
            time(duration)
        ))
    });
    let last = plan.last.map(|LastBackup { stored_bytes, duration }| {
        Message::info(format!("the last backup stored {} in {}", size(stored_bytes), time(duration)))
    });
    last.into_iter().chain(full).collect()
}

/// A duration of any length: `1.25 s`, `01:02:03`.
fn time(duration: Duration) -> String {
    match duration.as_secs() {
        ..100 => short_seconds(duration.as_secs_f64()),
        seconds => clock(seconds),
    }
}

/// What the host stores again of packs of which little is needed.
fn repacked_message(repacked: Repacked, what_happens: &str) -> Option<Message> {
    let Repacked { packs, bytes } = repacked;
    let text = format!("{} of which little is needed: {} {what_happens}", count(packs, "pack"), size(bytes));
    (packs > 0).then(|| Message::info(text))
}

/// Source of the data, for a status line.
#[must_use]
pub fn backup_copy_message(copy: &SnapshotCopy) -> String {
    match copy.provider() {
        Provider::Stopped => "no server runs on it, so the data directory itself is read".to_owned(),
        provider => format!("copy taken by {provider}; {}", copy.effect()),
    }
}

/// Progress of the copy of a running server, with its rate and the remaining time. A copy that needs no time for bytes,
/// such as a snapshot of the file system, has none.
#[must_use]
pub fn backup_copy_progress(progress: &CopyProgress) -> String {
    copy_progress(progress, progress.elapsed())
}

fn copy_progress(progress: &CopyProgress, elapsed: Duration) -> String {
    let [done, total] = [&progress.bytes, &progress.total_bytes].map(|bytes| bytes.load(Ordering::Relaxed));
    if total == 0 {
        return "taking a copy of the data directory".to_owned();
    }
    let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    let per_second = done.saturating_mul(1000) / milliseconds;
    let copied = part("copying", &progress.bytes, &progress.total_bytes);
    format!("{copied}, {}/s{}", size(per_second), eta(done, total, rate(done, elapsed)))
}

/// Progress of a backup after `elapsed`, with the remaining time.
#[must_use]
pub fn backup_progress(progress: &run::RunProgress, elapsed: Duration) -> String {
    let [done, total, stored] =
        [&progress.bytes, &progress.total_bytes, &progress.stored_bytes].map(|bytes| bytes.load(Ordering::Relaxed));
    let left = eta(done, total, rate(done, elapsed));
    format!("{}, {} stored{left}", part("reading", &progress.bytes, &progress.total_bytes), size(stored))
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
    messages.extend(repacked_message(made.repacked, "is stored again"));
    if made.unread_bytes > 0 {
        let unread = size(made.unread_bytes);
        messages.push(Message::info(format!("{unread} of tablespaces that were not written since were not read")));
    }
    if made.resumed_bytes > 0 {
        let resumed = size(made.resumed_bytes);
        messages.push(Message::info(format!("{resumed} of the changes had been stored by a run that was interrupted")));
    }
    messages.extend(waited_text(&receipt.provider, &made.waited).map(Message::info));
    if !receipt.unproven_recipients.is_empty() {
        messages.push(Message::warning(format!(
            "nobody has proven possession of the identity of {} of {} recipients: see `sealant backup init`",
            receipt.unproven_recipients.len(),
            receipt.recipients.len().saturating_add(receipt.key_recipients.len())
        )));
    }
    messages.extend(made.base.zip(made.base_keys.as_ref()).and_then(|(base, check)| lost_keys_message(base, check)));
    if let Some(fault) = &made.journal_fault {
        messages.push(Message::warning(format!(
            "{}: what an interrupted run has stored was stored again",
            visible(&fault.to_string())
        )));
    }
    if let Some(fault) = &made.state_fault {
        messages.push(Message::warning(format!(
            "backup {} is complete, but this host could not record that: {fault}; the next run does",
            receipt.number
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

/// A warning if the server's keys do not open the backup before, such as after a change of the keyring.
fn lost_keys_message(base: Number, check: &KeyCheck) -> Option<Message> {
    let names = first_names(check.missing.iter().map(String::as_str), MOST_NAMED);
    let text = format!(
        "the keys under [server] do not open {} of {} encrypted files and keys of backup {base} ({names}): its restore \
         needs the earlier keyring, so keep a copy of that",
        check.missing.len(),
        check.needed
    );
    (!check.missing.is_empty()).then(|| Message::warning(text))
}

/// The longest waits that the copy caused; `None` if no server ran.
fn waited_text(provider: &str, waited: &run::Waited) -> Option<String> {
    if provider == Provider::Stopped.to_string() {
        return None;
    }
    let milliseconds = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1000.0);
    let writes = format!("the longest wait of a write was {}", milliseconds(waited.stood_still));
    Some(match waited.definitions {
        Some(definitions) => format!("{writes}, that of DDL {}", milliseconds(definitions)),
        None => writes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_the_longest_waits_of_a_running_server() {
        let of = |definitions| run::Waited { stood_still: Duration::from_micros(12_400), locks: None, definitions };
        let ddl = Some(Duration::from_millis(3100));
        assert_eq!(waited_text("stopped", &of(None)), None);
        assert_eq!(waited_text("btrfs", &of(None)).as_deref(), Some("the longest wait of a write was 12 ms"));
        let both = "the longest wait of a write was 12 ms, that of DDL 3100 ms";
        assert_eq!(waited_text("follow", &of(ddl)).as_deref(), Some(both));
    }

    #[test]
    fn keys_that_do_not_open_the_backup_before_are_a_warning() {
        let check =
            |missing: &[&str]| KeyCheck { needed: 5, missing: missing.iter().map(|&name| name.into()).collect() };
        assert!(lost_keys_message(7, &check(&[])).is_none());
        let warned = format!("{:?}", lost_keys_message(7, &check(&["demo/enc.ibd (INNODBKey-1)", "key 2 version 1"])));
        let text =
            "do not open 2 of 5 encrypted files and keys of backup 7 (demo/enc.ibd (INNODBKey-1), key 2 version 1)";
        assert!(warned.contains(text), "{warned}");
    }

    #[test]
    fn a_copy_says_how_much_how_fast_and_how_long() {
        let progress = CopyProgress::default();
        assert_eq!(backup_copy_progress(&progress), "taking a copy of the data directory");
        progress.total_bytes.store(4 << 20, Ordering::Relaxed);
        progress.bytes.store(1 << 20, Ordering::Relaxed);
        let line = copy_progress(&progress, Duration::from_secs(2));
        assert_eq!(line, "copying 1.0 MiB of 4.0 MiB (25 %), 512.0 KiB/s  ETA 00:06");
    }

    #[test]
    fn a_backup_says_how_much_is_read_and_stored() {
        let progress = run::RunProgress::default();
        progress.total_bytes.store(4 << 20, Ordering::Relaxed);
        progress.bytes.store(1 << 20, Ordering::Relaxed);
        progress.stored_bytes.store(512, Ordering::Relaxed);
        let line = backup_progress(&progress, Duration::from_secs(3));
        assert_eq!(line, "reading 1.0 MiB of 4.0 MiB (25 %), 512 B stored  ETA 00:09");
    }
}
