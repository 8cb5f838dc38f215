//! What an operator reads in the server's error log.

use std::fmt;

/// Takes lines for the error log.
pub struct Report<'r>(pub &'r (dyn Fn(&str) + Sync));

impl fmt::Debug for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Report")
    }
}

impl Report<'_> {
    /// One line.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        (self.0)(text.as_ref());
    }
}
