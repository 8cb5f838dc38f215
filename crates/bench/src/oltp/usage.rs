//! Resources that a server's process used: CPU time, disk and context switches, from `/proc`.

use std::{collections::BTreeMap, fs, path::PathBuf};

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

/// Context switches of the threads of a process, voluntary and involuntary ones, by thread. The kernel has no totals of
/// a process. Source: proc(5), `/proc/PID/task/TID/status`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Switches(BTreeMap<String, [u64; 2]>);

impl Switches {
    /// Reads those of all threads. A thread that has just ended is left out.
    pub(super) fn read(process: u32) -> Self {
        let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        let thread = |entry: fs::DirEntry| {
            let status = fs::read_to_string(entry.path().join("status")).ok()?.replace(":\t", ": ");
            let count = |name| field(&status, name);
            let counts = [count("voluntary_ctxt_switches")?, count("nonvoluntary_ctxt_switches")?];
            Some((entry.file_name().to_string_lossy().into_owned(), counts))
        };
        Self(threads.filter_map(thread).collect())
    }

    /// Voluntary and involuntary switches since the earlier totals `before`, without those of threads that have ended.
    pub(super) fn since(&self, before: &Self) -> [u64; 2] {
        let mut sum = [0; 2];
        for (thread, counts) in &self.0 {
            let earlier = before.0.get(thread).copied().unwrap_or_default();
            for (sum, (now, earlier)) in sum.iter_mut().zip(counts.iter().zip(earlier)) {
                *sum += now.saturating_sub(earlier);
            }
        }
        sum
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
    fn a_thread_that_sleeps_switches_voluntarily() {
        let before = Switches::read(std::process::id());
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let [voluntary, _] = Switches::read(std::process::id()).since(&before);
        assert!(voluntary >= 20, "{voluntary}");
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
