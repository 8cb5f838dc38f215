//! One queue of work for all connections: the largest files first, each in ranges, so that one huge
//! table does not leave the other connections idle.

use std::{ops::Range, sync::Mutex};

use crate::{hash::chunks_of, plan::Plan};

/// Chunks of a range: enough for reads to be sequential, few enough to share a file.
const RANGE_CHUNKS: u64 = 16;

/// Part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Number of the entry.
    pub(super) file: usize,
    /// Its chunks.
    pub(super) chunks: Range<u64>,
}

#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Numbers and lengths of files, the largest last.
    files: Vec<(usize, u64)>,
    /// The next chunk of the last of these.
    next: u64,
}

impl Queue {
    /// All files of the plan for which `wanted` says so.
    pub(super) fn new(plan: &Plan, wanted: impl Fn(usize) -> bool) -> Self {
        let files = plan.entries.iter().enumerate().filter(|(number, _)| wanted(*number));
        let mut files: Vec<(usize, u64)> =
            files.filter_map(|(number, planned)| Some((number, planned.file_bytes()?))).collect();
        files.sort_by_key(|(number, bytes)| (*bytes, std::cmp::Reverse(*number)));
        Self { state: Mutex::new(State { files, next: 0 }) }
    }

    pub(super) fn next(&self) -> Option<Part> {
        let mut state = self.state.lock().ok()?;
        let (file, bytes) = *state.files.last()?;
        let (from, all) = (state.next, chunks_of(bytes));
        let to = (from + RANGE_CHUNKS).min(all);
        state.next = to;
        if to == all {
            state.files.pop();
            state.next = 0;
        }
        Some(Part { file, chunks: from..to })
    }
}
