//! Lines that come by the thousand if somebody wants them to: one a second at most.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use crate::Log;

/// So far apart are two lines at least.
const APART: Duration = Duration::from_secs(1);

/// Failures of one kind.
pub(crate) struct Summed {
    log: Arc<Log>,
    held: Mutex<Held>,
}

struct Held {
    /// When the next line may go out.
    next: Instant,
    /// Failures since the last line.
    count: u64,
    last: String,
}

impl Summed {
    pub(crate) fn new(log: &Arc<Log>) -> Arc<Self> {
        let held = Held { next: Instant::now(), count: 0, last: String::new() };
        Arc::new(Self { log: Arc::clone(log), held: Mutex::new(held) })
    }

    /// Tells of a failure: at once, or with the others of this second.
    pub(crate) fn tell(self: &Arc<Self>, text: String) {
        let now = Instant::now();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.count == 0 && now >= held.next {
            held.next = now + APART;
            drop(held);
            return (self.log)(&text);
        }
        held.last = text;
        held.count += 1;
        if held.count == 1 {
            tokio::spawn(Arc::clone(self).tell_at(held.next));
        }
    }

    async fn tell_at(self: Arc<Self>, when: Instant) {
        sleep_until(when).await;
        let text = {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            held.next = Instant::now() + APART;
            let last = std::mem::take(&mut held.last);
            match std::mem::take(&mut held.count) {
                0 | 1 => last,
                count => format!("{last}; and {} more like it within a second", count - 1),
            }
        };
        (self.log)(&text);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[tokio::test]
    async fn the_first_is_told_at_once_and_the_others_together() {
        let (sender, lines) = channel();
        let sender = Mutex::new(sender);
        let log: Arc<Log> = Arc::new(move |text: &str| sender.lock().unwrap().send(text.to_owned()).unwrap());
        let summed = Summed::new(&log);
        (1..=1000).for_each(|number| summed.tell(format!("failure {number}")));
        assert_eq!(lines.try_iter().collect::<Vec<_>>(), ["failure 1"]);
        tokio::time::sleep(APART + APART / 2).await;
        summed.tell("another".to_owned());
        assert_eq!(lines.try_iter().collect::<Vec<_>>(), ["failure 1000; and 998 more like it within a second"]);
        tokio::time::sleep(APART).await;
        assert_eq!(lines.try_iter().collect::<Vec<_>>(), ["another"]);
    }
}
