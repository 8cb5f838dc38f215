//! Messages for the server's error log.

use std::fmt;

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
