//! Where a process spends its processor time: samples that `perf` takes of it.
//!
//! Source: perf-record(1), perf-report(1); seen on perf 6.1.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use process::Running;
use rustix::process::Signal;

use crate::{
    Program,
    program::{ended_with_parent, output},
};

const NAME: &str = "perf";
/// Samples of each busy processor per second: seldom enough to disturb nothing, and no divisor of a timer's rate.
const FREQUENCY: &str = "499";
/// Time for it to attach to all threads of a process.
const BEGIN_LIMIT: Duration = Duration::from_secs(10);
const BEGIN_POLL: Duration = Duration::from_millis(5);
/// Time for it to write what it has sampled.
const END_LIMIT: Duration = Duration::from_secs(30);
/// Share of unnamed code from which a function that was not seen may be part of it.
const MUCH_UNNAMED: f64 = 0.05;
/// Time in which a short program is sampled, to see whether that is allowed.
const PROBE: &str = "0.02";

/// An installed `perf` that may sample other processes.
#[derive(Clone, Debug)]
pub(crate) struct Perf {
    path: PathBuf,
    /// Such as `6.1.187`.
    version: String,
    /// Private directory for samples.
    directory: PathBuf,
}

/// What a piece of code does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// AES and the modes of it.
    Aes,
    /// The rest of the cryptographic libraries, such as TLS records and contexts.
    Library,
    /// Checksums of pages and logs.
    Checksum,
    /// Compression of pages.
    Compression,
    /// The kernel's scheduler: sleeping, waking, switching.
    Scheduler,
}

/// Shares of the processor time of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Profile {
    shares: [f64; 5],
    /// Share of code of the program itself whose functions have no names.
    unnamed: f64,
}

/// A process that is being sampled.
#[derive(Debug)]
pub(crate) struct Recording {
    running: Running,
    samples: PathBuf,
}

impl Perf {
    /// Finds it in `PATH`, and samples a short program. The error is the reason why it cannot be used.
    pub(crate) fn find(directory: &Path) -> Result<Self, String> {
        let path = process::find(NAME).ok_or("it is not installed (package linux-perf, or perf)")?;
        let text = process::version_text(&path, &["--version"]).map_err(|error| error.to_string())?;
        let version = text.split_whitespace().last().unwrap_or_default().to_owned();
        let perf = Self { path, version, directory: directory.to_owned() };
        let probed = perf.directory.join("perf-probe");
        let mut command = std::process::Command::new(&perf.path);
        command.args(["record", "--quiet", "--no-buildid", "--output"]).arg(&probed).args(["--", "sleep", PROBE]);
        let done = output(&mut command).map_err(|error| error.to_string())?;
        let _ = fs::remove_file(&probed);
        if done.status.success() { Ok(perf) } else { Err(refusal(&String::from_utf8_lossy(&done.stderr))) }
    }

    /// Name and version, for records.
    pub(crate) fn program(&self) -> Program {
        Program { name: NAME.to_owned(), version: Some(self.version.clone()) }
    }

    /// Begins to sample a process and the threads that it starts; `None` if that fails. Returns when it samples: it writes
    /// the beginning of its file once it is attached to all threads, which can take longer than a short run.
    pub(crate) fn record(&self, process: u32) -> Option<Recording> {
        let samples = self.directory.join(format!("perf-{process}"));
        let process = process.to_string();
        let command = ended_with_parent(&self.path).args(["record", "--quiet", "--no-buildid", "--no-buildid-cache"]);
        let command = command.args(["--freq", FREQUENCY, "--pid", &process, "--output"]).arg(&samples);
        let running = command.start(Stdio::null(), Stdio::null()).ok()?;
        let (began, has_begun) = (Instant::now(), || fs::metadata(&samples).is_ok_and(|file| file.len() > 0));
        while !has_begun() && began.elapsed() < BEGIN_LIMIT {
            thread::sleep(BEGIN_POLL);
        }
        Some(Recording { running, samples })
    }

    /// Ends a recording, and says where the time went; `None` without samples.
    pub(crate) fn end(&self, mut recording: Recording) -> Option<Profile> {
        recording.running.signal(Signal::INT);
        let ended = recording.running.wait(END_LIMIT);
        let mut command = std::process::Command::new(&self.path);
        command.args(["report", "--stdio", "--quiet", "--no-children", "--no-inline", "--sort", "dso,symbol"]);
        command.args(["--field-separator", "|", "--input"]).arg(&recording.samples);
        // Symbols come from the program's file, not from a server of debugging information.
        command.env_remove("DEBUGINFOD_URLS");
        let report = ended.ok().and_then(|_| output(&mut command).ok());
        let _ = fs::remove_file(&recording.samples);
        Profile::read(&String::from_utf8_lossy(&report?.stdout))
    }
}

impl Profile {
    /// Reads `perf report`: lines of share, object and symbol, such as `12.34%|libcrypto.so.3|[.] aesni_cbc_encrypt`.
    fn read(report: &str) -> Option<Self> {
        let (mut profile, mut all) = (Self::default(), 0.0);
        for line in report.lines() {
            let mut columns = line.splitn(3, '|').map(str::trim);
            let (Some(share), Some(object), Some(symbol)) = (columns.next(), columns.next(), columns.next()) else {
                continue;
            };
            let Ok(share) = share.trim_end_matches('%').parse::<f64>() else { continue };
            all += share;
            match Code::of(object, symbol) {
                Some(code) => profile.shares[code as usize] += share / 100.0,
                None if symbol.contains("0x") && !object.contains(".so") => profile.unnamed += share / 100.0,
                None => {}
            }
        }
        (all > 0.0).then_some(profile)
    }

    /// The share of a kind of code; `None` if it was not seen, but may be in a program without symbols.
    pub(crate) fn share(&self, code: Code) -> Option<f64> {
        let share = self.shares[code as usize];
        let may_be_unnamed = code.is_in_programs() && share <= 0.0 && self.unnamed > MUCH_UNNAMED;
        (!may_be_unnamed).then_some(share)
    }
}

impl Code {
    /// Whether servers have it in their own program, not in a library.
    const fn is_in_programs(self) -> bool {
        matches!(self, Self::Checksum | Self::Compression)
    }

    /// What a symbol of an object file does, by its name; `None` for everything else.
    fn of(object: &str, symbol: &str) -> Option<Self> {
        let has = |names: &[&str]| names.iter().any(|name| symbol.to_ascii_lowercase().contains(name));
        let is_library = ["libcrypto", "libssl", "libgnutls", "libwolfssl"].iter().any(|name| object.starts_with(name));
        if symbol.starts_with("[k]") || object.starts_with('[') {
            return has(SCHEDULER).then_some(Self::Scheduler);
        }
        if has(CIPHERS) {
            return Some(Self::Aes);
        }
        if is_library || has(LIBRARY) {
            return Some(Self::Library);
        }
        if has(CHECKSUMS) {
            return Some(Self::Checksum);
        }
        let is_compression =
            ["libz.", "liblz", "libzstd", "libsnappy", "libbz2"].iter().any(|name| object.starts_with(name));
        (is_compression || has(COMPRESSION)).then_some(Self::Compression)
    }
}

/// Parts of the names of functions, in lower case. OpenSSL's and WolfSSL's AES, in assembly language too.
const CIPHERS: &[&str] = &["aes", "gcm", "ghash", "chacha", "poly1305"];
const LIBRARY: &[&str] = &["evp_", "ssl_", "wolfssl", "wc_", "ssl3_", "tls1", "tls13", "my_crypt", "myctx"];
const CHECKSUMS: &[&str] = &["crc32", "crc_32", "calc_page_", "checksum"];
const COMPRESSION: &[&str] =
    &["deflate", "inflate", "longest_match", "compress_block", "lz4_", "zstd_", "lzo1", "snappy"];
const SCHEDULER: &[&str] = &[
    "schedule",
    "finish_task_switch",
    "pick_next",
    "switch_mm",
    "__switch_to",
    "try_to_wake_up",
    "ttwu",
    "futex",
    "dequeue_task",
    "enqueue_task",
    "update_curr",
];

/// What `perf` complains about, in a line.
fn refusal(complaint: &str) -> String {
    if complaint.contains("perf_event_paranoid") || complaint.contains("Permission denied") {
        return "this account may not sample processes (kernel.perf_event_paranoid)".to_owned();
    }
    let line = complaint.lines().map(str::trim).find(|line| !line.is_empty() && *line != "Error:");
    line.unwrap_or("it cannot sample a process here").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_sorted_by_what_they_do() {
        let report = "\
    40.00%|mysqld|[.] row_search_mvcc
    10.00%|libcrypto.so.3|[.] aesni_cbc_encrypt
     5.00%|mariadbd|[.] AES_CBC_decrypt_by8
     4.00%|libcrypto.so.3|[.] EVP_CipherInit_ex
     3.00%|libssl.so.3|[.] 0x0000000000031337
     2.50%|mysqld|[.] ut_crc32_hw
     2.00%|libz.so.1.2.13|[.] 0x000000000000af31
     1.50%|[kernel.kallsyms]|[k] finish_task_switch.isra.0
     1.00%|[kernel.kallsyms]|[k] crc32c_intel_update
";
        let profile = Profile::read(report).unwrap();
        let share = |code| (profile.share(code).unwrap() * 1e4).round() / 1e4;
        let all = [Code::Aes, Code::Library, Code::Checksum, Code::Compression, Code::Scheduler].map(share);
        assert_eq!(all, [0.15, 0.07, 0.025, 0.02, 0.015]);
        assert_eq!(Profile::read(""), None);
    }

    #[test]
    fn what_a_program_without_symbols_does_is_not_known() {
        let report = "60.00%|mysqld|[.] 0x0000000001a3f2c4\n40.00%|libcrypto.so.3|[.] aesni_cbc_encrypt\n";
        let profile = Profile::read(report).unwrap();
        assert_eq!(
            [Code::Checksum, Code::Aes, Code::Scheduler].map(|code| profile.share(code)),
            [None, Some(0.4), Some(0.0)]
        );
        let named = Profile::read("100.00%|mariadbd|[.] row_search_mvcc\n").unwrap();
        assert_eq!(named.share(Code::Checksum), Some(0.0));
    }

    #[test]
    fn the_reason_of_a_refusal_is_one_line() {
        let paranoid = "Error:\nAccess to performance monitoring is limited.\nConsider adjusting perf_event_paranoid\n";
        assert!(refusal(paranoid).contains("perf_event_paranoid") && !refusal(paranoid).contains('\n'));
        assert_eq!(refusal("Error:\n no such event\nmore"), "no such event");
        assert_eq!(refusal(""), "it cannot sample a process here");
    }

    #[test]
    fn a_busy_process_has_a_profile_where_perf_is_installed() {
        let directory = tempfile::tempdir().unwrap();
        let Ok(perf) = Perf::find(directory.path()) else { return };
        let mut busy = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        // On a busy machine it may take seconds until the first sample.
        let profile = (0..6).find_map(|attempt| {
            let recording = perf.record(busy.id())?;
            thread::sleep(Duration::from_millis(250 << attempt));
            perf.end(recording)
        });
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(profile.is_some());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "samples are removed");
    }
}
