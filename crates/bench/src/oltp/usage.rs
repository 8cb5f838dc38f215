//! Resources that a server's process used: CPU time and disk, from `/proc`.

use std::{fs, path::PathBuf};

use crate::{Error, processor::TICKS};

/// Totals since the start of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    /// CPU time in seconds.
    pub(super) cpu_seconds: f64,
    /// Part of the CPU time that was spent in the kernel, in seconds.
    pub(super) kernel_seconds: f64,
    /// Bytes read from the disk.
    pub(super) read_bytes: u64,
    /// Bytes written to the disk.
    pub(super) written_bytes: u64,
}

impl Usage {
    /// Reads the totals of a process.
    pub(super) fn read(process: u32) -> Result<Self, Error> {
        let read = |name: &str| {
            let path = PathBuf::from(format!("/proc/{process}/{name}"));
            fs::read_to_string(&path).map_err(Error::file(path))
        };
        let (stat, io) = (read("stat")?, read("io")?);
        let malformed = || Error::Work { arm: format!("process {process}"), reason: "its usage is unknown".to_owned() };
        let (cpu_seconds, kernel_seconds) = cpu(&stat).ok_or_else(malformed)?;
        let figure = |name: &str| field(&io, name).ok_or_else(malformed);
        let (read_bytes, written_bytes) = (figure("read_bytes")?, figure("write_bytes")?);
        Ok(Self { cpu_seconds, kernel_seconds, read_bytes, written_bytes })
    }

    /// Difference to the earlier totals `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            cpu_seconds: self.cpu_seconds - before.cpu_seconds,
            kernel_seconds: self.kernel_seconds - before.kernel_seconds,
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
        }
    }
}

/// CPU time and its part in the kernel: fields 14 and 15 of `/proc/PID/stat`. The program's name, field 2, may contain
/// blanks.
fn cpu(stat: &str) -> Option<(f64, f64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let kernel: f64 = fields.next()?.parse().ok()?;
    Some(((user + kernel) / TICKS, kernel / TICKS))
}

fn field(text: &str, name: &str) -> Option<u64> {
    let mut values = text.lines().filter_map(|line| line.split_once(": "));
    values.find(|(key, _)| *key == name)?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_files_are_parsed() {
        let stat = "12 (my (sql) d) S 1 12 12 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 40 0 1 1 1";
        assert_eq!(cpu(stat), Some((3.0, 0.5)));
        assert_eq!(field("rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n", "write_bytes"), Some(8192));
        assert_eq!(cpu("12 (x) S 1"), None);
    }

    #[test]
    fn this_process_has_used_cpu_time() {
        let before = Usage::read(std::process::id()).unwrap();
        let begin = std::time::Instant::now();
        while begin.elapsed() < std::time::Duration::from_millis(100) {}
        let used = Usage::read(std::process::id()).unwrap().since(&before);
        assert!(used.cpu_seconds > 0.0, "{used:?}");
    }
}
