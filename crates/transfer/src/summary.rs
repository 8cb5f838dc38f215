//! Reports of a transfer: events while it runs, and a summary at the end.

use std::{
    fmt,
    time::{Duration, Instant},
};

use files::quantity::size;
use serde::Serialize;

use crate::{
    Error,
    progress::{Progress, load, ratio, watched},
    receiver::Received,
    sender::Sent,
};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.transfer/1";

/// Interval of the events about progress.
const EVENT_INTERVAL: Duration = Duration::from_secs(1);

/// An event.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event<'e> {
    /// The receiver listens.
    Listening {
        /// Address of the listener.
        address: String,
        /// The pairing code, unless certificates are used.
        code: Option<String>,
    },
    /// The scan of the source is complete.
    Plan {
        /// Number of files.
        files: usize,
        /// Bytes of these files.
        bytes: u64,
    },
    /// Sent every second.
    Progress {
        /// Bytes of files that this side has finished.
        bytes: u64,
        /// Bytes of all files.
        total_bytes: u64,
        /// Bytes of payload on the wire.
        wire_bytes: u64,
        /// Seconds since the start.
        seconds: f64,
        /// The current bottleneck.
        limited_by: &'static str,
    },
    /// The transfer is committed.
    Committed(&'e Summary),
    /// Nothing was committed.
    Failed {
        /// The error message.
        reason: String,
    },
}

/// Result of a transfer. Later releases only add fields.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Number of files, directories and links.
    pub entries: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of files that are left from an earlier, interrupted transfer.
    pub kept_bytes: u64,
    /// Bytes of payload on the wire.
    pub wire_bytes: u64,
    /// Bytes of encrypted pages that were sent decrypted, inside TLS.
    pub opened_bytes: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// BLAKE3 over the list of files.
    pub tree: String,
    /// Cipher suite of the data connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite: Option<&'static str>,
    /// Number of data connections.
    pub streams: usize,
    /// Number of files whose keys the receiver rewrapped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rekeyed_files: Option<usize>,
    /// Names of the master keys that wrap them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub master_keys: Vec<String>,
}

impl<'e> Event<'e> {
    /// The last event of a transfer.
    #[must_use]
    pub fn ended(outcome: Result<&'e Summary, &Error>) -> Self {
        match outcome {
            Ok(summary) => Self::Committed(summary),
            Err(error) => Self::Failed { reason: error.to_string() },
        }
    }

    /// Summary of a transfer in progress.
    #[must_use]
    pub fn progress(progress: &Progress) -> Self {
        Self::Progress {
            bytes: load(&progress.bytes),
            total_bytes: load(&progress.total_bytes),
            wire_bytes: load(&progress.wire_bytes),
            seconds: progress.elapsed().as_secs_f64(),
            limited_by: progress.limit().name(),
        }
    }
}

impl Summary {
    /// Summary of a sender's transfer. `entries` and `bytes` are those of its plan or stream.
    #[must_use]
    pub fn from_sent(entries: usize, bytes: u64, sent: &Sent, progress: &Progress) -> Self {
        Self {
            entries,
            bytes,
            seconds: sent.elapsed.as_secs_f64(),
            tree: sent.tree.to_string(),
            suite: Some(sent.suite),
            streams: usize::from(sent.streams),
            rekeyed_files: sent.rekeyed,
            ..Self::of_progress(progress)
        }
    }

    /// Summary of a receiver's transfer.
    #[must_use]
    pub fn from_received(received: &Received, progress: &Progress) -> Self {
        let rekeyed = received.rekeyed.as_ref();
        Self {
            entries: received.entries,
            bytes: received.bytes,
            seconds: received.elapsed.unwrap_or_default().as_secs_f64(),
            tree: received.tree.to_string(),
            streams: progress.streams.load(std::sync::atomic::Ordering::Relaxed),
            rekeyed_files: rekeyed.map(|rekeyed| rekeyed.files),
            master_keys: rekeyed.map(|rekeyed| rekeyed.master_keys.clone()).unwrap_or_default(),
            ..Self::of_progress(progress)
        }
    }

    fn of_progress(progress: &Progress) -> Self {
        Self {
            schema: SCHEMA,
            kept_bytes: load(&progress.kept_bytes),
            wire_bytes: load(&progress.wire_bytes),
            opened_bytes: load(&progress.opened_bytes),
            ..Self::default()
        }
    }
}

/// Runs `work`, and meanwhile shows the status line often, and reports the progress as an event every second.
pub fn followed<T>(
    progress: &Progress,
    show: &(dyn Fn(&str) + Sync),
    report: &(dyn Fn(&Event<'_>) + Sync),
    work: impl FnOnce() -> T,
) -> T {
    let mut last = Instant::now();
    let tick = || {
        show(&progress.to_string());
        if last.elapsed() >= EVENT_INTERVAL {
            last = Instant::now();
            report(&Event::progress(progress));
        }
    };
    watched(tick, work)
}

/// The summary as one human-readable line.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moved = self.bytes.saturating_sub(self.kept_bytes);
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "human-readable figures"
        )]
        let rate = (moved as f64 / self.seconds.max(1e-6)) as u64;
        write!(f, "{} in {:.1} s, {}/s{}", size(self.bytes), self.seconds, size(rate), ratio(moved, self.wire_bytes))?;
        if self.kept_bytes > 0 {
            write!(f, ", {} were there already", size(self.kept_bytes))?;
        }
        write!(f, "; tree {}", self.tree)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn the_line_shows_kept_bytes_and_compression() {
        let plain =
            Summary { bytes: 4 << 20, wire_bytes: 4 << 20, seconds: 2.0, tree: "abc".to_owned(), ..Summary::default() };
        assert_eq!(plain.to_string(), "4.0 MiB in 2.0 s, 2.0 MiB/s; tree abc");
        let resumed = Summary { kept_bytes: 2 << 20, wire_bytes: 1 << 20, ..plain };
        let line = "4.0 MiB in 2.0 s, 1.0 MiB/s, ×2.0 compressed, 2.0 MiB were there already; tree abc";
        assert_eq!(resumed.to_string(), line);
    }

    #[test]
    fn the_report_of_a_sender_omits_unknown_fields() {
        let json = serde_json::to_string(&Summary::of_progress(&Progress::default())).unwrap();
        assert!(json.contains(SCHEMA) && !json.contains("master_keys") && !json.contains("suite"), "{json}");
    }

    #[test]
    fn progress_is_an_event_each_second_and_a_line_more_often() {
        let (lines, events) = (AtomicUsize::default(), AtomicUsize::default());
        let count = |counter: &AtomicUsize| {
            counter.fetch_add(1, Ordering::Relaxed);
        };
        let work = || std::thread::sleep(EVENT_INTERVAL + Duration::from_millis(200));
        followed(&Progress::default(), &|_| count(&lines), &|_| count(&events), work);
        let [lines, events] = [lines, events].map(AtomicUsize::into_inner);
        assert!(events >= 1 && lines > events, "{lines} lines, {events} events");
    }
}
