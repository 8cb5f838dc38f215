//! Time limits, and waiting for states.

use std::env;
use std::fmt::Display;
use std::thread::sleep;
use std::time::{Duration, Instant};

const SCALE: &str = "SEALANT_TIME_SCALE";

/// Bounds of the pause between attempts, which is otherwise as long as an attempt: cheap attempts then miss no
/// short-lived state, and expensive attempts leave processor time to the work that the test waits for.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(100);

/// A time limit in seconds for an otherwise idle machine; `SEALANT_TIME_SCALE` multiplies it.
///
/// # Panics
/// If the variable is not a number of at least 1: a shorter limit would cause false failures.
#[must_use]
pub fn limit(seconds: u64) -> Duration {
    let scale = env::var(SCALE).map_or(1.0, |text| parse(&text).unwrap_or_else(|| panic!("{SCALE}: {text:?} < 1")));
    Duration::from_secs(seconds).mul_f64(scale)
}

/// Pause of the clients that write while something else is tested, after each statement or transaction. Without it they
/// take the processors from the other tests; `make soak` sets `SEALANT_WRITER_PAUSE_MS=0`.
///
/// # Panics
/// If the variable is not a number.
#[must_use]
pub fn writer_pause() -> Duration {
    const PAUSE: &str = "SEALANT_WRITER_PAUSE_MS";
    let pause = env::var(PAUSE).map_or(5, |text| text.parse().unwrap_or_else(|_| panic!("{PAUSE}: {text:?}")));
    Duration::from_millis(pause)
}

fn parse(scale: &str) -> Option<f64> {
    scale.parse().ok().filter(|scale: &f64| scale.is_finite() && *scale >= 1.0)
}

/// Result of an attempt: the awaited value, or a description of the current state.
pub trait Look {
    /// The awaited value.
    type Found;

    /// Converts to the awaited value.
    ///
    /// # Errors
    /// A description of the current state, if the awaited one is not reached.
    fn found(self) -> Result<Self::Found, String>;
}

impl Look for bool {
    type Found = ();

    fn found(self) -> Result<(), String> {
        if self { Ok(()) } else { Err("not so".to_owned()) }
    }
}

impl<T> Look for Option<T> {
    type Found = T;

    fn found(self) -> Result<T, String> {
        self.ok_or_else(|| "nothing".to_owned())
    }
}

impl<T, S: Display> Look for Result<T, S> {
    type Found = T;

    fn found(self) -> Result<T, String> {
        self.map_err(|state| state.to_string())
    }
}

/// Repeats `look` until it returns the awaited value.
///
/// # Panics
/// With `what` and the last state, after `limit`.
#[track_caller]
pub fn wait_until<L: Look>(what: &str, limit: Duration, look: impl FnMut() -> L) -> L::Found {
    within(limit, look).unwrap_or_else(|state| panic!("{what}: not within {} s: {state}", limit.as_secs()))
}

/// Like [`wait_until`], with an error instead of a panic.
///
/// # Errors
/// The last state, after `limit`.
pub fn within<L: Look>(limit: Duration, mut look: impl FnMut() -> L) -> Result<L::Found, String> {
    let began = Instant::now();
    loop {
        let looked = Instant::now();
        match look().found() {
            Err(_) if began.elapsed() < limit => sleep(looked.elapsed().clamp(SHORTEST, LONGEST)),
            last => return last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_scale_is_at_least_one() {
        let scales = ["1", "2.5", "0.5", "-3", "NaN", "inf", "fast", ""].map(parse);
        assert_eq!(scales, [Some(1.0), Some(2.5), None, None, None, None, None, None]);
    }

    #[test]
    fn waiting_returns_the_awaited_or_the_last_state() {
        let mut looks = 0;
        let mut look = || {
            looks += 1;
            if looks == 5 { Ok(looks) } else { Err(format!("look {looks}")) }
        };
        assert_eq!(within(limit(60), &mut look), Ok(5));
        assert_eq!(within(Duration::ZERO, &mut look), Err("look 6".to_owned()), "it looks at least once");
    }
}
