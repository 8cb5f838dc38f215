//! A log that writes at most one line per second, for failures that a peer can cause by the thousand.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use crate::Log;

/// Minimum time between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

/// Collects failures of one kind.
pub(crate) struct RateLimitedLog {
    write: Arc<Log>,
    backlog: Mutex<Backlog>,
}

/// Failures that are not logged yet.
struct Backlog {
    /// Earliest time of the next line.
    next: Instant,
    /// Failures since the last line.
    count: u64,
    last: String,
}

impl RateLimitedLog {
    pub(crate) fn new(log: &Arc<Log>) -> Arc<Self> {
        let backlog = Backlog { next: Instant::now(), count: 0, last: String::new() };
        Arc::new(Self { write: Arc::clone(log), backlog: Mutex::new(backlog) })
    }

    /// Logs a failure: at once, or together with the other failures of this second.
    pub(crate) fn log(self: &Arc<Self>, text: String) {
        let now = Instant::now();
        let mut backlog = self.backlog.lock().unwrap_or_else(PoisonError::into_inner);
        if backlog.count == 0 && now >= backlog.next {
            backlog.next = now + INTERVAL;
            drop(backlog);
            return (self.write)(&text);
        }
        backlog.last = text;
        backlog.count += 1;
        if backlog.count == 1 {
            tokio::spawn(Arc::clone(self).write_at(backlog.next));
        }
    }

    async fn write_at(self: Arc<Self>, when: Instant) {
        sleep_until(when).await;
        let text = {
            let mut backlog = self.backlog.lock().unwrap_or_else(PoisonError::into_inner);
            backlog.next = Instant::now() + INTERVAL;
            let last = std::mem::take(&mut backlog.last);
            match std::mem::take(&mut backlog.count) {
                0 | 1 => last,
                count => format!("{last}; and {} more like it within a second", count - 1),
            }
        };
        (self.write)(&text);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[tokio::test]
    async fn the_first_is_written_at_once_and_the_others_together() {
        let (sender, mut lines) = unbounded_channel();
        let log: Arc<Log> = Arc::new(move |text: &str| sender.send(text.to_owned()).unwrap());
        let limited = RateLimitedLog::new(&log);
        (1..=1000).for_each(|number| limited.log(format!("failure {number}")));
        assert_eq!(lines.try_recv().unwrap(), "failure 1");
        assert!(lines.try_recv().is_err());
        assert_eq!(lines.recv().await.unwrap(), "failure 1000; and 998 more like it within a second");
        limited.log("another".to_owned());
        assert!(lines.try_recv().is_err(), "the line before came a moment ago");
        assert_eq!(lines.recv().await.unwrap(), "another");
    }
}
