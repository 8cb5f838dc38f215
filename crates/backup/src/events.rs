//! Events of a run or a restore for scripts, one line of JSON each: `plan`, `progress` every second, and at the end
//! `committed` or `failed`.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde::Serialize;

use crate::{
    restore::{RestorePlan, RestoreProgress},
    run::{RunPlan, RunProgress},
};

/// An event before the result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum JobEvent {
    /// It is known what there is to do.
    Plan {
        /// Number of files.
        files: u64,
        /// Length of all files.
        bytes: u64,
    },
    /// The progress, in bytes.
    Progress {
        /// Bytes of files that are done: read by a run, written by a restore.
        bytes: u64,
        /// Length of all files.
        total_bytes: u64,
        /// Bytes that a run has stored in the repository.
        #[serde(skip_serializing_if = "Option::is_none")]
        stored_bytes: Option<u64>,
        /// Bytes that a restore has read from the repository.
        #[serde(skip_serializing_if = "Option::is_none")]
        fetched_bytes: Option<u64>,
        /// Bytes of files that a restore has read back from disk.
        #[serde(skip_serializing_if = "Option::is_none")]
        proven_bytes: Option<u64>,
        /// Seconds since this began.
        seconds: f64,
    },
    /// It did not succeed.
    Failed {
        /// The error message.
        reason: String,
    },
}

/// The event of success: the report.
#[derive(Debug, Serialize)]
pub struct Committed<'r, R> {
    event: &'static str,
    #[serde(flatten)]
    report: &'r R,
}

impl<'r, R: Serialize> Committed<'r, R> {
    /// The event with this report.
    #[must_use]
    pub const fn new(report: &'r R) -> Self {
        Self { event: "committed", report }
    }
}

/// What a job has done so far.
pub trait JobProgress: Sync {
    /// The plan; `None` until it is known.
    fn plan(&self) -> Option<JobEvent>;

    /// The progress after `elapsed`.
    fn progress(&self, elapsed: Duration) -> JobEvent;
}

impl JobProgress for RunProgress {
    fn plan(&self) -> Option<JobEvent> {
        plan(&self.files, &self.total_bytes)
    }

    fn progress(&self, elapsed: Duration) -> JobEvent {
        JobEvent::Progress {
            bytes: load(&self.bytes),
            total_bytes: load(&self.total_bytes),
            stored_bytes: Some(load(&self.stored_bytes)),
            fetched_bytes: None,
            proven_bytes: None,
            seconds: elapsed.as_secs_f64(),
        }
    }
}

impl JobProgress for RestoreProgress {
    fn plan(&self) -> Option<JobEvent> {
        plan(&self.files, &self.total_bytes)
    }

    fn progress(&self, elapsed: Duration) -> JobEvent {
        JobEvent::Progress {
            bytes: load(&self.written_bytes),
            total_bytes: load(&self.total_bytes),
            stored_bytes: None,
            fetched_bytes: Some(load(&self.fetched_bytes)),
            proven_bytes: Some(load(&self.proven_bytes)),
            seconds: elapsed.as_secs_f64(),
        }
    }
}

impl From<&RunPlan> for JobEvent {
    fn from(plan: &RunPlan) -> Self {
        Self::Plan { files: plan.files, bytes: plan.bytes }
    }
}

impl From<&RestorePlan> for JobEvent {
    fn from(plan: &RestorePlan) -> Self {
        Self::Plan { files: plan.files, bytes: plan.bytes }
    }
}

/// `files` is set last, and a data directory always has some.
fn plan(files: &AtomicU64, bytes: &AtomicU64) -> Option<JobEvent> {
    let files = files.load(Ordering::Acquire);
    (files > 0).then(|| JobEvent::Plan { files, bytes: load(bytes) })
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_have_what_their_job_counts() {
        let progress = RunProgress::default();
        assert_eq!(progress.plan(), None);
        for (counter, value) in [(&progress.total_bytes, 900), (&progress.bytes, 300), (&progress.stored_bytes, 7)] {
            counter.store(value, Ordering::Relaxed);
        }
        progress.files.store(3, Ordering::Release);
        let to_json = |event: &JobEvent| serde_json::to_value(event).unwrap();
        let plan = progress.plan().unwrap();
        assert_eq!(to_json(&plan), json!({ "event": "plan", "files": 3, "bytes": 900 }));
        let expected =
            json!({ "event": "progress", "bytes": 300, "total_bytes": 900, "stored_bytes": 7, "seconds": 2.0 });
        assert_eq!(to_json(&progress.progress(Duration::from_secs(2))), expected);
        let restoring = to_json(&RestoreProgress::default().progress(Duration::ZERO));
        assert!(restoring.get("stored_bytes").is_none() && restoring["proven_bytes"] == 0, "{restoring}");
        let ended = serde_json::to_value(Committed::new(&json!({ "schema": "x", "seconds": 1.5 }))).unwrap();
        assert_eq!(ended, json!({ "event": "committed", "schema": "x", "seconds": 1.5 }));
    }
}
