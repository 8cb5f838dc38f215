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

/// Bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    let mut value = bytes as f64;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for next in units {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!([size(0), size(1023), size(1024), size(3 << 29)], ["0 B", "1023 B", "1.0 KiB", "1.5 GiB"]);
    }
}
