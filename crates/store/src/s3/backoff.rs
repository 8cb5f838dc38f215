//! Pauses between attempts, and the limit of concurrent transfers.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use files::Backoff;

/// The longest pause after the first failure; it doubles with each further one, up to `LONGEST`.
const SHORTEST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(30);
/// Limit of the pause that a store may request.
const LONGEST_ASKED: Duration = Duration::from_secs(300);
/// Interval without a request to slow down, after which one more request may run.
const GROWTH: Duration = Duration::from_secs(60);

/// The pause after `failed` attempts: random, so that many clients do not return together ("full jitter"), and at least
/// what the store asked for.
pub(crate) fn pause(failed: u32, asked: Option<Duration>) -> Duration {
    let most = Backoff::new(SHORTEST, LONGEST).after(failed);
    let mut random = [0; 4];
    // Without random bytes, use the whole pause.
    let share = aws_lc_rs::rand::fill(&mut random)
        .map_or(1.0, |()| f64::from(u32::from_be_bytes(random)) / f64::from(u32::MAX));
    most.mul_f64(share).max(asked.unwrap_or_default().min(LONGEST_ASKED))
}

/// Limits the number of concurrent requests and of bodies that are read: halved when the store asks to slow down, one
/// more each minute.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimit {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Debug)]
struct State {
    running: usize,
    /// The current limit; `None` until the store has asked to slow down.
    most: Option<usize>,
    changed: Instant,
}

/// Permission to run one request, or to read a piece of a body.
#[derive(Debug)]
pub(crate) struct Permit<'l>(&'l ConcurrencyLimit);

impl ConcurrencyLimit {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State { running: 0, most: None, changed: Instant::now() }), left: Condvar::new() }
    }

    /// Waits until a request may run, or a piece of a body be read.
    pub(crate) fn acquire(&self) -> Permit<'_> {
        let mut state = self.lock();
        loop {
            state.grow(Instant::now());
            if state.most.is_none_or(|most| state.running < most) {
                state.running = state.running.saturating_add(1);
                return Permit(self);
            }
            let waited = self.left.wait_timeout(state, GROWTH);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Reduces the limit, because the store asked to slow down.
    pub(crate) fn slow_down(&self) {
        self.lock().slow_down(Instant::now());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn slow_down(&mut self, now: Instant) {
        // One overload makes all running requests fail; it counts once.
        let is_new = self.most.is_none() || now.duration_since(self.changed) >= Duration::from_secs(1);
        if is_new {
            self.most = Some((self.most.unwrap_or(self.running).min(self.running) / 2).max(1));
            self.changed = now;
        }
    }

    fn grow(&mut self, now: Instant) {
        if let Some(most) = self.most.filter(|_| now.duration_since(self.changed) >= GROWTH) {
            self.most = Some(most.saturating_add(1));
            self.changed = now;
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.running = state.running.saturating_sub(1);
        drop(state);
        self.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_honour_the_store() {
        for failed in [1, 3, 10, 100, u32::MAX] {
            assert!(pause(failed, None) <= LONGEST, "{failed}");
        }
        assert!((0..50).map(|_| pause(1, None)).all(|pause| pause <= SHORTEST));
        assert!((0..50).map(|_| pause(9, None)).any(|pause| pause > SHORTEST));
        assert_eq!(pause(1, Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(pause(1, Some(Duration::from_secs(86_400))), LONGEST_ASKED);
    }

    #[test]
    fn requests_halve_on_complaint_and_grow_again() {
        let began = Instant::now();
        let mut state = State { running: 8, most: None, changed: began };
        state.grow(began + GROWTH);
        assert_eq!(state.most, None);
        state.slow_down(began);
        state.slow_down(began);
        assert_eq!(state.most, Some(4), "those that ran together count once");
        state.running = 4;
        let later = began + Duration::from_secs(2);
        state.slow_down(later);
        assert_eq!(state.most, Some(2));
        state.grow(later + GROWTH);
        assert_eq!(state.most, Some(3));
        state.running = 1;
        state.slow_down(later + GROWTH * 2);
        assert_eq!(state.most, Some(1), "one always runs");
    }
}
