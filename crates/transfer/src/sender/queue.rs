//! The work queue of all connections: the largest files first, each split into ranges, so that one
//! huge table does not leave the other connections idle.

use std::{ops::Range, sync::Mutex};

use crate::{
    hash::chunks_of,
    plan::{Plan, PlannedEntry},
};

/// Chunks per range: enough for sequential reads, few enough to split a file.
const RANGE_CHUNKS: u64 = 16;

/// A range of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Number of the entry.
    pub(super) file: usize,
    /// Consecutive chunks of it.
    pub(super) chunks: Range<u64>,
}

#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// File numbers and remaining chunks, the largest file last.
    files: Vec<(usize, Range<u64>)>,
}

impl Queue {
    /// All files of the plan for which `wanted` returns `true`.
    pub(super) fn new(plan: &Plan, wanted: impl Fn(usize) -> bool) -> Self {
        let files = plan.entries.iter().enumerate().filter(|(number, _)| wanted(*number));
        let mut files: Vec<(usize, Range<u64>)> =
            files.filter_map(|(number, planned)| Some((number, chunks(planned)?))).collect();
        files.sort_by_key(|(number, chunks)| (chunks.end - chunks.start, std::cmp::Reverse(*number)));
        Self { state: Mutex::new(State { files }) }
    }

    pub(super) fn next(&self) -> Option<Part> {
        let mut state = self.state.lock().ok()?;
        let (file, chunks) = state.files.last_mut()?;
        let part = Part { file: *file, chunks: chunks.start..(chunks.start + RANGE_CHUNKS).min(chunks.end) };
        chunks.start = part.chunks.end;
        if chunks.is_empty() {
            state.files.pop();
        }
        Some(part)
    }
}

/// Chunks of a file to send: for a stream the consecutive ones that arrived last.
fn chunks(planned: &PlannedEntry) -> Option<Range<u64>> {
    let all = 0..chunks_of(planned.file_bytes()?);
    match &planned.chunks {
        None => Some(all),
        Some(came) => match (came.first_key_value(), came.last_key_value()) {
            (Some((first, _)), Some((last, _))) => Some(*first..*last + 1),
            // An empty file has one empty chunk.
            _ => (planned.file_bytes() == Some(0)).then_some(all),
        },
    }
}
