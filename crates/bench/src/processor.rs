//! CPU time of all processors, from `/proc`.

/// Ticks of the kernel's CPU times. Source: proc(5): `sysconf(_SC_CLK_TCK)`, 100 on every architecture that Linux has
/// today.
pub(crate) const TICKS: f64 = 100.0;

/// Busy time of all processors since boot. The kernel counts it in hundredths of a second. Source: proc(5),
/// `/proc/stat`.
pub(crate) fn busy_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    busy_ticks(&stat) / TICKS
}

/// Sum of user, nice, system, irq and softirq; without idle, iowait and steal.
fn busy_ticks(stat: &str) -> f64 {
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let fields: Vec<f64> = fields.map(|field| field.parse().unwrap_or_default()).collect();
    [0, 1, 2, 5, 6].iter().filter_map(|at| fields.get(*at)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_not_counted() {
        assert_eq!(busy_ticks("cpu  1 2 4 1000 1000 8 16 1000 1000 0\ncpu0 1 1 1\n"), 31.0);
    }
}
