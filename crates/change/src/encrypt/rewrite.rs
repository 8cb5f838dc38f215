//! Rewrites the clear-text data that remains after all steps, until no page is in clear text.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use server::{Capability, dialect::statement::FLUSH_RELAY_LOGS};

use super::{EncryptAction, POLL_INTERVAL, Policy, mariadb, mysql, read_only, run::Run, scan::Scan};
use crate::{Error, Step};

/// Rewrites before the run gives up, because other clients keep writing.
const MAX_REWRITES: u32 = 6;
/// Maximum number of consecutive rewrites that change nothing in the doublewrite files.
const MAX_FRUITLESS_REWRITES: u32 = 2;
/// Maximum number of rewrites if logs and undo stay in clear text: their pages reach the doublewrite files again.
const MAX_REWRITES_WITH_CLEAR_LOGS: u32 = 2;
/// How long to wait until clear-text relay logs are applied.
const RELAY_TIMEOUT: Duration = Duration::from_secs(60);

impl Run<'_> {
    /// Reads every page, and rewrites the remaining clear-text data.
    pub(super) fn rescan_and_rewrite(&mut self) -> Result<Scan, Error> {
        self.wait_for_relay_logs()?;
        let mut scan = Scan::deep(self.access, self.options, self.progress)?;
        let mut in_vain = 0;
        let rewrites = if self.options.policy == Policy::Tables { MAX_REWRITES_WITH_CLEAR_LOGS } else { MAX_REWRITES };
        for _ in 0..rewrites {
            let hopeless = |step: &Step<EncryptAction>| {
                in_vain >= MAX_FRUITLESS_REWRITES && matches!(step.action, EncryptAction::RenewDoublewrite)
            };
            let mut steps = self.renewals(&scan)?;
            steps.retain(|step| self.wanted(step) && !hopeless(step));
            if steps.is_empty() {
                break;
            }
            if !self.is_mariadb() && read_only::is_super(&mut self.session)? {
                steps.insert(0, read_only::step());
            }
            for step in &steps {
                (self.progress)(&step.what);
                self.wait_and_do(step)?;
            }
            let renewed = Scan::deep(self.access, self.options, self.progress)?;
            in_vain = if renewed.same_doublewrite_slots(&scan) { in_vain + 1 } else { 0 };
            scan = renewed;
        }
        Ok(scan)
    }

    fn renewals(&mut self, scan: &Scan) -> Result<Vec<Step<EncryptAction>>, Error> {
        if !self.is_mariadb() {
            return mysql::renewals(&mut self.session, scan);
        }
        let clear = mariadb::clear_pages(&mut self.session, self.options, scan)?;
        Ok(scan.renewals().into_iter().chain(clear).collect())
    }

    /// Waits until a replica has applied its clear-text relay logs, which it then removes itself.
    fn wait_for_relay_logs(&mut self) -> Result<(), Error> {
        let status = self.session.replica_status();
        if !self.is_mariadb() && !self.session.can(Capability::EncryptBinaryLogs) {
            return Ok(());
        }
        if self.options.policy == Policy::Tables || self.session.query(status)?.rows.is_empty() {
            return Ok(());
        }
        let (began, mut flushed) = (Instant::now(), false);
        while began.elapsed() < RELAY_TIMEOUT && !self.control.requests().cancel() {
            if !Scan::quick(self.access, self.options, self.progress)?.failed(audit::checks::RELAYLOG_PLAINTEXT.id) {
                break;
            }
            if !flushed {
                // The current relay log may be one of them.
                self.session.change(FLUSH_RELAY_LOGS)?;
                flushed = true;
            }
            (self.progress)("waiting until relay logs in clear text are applied");
            sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    fn wanted(&self, step: &Step<EncryptAction>) -> bool {
        step.action.is_of_tables() || self.options.policy != Policy::Tables
    }
}
