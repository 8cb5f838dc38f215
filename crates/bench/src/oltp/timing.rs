//! Durations of what surrounds the runs.

use std::time::Duration;

use super::{TableSet, tables::INDEXED_ROW_BYTES};

/// Time to create the system tables of a server, and to start it.
const START: Duration = Duration::from_secs(5);
/// Bytes that a server inserts in a millisecond: 40 rows of sysbench, with the index.
const BYTES_PER_MILLISECOND: u64 = 40 * INDEXED_ROW_BYTES;
/// Shortest and longest observation of a server under load, for a prediction.
const OBSERVATION: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(20)];

/// Approximate time to start a server and to fill its tables.
pub(crate) fn preparation(tables: &TableSet) -> Duration {
    START + Duration::from_millis(tables.bytes() / BYTES_PER_MILLISECOND)
}

/// How long a server is observed for a prediction, if a run takes `span`.
pub(crate) fn observation_of(span: Duration) -> Duration {
    span.clamp(OBSERVATION[0], OBSERVATION[1])
}
