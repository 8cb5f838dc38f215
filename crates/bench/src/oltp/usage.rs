//! Resources that a server's process used: CPU time and disk, from `/proc`.

use std::{fs, path::PathBuf};

use crate::{Error, processor::cpu_of_stat};

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
        let (cpu_seconds, kernel_seconds) = cpu_of_stat(&stat).ok_or_else(malformed)?;
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

fn field(text: &str, name: &str) -> Option<u64> {
    let mut values = text.lines().filter_map(|line| line.split_once(": "));
    values.find(|(key, _)| *key == name)?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_files_are_parsed() {
        assert_eq!(field("rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n", "write_bytes"), Some(8192));
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
