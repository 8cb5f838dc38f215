//! Restores: plans, progress, results and proofs.

use std::{path::Path, sync::atomic::Ordering, time::Duration};

use backup::{
    prove::{ComparedPosition, Proof},
    restore::{self, Event, Opened, RestorePlan, Restored},
};
use files::quantity::{eta, rate};

use super::part;
use crate::{Message, binlogs::replay_messages, size, visible};

/// Messages about a planned restore.
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

/// Progress of a restore after `elapsed`, with the remaining time.
#[must_use]
pub fn restore_progress(progress: &restore::RestoreProgress, elapsed: Duration) -> String {
    let [written, proven, total] = [&progress.written_bytes, &progress.proven_bytes, &progress.total_bytes]
        .map(|bytes| bytes.load(Ordering::Relaxed));
    // Every byte is written, then read back.
    let (line, done) = if proven > 0 {
        (part("reading back", &progress.proven_bytes, &progress.total_bytes), total.saturating_add(proven))
    } else {
        (part("writing", &progress.written_bytes, &progress.total_bytes), written)
    };
    line + &eta(done, total.saturating_mul(2), rate(done, elapsed))
}

/// The status line during a step of a restore; `None` for a step that is complete.
#[must_use]
pub fn restore_status(event: &Event<'_>) -> Option<String> {
    match event {
        Event::Replaying(bytes) => Some(format!("{} of binary logs replayed", size(*bytes))),
        Event::Proving(text) => Some((*text).to_owned()),
        Event::Restored { .. } | Event::Replayed(_) | Event::Proven { .. } => None,
    }
}

/// Messages about a step of a restore that is complete.
#[must_use]
pub fn restore_messages(opened: &Opened, event: &Event<'_>) -> Vec<Message> {
    match event {
        Event::Restored { into, restored, seconds } => restored_messages(into, opened, restored, *seconds),
        Event::Replayed(replayed) => replay_messages(replayed),
        Event::Proven { proof, restored_seconds } => proof_messages(proof, *restored_seconds),
        Event::Replaying(_) | Event::Proving(_) => Vec::new(),
    }
}

/// Messages about what was restored, and what could not be verified.
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
    if restored.partial_packs > 0 {
        messages.push(Message::info(format!(
            "of {} of {} packs only the needed ranges were read",
            restored.partial_packs, restored.packs
        )));
    }
    if let Some(path) = &restored.read_again {
        messages.push(Message::warning(format!(
            "{} differed from the backup when it was read back, so what differed was read again from whole packs; the \
             store, or the disk, gave wrong bytes once",
            path.display()
        )));
    }
    if let Some(rekeyed) = &restored.rekeyed {
        messages.push(Message::info(rekeyed.to_string()));
        messages.push(Message::hint(rekeyed.how_to_start()));
        messages.extend(rekeyed.about_unused().map(Message::Warning));
    }
    messages.extend(unproven_messages(restored));
    messages.extend(trust_messages(opened));
    messages
}

/// Warnings about what is not as it should be in the restored files.
fn unproven_messages(restored: &Restored) -> Vec<Message> {
    let (pages, mut messages) = (restored.pages, Vec::new());
    if pages.bad > 0 {
        messages.push(Message::warning(format!(
            "{} pages are damaged, as they were at the backup; `sealant verify` names them",
            pages.bad
        )));
    }
    messages.extend(restored.logs_out_of_order.iter().map(|log| {
        Message::warning(format!(
            "{}: the server had written a GTID before Previous_gtids, and may not start with this log (event-order)",
            visible(log)
        ))
    }));
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
    messages
}

/// Warnings about what is not proven of the backup's origin, and of its being the newest.
fn trust_messages(opened: &Opened) -> Vec<Message> {
    let Some(judged) = opened.receipt() else {
        return vec![Message::warning(
            "without its receipt nothing shows who wrote the backup, and whether it is the newest",
        )];
    };
    let mut messages = Vec::new();
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

/// Messages about the proof: what a server found on the restored directory.
fn proof_messages(proof: &Proof, restored_seconds: f64) -> Vec<Message> {
    let recovered = proof.recovered.as_secs_f64();
    let mut messages = vec![Message::info(format!(
        "{} recovered it in {recovered:.1} s and checked {} of {} tables; time to recover: {:.1} s",
        proof.server,
        proof.checked,
        proof.tables,
        restored_seconds + recovered
    ))];
    messages.push(position_message(&proof.position));
    messages.extend(proof.bad_tables.iter().map(|table| Message::warning(visible(table))));
    if proof.bad_pages > 0 {
        messages.push(Message::warning(format!("{} pages are damaged after the server has stopped", proof.bad_pages)));
    }
    messages
}

/// Message about what a server has recovered, compared with the position of the backup.
fn position_message(position: &ComparedPosition) -> Message {
    match position {
        ComparedPosition::Gtids(gtids) => {
            let gtid = visible(&gtids.gtid);
            if gtids.is_whole {
                return Message::info(format!("it has every transaction of the backup's position: {gtid}"));
            }
            let expected = visible(&gtids.expected);
            Message::warning(format!("it has recovered {gtid}, and the backup's position is {expected}"))
        }
        ComparedPosition::Log(log) => {
            let (file, offset) = (visible(&log.file), log.offset);
            if log.is_whole {
                return Message::info(format!("its binary log ends at the backup's position: {file}:{offset}"));
            }
            let expected = log.expected;
            Message::warning(format!(
                "its binary log ends at {file}:{offset}, and the backup's position is {file}:{expected}"
            ))
        }
        ComparedPosition::NotCompared(reason) => {
            let reason = reason.to_string();
            Message::info(format!("the position was not compared, because {}", visible(&reason)))
        }
    }
}

#[cfg(test)]
mod tests {
    use backup::prove::{RecoveredLog, Uncompared};

    use super::*;

    #[test]
    fn a_proof_says_whether_the_position_was_compared() {
        let log = |offset: u64, is_whole: bool| {
            let file = "binlog.000003".to_owned();
            ComparedPosition::Log(RecoveredLog { file, offset, expected: 900, is_whole })
        };
        let same = "its binary log ends at the backup's position: binlog.000003:900";
        assert_eq!(position_message(&log(900, true)), Message::info(same));
        let other = "its binary log ends at binlog.000003:800, and the backup's position is binlog.000003:900";
        assert_eq!(position_message(&log(800, false)), Message::warning(other));
        let none = "the position was not compared, because binary logs were replayed after the backup";
        assert_eq!(position_message(&ComparedPosition::NotCompared(Uncompared::Replayed)), Message::info(none));
    }

    #[test]
    fn an_empty_restore_has_no_percentage_to_divide_by() {
        let (progress, elapsed) = (restore::RestoreProgress::default(), Duration::from_secs(3));
        assert_eq!(restore_progress(&progress, elapsed), "writing 0 B of 0 B (0 %)");
        progress.total_bytes.store(4 << 20, Ordering::Relaxed);
        progress.written_bytes.store(1 << 20, Ordering::Relaxed);
        assert_eq!(restore_progress(&progress, elapsed), "writing 1.0 MiB of 4.0 MiB (25 %)  ETA 00:21");
        progress.proven_bytes.store(2 << 20, Ordering::Relaxed);
        assert_eq!(restore_progress(&progress, elapsed), "reading back 2.0 MiB of 4.0 MiB (50 %)  ETA 00:01");
    }
}
