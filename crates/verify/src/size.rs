//! Human-readable numbers of bytes.

/// A human-readable number of bytes, such as `1.5 GiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    #[allow(clippy::cast_precision_loss, reason = "a human-readable figure")]
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!([size(0), size(512), size(1023)], ["0 B", "512 B", "1023 B"]);
        assert_eq!([size(1024), size(3 << 29)], ["1.0 KiB", "1.5 GiB"]);
    }
}
