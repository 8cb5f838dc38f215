//! Human-readable reports on prunes of repositories.

use std::io::Write;

use archive::chain::Link;
use backup::prune::{HostPlan, Plan, Pruned};

use crate::{
    Error, Message,
    labels::second,
    size,
    text::{count, visible},
};

/// Why backups are kept that retention would otherwise remove.
const FEW_GOOD: &str = "fewer than min_good backups are good, so all others are kept, too; accept_unproven = true \
                        under [data] counts those that are unproven, but not damaged";
/// Why they are kept if nothing but a repair makes the next ones good.
const ONLY_DAMAGED: &str = "every backup has damaged pages, so none is removed; repair the files that each run names, \
                            or set min_good = 0 under [retention] to keep only the newest of them";

/// Writes what a prune keeps and removes, a line for each backup.
///
/// # Errors
/// [`Error::Write`].
pub fn write_prune_plan(plan: &Plan, orphan_days: u16, out: &mut dyn Write) -> Result<(), Error> {
    for host in &plan.hosts {
        write_host(host, orphan_days, out)?;
    }
    Ok(())
}

fn write_host(host: &HostPlan, orphan_days: u16, out: &mut dyn Write) -> Result<(), Error> {
    let keep = host.kept.iter().map(|kept| {
        let reasons: Vec<&str> = kept.reasons.iter().map(|reason| reason.as_str()).collect();
        (&kept.link, "keep", reasons.join(", "))
    });
    let remove = host.removed.iter().map(|link| (link, "remove", String::new()));
    let mut all: Vec<(&Link, &str, String)> = keep.chain(remove).collect();
    all.sort_by_key(|(link, ..)| link.receipt.number);
    writeln!(out, "{}", host.host)?;
    for (link, what, reasons) in all {
        let (number, ended) = (link.receipt.number, second(link.receipt.ended));
        let state = if link.receipt.is_good() { "good" } else { "not proven" };
        let line = format!("  {what:<6} {number:>6}  {ended}  {state:<10}  {reasons}");
        writeln!(out, "{}", line.trim_end())?;
    }
    if let Some(why) = few_good(host) {
        writeln!(out, "  {why}")?;
    }
    let (objects, bytes) = (host.unneeded_objects(), size(host.unneeded_bytes()));
    writeln!(out, "  {} kept, {} to remove", host.kept.len(), host.removed.len())?;
    writeln!(out, "  {objects} objects ({bytes}) that no kept backup needs, older than {orphan_days} days")?;
    let why =
        if host.kept.is_empty() { "older than any backup would be" } else { "from before the oldest kept backup" };
    for logs in &host.binlogs {
        let (parts, bytes) = (count(logs.parts, "part"), size(logs.bytes));
        writeln!(out, "  {parts} of binary logs ({bytes}) of {} {why}", visible(&logs.server))?;
    }
    Ok(())
}

/// Why backups are kept that retention would otherwise remove, if there are such.
fn few_good(host: &HostPlan) -> Option<&'static str> {
    let why = if host.keeps_only_damaged() { ONLY_DAMAGED } else { FEW_GOOD };
    host.has_few_good().then_some(why)
}

/// Messages about what a prune removed, and what it kept for lack of good backups.
#[must_use]
pub fn prune_messages(plan: &Plan, pruned: &Pruned) -> Vec<Message> {
    let Pruned { backups, objects, bytes, locked, extended, unlocked } = *pruned;
    let mut messages =
        vec![Message::info(format!("removed {backups} backups and {objects} objects, {} of data", size(bytes)))];
    let few_good = plan.hosts.iter().filter_map(|host| Some((host, few_good(host)?)));
    messages.extend(few_good.map(|(host, why)| Message::warning(format!("{}: {why}", host.host))));
    if extended > 0 {
        messages.push(Message::info(format!("extended the locks of {extended} objects")));
    }
    if unlocked > 0 {
        messages.push(Message::warning(format!(
            "{unlocked} of them were not locked until now: hosts need the same lock_days, and a prune has to run at \
             least once in half of that time"
        )));
    }
    if locked > 0 {
        messages.push(Message::warning(format!("{locked} objects are locked, and stay until their locks end")));
    }
    messages
}

/// One line about a running prune.
#[must_use]
pub fn prune_progress(pruned: &Pruned) -> String {
    format!("{} locks extended, {} objects removed, {}", pruned.extended, pruned.objects, size(pruned.bytes))
}
