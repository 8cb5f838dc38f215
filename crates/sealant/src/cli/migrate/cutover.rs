//! `sealant migrate cutover`: makes the source read-only, and the target complete.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use ::migrate::{LastingFence, WatchEnd, cut_over, follow_back, watch_source};
use clap::{Args, ValueEnum};
use report::{
    MigrateLine, migrate_cut_over, migrate_watched, migrate_watching, migrate_way_back, migrate_way_back_ended,
};
use server::Account;

use super::reporting::{Reporter, Reporting};
use super::scope::Scope;
use crate::cli::change::confirm_change;
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::process::ended_by_signals;

/// Stop writes at the source, apply and compare the last changes, and leave the target ready
///
/// `sealant migrate plan` says what each fence guarantees, and which privileges it needs. If it fails before the end, the
/// source is writable again. After a kill the same command resumes, or `sealant migrate abort` undoes it. With --fallback, the source stays
/// ready: both accounts need privileges for the way back, which are named if they are missing.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", EXITS))]
pub(crate) struct Cutover {
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    fencing: Fencing,
    /// After the switch, run this program with the argument `switched`, to lead clients to the target; SEALANT_SOURCE and
    /// SEALANT_TARGET are the addresses
    #[arg(long, value_name = "PROGRAM")]
    on_switch: Option<PathBuf>,
    /// Longest time that writes are stopped; then give up, and make the source writable again
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = value::seconds(1, 86_400))]
    max_blocked: Duration,
    /// After the cut-over, apply the target's changes to the source for this long, so that `sealant migrate fallback`
    /// can return to it; the command runs until then
    #[arg(long, value_name = "TIME", value_parser = value::seconds(1, 2_592_000))]
    fallback: Option<Duration>,
    /// After the cut-over, watch the source's log for this long, and end with 3 if anything changes a moved table there
    #[arg(long, value_name = "TIME", value_parser = value::seconds(1, 2_592_000), conflicts_with = "fallback")]
    watch: Option<Duration>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    reporting: Reporting,
}

/// How to stop writes.
#[derive(Debug, Args)]
struct Fencing {
    /// How to stop writes to the source; `lock-tables,accounts` and `lock-tables,external` are two fences, of which the
    /// first ends with the command
    #[arg(long, value_enum, value_name = "HOW", value_delimiter = ',', required = true)]
    fence: Vec<Fence>,
    /// An account that writes, as USER@HOST: it is locked, and its sessions are ended (repeatable)
    #[arg(long, value_name = "ACCOUNT", value_parser = account)]
    fence_account: Vec<Account>,
    /// A program that stops writes: called with the argument `fence`, and with `lift` if the cut-over fails
    #[arg(long, value_name = "PROGRAM")]
    fence_program: Option<PathBuf>,
    /// Accept that clients can write to the source again when the command ends, and that nobody notices
    #[arg(long)]
    accept_soft_fence: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Fence {
    /// SET GLOBAL super_read_only = ON; read_only on MariaDB
    ReadOnly,
    /// LOCK TABLES, until the command ends
    LockTables,
    /// ACCOUNT LOCK for each --fence-account, and an end to their sessions
    Accounts,
    /// Something else has stopped writes, or --fence-program does
    External,
}

fn account(text: &str) -> Result<Account, Infallible> {
    text.parse()
}

impl Fencing {
    fn of_library(&self) -> Result<::migrate::Fencing, Failure> {
        let (lock_tables, lasting) = match self.fence[..] {
            [Fence::LockTables] => (true, None),
            [one] => (false, Some(one)),
            [Fence::LockTables, one @ (Fence::Accounts | Fence::External)] => (true, Some(one)),
            _ => return Err(Failure::usage("--fence: these fences do not go together")),
        };
        if lasting.is_none() && !self.accept_soft_fence {
            let what = "--fence lock-tables: clients can write again when the command ends";
            return Err(Failure::usage(what).hint("add accounts or external, or --accept-soft-fence"));
        }
        if (lasting == Some(Fence::Accounts)) == self.fence_account.is_empty() {
            return Err(Failure::usage("--fence accounts and --fence-account belong together"));
        }
        if self.fence_program.is_some() && lasting != Some(Fence::External) {
            return Err(Failure::usage("--fence-program belongs to --fence external"));
        }
        let lasting = lasting.map(|fence| match fence {
            Fence::Accounts => LastingFence::Accounts(self.fence_account.clone()),
            Fence::External => LastingFence::External(self.fence_program.clone()),
            Fence::ReadOnly | Fence::LockTables => LastingFence::ReadOnly,
        });
        Ok(::migrate::Fencing { lock_tables, lasting })
    }

    /// What the user agrees to.
    fn change(&self) -> &'static str {
        match self.fence.last() {
            Some(Fence::LockTables) => "The source's tables will be locked until the command ends.",
            Some(Fence::Accounts) => "Accounts at the source will be locked, and their sessions ended.",
            Some(Fence::External) => "The target will take over once writes have stopped at the source.",
            Some(Fence::ReadOnly) | None => "The source will be read-only (super_read_only).",
        }
    }
}

pub(super) const EXITS: exit::Codes = &[
    (Exit::Clean, "the target has every row, and was compared"),
    (
        Exit::Failed,
        "not done; the source is writable as before. After the switch, with --fallback or --watch: the target is in use",
    ),
    (
        Exit::Findings,
        "rows differ; the source is writable as before. After the switch, with --fallback: the way back is closed; with \
         --watch: the source was written to",
    ),
    (
        Exit::Incomplete,
        "the account lacks a privilege, which is named; the source is writable as before. With --watch after the switch: \
         the source could not be reached any more",
    ),
];

impl Cutover {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        self.reporting.run(|reporter| self.work(reporter))
    }

    fn work(&self, reporter: &mut Reporter<'_>) -> Result<Exit, Failure> {
        let fencing = self.fencing.of_library()?;
        let mut settings = self.scope.settings()?;
        if !self.yes {
            confirm_change(self.fencing.change())?;
        }
        settings.fencing = fencing;
        settings.on_switch.clone_from(&self.on_switch);
        settings.max_blocked = self.max_blocked;
        settings.fallback = self.fallback;
        settings.stop = ended_by_signals()?;
        let done = cut_over(&settings, &mut |event| reporter.event(&event))?;
        if let Some(time) = self.watch {
            reporter.say(&migrate_cut_over(&done));
            reporter.say(&[migrate_watching(time)]);
            let end = watch_source(&settings, &done, time)?;
            reporter.end(&MigrateLine::Watched(&done, &end), &[migrate_watched(&end)]);
            return Ok(if matches!(end, WatchEnd::Unreachable(_)) { Exit::Incomplete } else { Exit::Clean });
        }
        if self.fallback.is_none() {
            reporter.end(&MigrateLine::CutOver(&done), &migrate_cut_over(&done));
            return Ok(Exit::Clean);
        }
        if done.blocked.is_some() {
            reporter.say(&migrate_way_back());
        }
        let end = follow_back(&settings, &done, &mut |event| reporter.event(&event))?;
        reporter.end(&MigrateLine::CutOver(&done), &migrate_way_back_ended(end));
        Ok(Exit::Clean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_of_max_blocked_is_that_of_the_library() {
        let command = Cutover::augment_args(clap::Command::new("cutover"));
        let default = command.get_arguments().find(|argument| argument.get_id() == "max_blocked");
        let default = default.unwrap().get_default_values()[0].to_str().unwrap();
        assert_eq!(value::time(default), Ok(::migrate::MAX_BLOCKED));
    }
}
