//! Limits of memory.

/// Limits of the memory that an event can make a decoder use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest event, also after decompression. Servers send at most 1 GiB (`max_allowed_packet`).
    pub event_bytes: u64,
    /// Total length of the table maps of one statement, as in the log.
    pub table_bytes: u64,
    /// Binary logarithm of the largest window of zstd in a compressed transaction. MySQL's highest level needs 27.
    pub window_log: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { event_bytes: (1 << 30) + (1 << 20), table_bytes: 64 << 20, window_log: 27 }
    }
}
