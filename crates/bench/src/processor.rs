//! CPU time: of all processors, of a process, of this thread.

use rustix::time::{ClockId, clock_gettime};

/// Ticks of the kernel's CPU times. Source: proc(5): `sysconf(_SC_CLK_TCK)`, 100 on every architecture that Linux has
/// today.
const TICKS: f64 = 100.0;

/// Busy time of all processors since boot. The kernel counts it in hundredths of a second. Source: proc(5),
/// `/proc/stat`.
pub(crate) fn busy_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    busy_ticks(&stat) / TICKS
}

/// CPU time of a process of this machine, in seconds.
pub(crate) fn process_seconds(process: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    cpu_of_stat(&stat).map(|(all, _)| all)
}

/// CPU time of children of this process that have ended, in seconds: fields 16 and 17 of `/proc/self/stat`.
pub(crate) fn children_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields =
        stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default().split_whitespace().skip(13).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS
}

/// CPU time and its part in the kernel, in seconds: fields 14 and 15 of `/proc/PID/stat`. The program's name, field 2,
/// may contain blanks.
pub(crate) fn cpu_of_stat(stat: &str) -> Option<(f64, f64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let kernel: f64 = fields.next()?.parse().ok()?;
    Some(((user + kernel) / TICKS, kernel / TICKS))
}

/// CPU time of this thread, in seconds.
#[allow(clippy::cast_precision_loss, reason = "a duration, not a count")]
pub(crate) fn thread_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
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

    #[test]
    fn the_name_of_a_process_may_contain_blanks() {
        let stat = "12 (my (sql) d) S 1 12 12 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 40 0 1 1 1";
        assert_eq!(cpu_of_stat(stat), Some((3.0, 0.5)));
        assert_eq!(cpu_of_stat("12 (x) S 1"), None);
        assert!(process_seconds(std::process::id()).is_some());
    }

    #[test]
    fn children_that_have_ended_have_used_cpu_time() {
        let before = children_seconds();
        let loops = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", loops]).status().unwrap().success());
        assert!(children_seconds() > before);
    }
}
