//! Which far ends work: failures, tests, and the switch to another one.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Pool, state::State, task};
use crate::{Error, metrics::count};

/// Consecutive failures after which a far end counts as down even though it still serves sessions.
const FAILURES: u32 = 3;

impl Pool {
    /// Records that a test of a far end succeeded.
    pub(in crate::near) fn answers(pool: &Arc<Self>, far: usize) {
        let mut state = pool.lock();
        pool.mark_up(&mut state, far);
        pool.supply(&mut state, Instant::now());
    }

    /// Records that a test of a far end failed.
    pub(in crate::near) fn mark_down(pool: &Arc<Self>, far: usize, why: &str) {
        let mut state = pool.lock();
        if let Some(known) = state.fars.get_mut(far) {
            known.probing = false;
            // The test was complete, so no second one is needed, even if there are open sessions, which may hang.
            known.failures = FAILURES;
        }
        pool.failed(&mut state, far, why);
    }

    /// Like [`Self::mark_down`], for a test at the start, whose caller reports the failure.
    pub(in crate::near) fn mark_down_at_start(pool: &Arc<Self>, far: usize, why: &str) {
        if let Some(known) = pool.lock().fars.get_mut(far) {
            known.down = Some(why.to_owned());
        }
    }

    /// The error for a far end that does not answer.
    pub(in crate::near) fn silent(&self, far: usize, limit: Duration) -> Error {
        let address = self.shared.options.fars.get(far);
        let peer = address.map_or_else(String::new, ToString::to_string);
        Error::Silent { peer, seconds: limit.as_secs() }
    }

    /// Retries failed far ends, and tests the active one if it is silent.
    pub(super) fn probe(self: &Arc<Self>, state: &mut State, now: Instant) {
        let silent = state.is_silent(now, self.shared.options.health_interval);
        if state.stopping || (now < state.next_probe && !silent) {
            return;
        }
        state.next_probe = now + self.shared.options.health_interval;
        let active = state.active();
        for (number, far) in state.fars.iter_mut().enumerate() {
            if !far.probing && (far.down.is_some() || (silent && active == Some(number))) {
                far.probing = true;
                tokio::spawn(task::probe(Arc::clone(self), number));
            }
        }
    }

    /// Handles the failure of a far end: switches to the next one, or notifies clients. If it currently serves
    /// sessions, it is tried again first, since single connections of a burst can fail.
    pub(super) fn failed(self: &Arc<Self>, state: &mut State, far: usize, why: &str) {
        let before = state.active();
        let serves = before == Some(far) && state.links() > 0;
        if let Some(known) = state.fars.get_mut(far) {
            known.failures = known.failures.saturating_add(1);
            if serves && known.failures < FAILURES {
                return self.supply(state, Instant::now());
            }
            if known.down.is_none() {
                (self.shared.log)(&format!("far end {} fails: {why}", far + 1));
            }
            known.down = Some(why.to_owned());
        }
        self.active_changed(state, before);
        if let Some(reason) = state.unavailable_reason() {
            for client in std::mem::take(&mut state.clients) {
                self.refuse(client.stream, &reason);
            }
        }
        self.supply(state, Instant::now());
    }

    pub(super) fn mark_up(&self, state: &mut State, far: usize) {
        let before = state.active();
        state.unanswered_since = None;
        if let Some(known) = state.fars.get_mut(far) {
            known.down = None;
            known.failures = 0;
            known.probing = false;
        }
        self.active_changed(state, before);
    }

    /// Records the change of the active far end, and closes idle links of the others.
    fn active_changed(&self, state: &mut State, before: Option<usize>) {
        let active = state.active();
        let number = active.map_or(0, |far| far + 1);
        if state.reported != number && (active != before || state.reported == usize::MAX) {
            let far = active.and_then(|far| self.shared.options.fars.get(far));
            match far {
                Some(far) => (self.shared.log)(&format!("far end {number} is in use: {far}")),
                None => (self.shared.log)("no far end can be used"),
            }
            if state.reported != usize::MAX {
                count(&self.counters().failovers_total);
            }
            state.reported = number;
        }
        if active != before {
            state.close_waiting(active);
            state.not_opened = 0;
            state.opens_from = Instant::now();
        }
        self.update_gauges(state);
    }
}
