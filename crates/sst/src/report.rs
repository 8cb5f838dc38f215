//! Messages for the server's error log.

use std::fmt;

/// A line of the error log, in the form of the servers' own methods. Source: `wsrep_log` of MariaDB's
/// `wsrep_sst_common`.
#[must_use]
pub fn log_line(level: &str, name: &str, text: &str, time: &str) -> String {
    format!("WSREP_SST: [{level}] {name}: {text} ({time})")
}

/// Receives lines for the error log.
pub struct Report<'r>(pub &'r (dyn Fn(&str) + Sync));

impl fmt::Debug for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Report")
    }
}

impl Report<'_> {
    /// Writes one line.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        (self.0)(text.as_ref());
    }
}
