//! The machine on which measurements were taken.

use std::{fs, path::Path};

use jiff::Timestamp;
use serde::Serialize;

/// Everything except the data that figures depend on.
#[derive(Clone, Debug, Serialize)]
pub struct Environment {
    /// Start of the measurement.
    pub time: Timestamp,
    /// Version of Sealant.
    pub version: &'static str,
    /// Version of the compiler that built it.
    pub compiler: &'static str,
    /// Whether it was built with optimization.
    pub optimised: bool,
    /// Model of the processor.
    pub cpu: Option<String>,
    /// Relevant instruction sets of the processor, by the kernel's names.
    pub cpu_flags: Vec<String>,
    /// Number of processors that this process may use.
    pub cores: usize,
    /// Whether this is a virtual machine: others may use the same processors and disks.
    pub virtual_machine: bool,
    /// Whether the processor is emulated (QEMU without KVM); then its speed is meaningless.
    pub emulated: bool,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Type of the file system with the data.
    pub file_system: Option<String>,
    /// Load average over the last minute.
    pub load: Option<f64>,
}

/// AES and its vector variants, carry-less multiplication (CRC), wide registers; x86 and ARM.
const FLAGS: [&str; 14] = [
    "aes",
    "vaes",
    "sse4_2",
    "pclmulqdq",
    "vpclmulqdq",
    "avx2",
    "avx512f",
    "avx512vl",
    "asimd",
    "pmull",
    "crc32",
    "sha3",
    "sve",
    "sve2",
];

/// A higher load per processor disturbs measurements.
const BUSY: f64 = 0.25;

impl Environment {
    /// Describes this machine; `data` is a file or directory of the measured data.
    #[must_use]
    pub fn now(data: &Path) -> Self {
        let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
        let mounts = read("/proc/self/mounts").unwrap_or_default();
        let data = fs::canonicalize(data).unwrap_or_else(|_| data.to_path_buf());
        Self {
            time: Timestamp::now(),
            version: env!("CARGO_PKG_VERSION"),
            compiler: env!("SEALANT_RUSTC"),
            optimised: !cfg!(debug_assertions),
            cpu: field(&cpuinfo, "model name").map(str::to_owned),
            cpu_flags: flags(&cpuinfo),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            virtual_machine: flags_of(&cpuinfo).any(|word| word == "hypervisor"),
            emulated: field(&cpuinfo, "model name").is_some_and(is_emulated),
            memory_bytes: read("/proc/meminfo").and_then(|text| memory(&text, "MemTotal")),
            kernel: read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
            file_system: file_system(&mounts, &data),
            load: read("/proc/loadavg").and_then(|text| text.split_whitespace().next()?.parse().ok()),
        }
    }

    /// Whether other processes kept the processors busy.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        #[allow(clippy::cast_precision_loss, reason = "a number of processors")]
        let cores = self.cores as f64;
        self.load.is_some_and(|load| load > cores * BUSY)
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The value in a line `name : value`.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let values = text.lines().filter_map(|line| line.split_once(':'));
    values.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The words of the line `flags`, which ARM calls `Features`.
fn flags_of(cpuinfo: &str) -> impl Iterator<Item = &str> {
    field(cpuinfo, "flags").or_else(|| field(cpuinfo, "Features")).unwrap_or_default().split_whitespace()
}

/// Whether this is QEMU's default name of an emulated processor.
fn is_emulated(model: &str) -> bool {
    model.starts_with("QEMU TCG CPU")
}

fn flags(cpuinfo: &str) -> Vec<String> {
    FLAGS.iter().filter(|flag| flags_of(cpuinfo).any(|word| word == **flag)).map(|&flag| flag.to_owned()).collect()
}

/// Memory that can be had without swapping, in bytes.
pub(crate) fn available_memory() -> Option<u64> {
    memory(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable")
}

/// A figure of `/proc/meminfo`, in bytes. Source: proc(5).
fn memory(meminfo: &str, name: &str) -> Option<u64> {
    let kib: u64 = field(meminfo, name)?.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Type of the file system of `path`. Of several mounts on one directory the last one counts.
fn file_system(mounts: &str, path: &Path) -> Option<String> {
    let mut best: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let mut fields = line.split_whitespace().skip(1);
        let (Some(point), Some(kind)) = (fields.next(), fields.next()) else { continue };
        let deeper = best.is_none_or(|(length, _)| point.len() >= length);
        if deeper && path.starts_with(unescape(point)) {
            best = Some((point.len(), kind));
        }
    }
    best.map(|(_, kind)| kind.to_owned())
}

/// Decodes octal escapes of blanks in mount points.
fn unescape(point: &str) -> String {
    point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str = "processor\t: 0\nmodel name\t: Example 9000\n\
        flags\t\t: fpu sse4_2 aes hypervisor vaes\n\nprocessor\t: 1\nmodel name\t: Example 9000\n";

    #[test]
    fn cpuinfo_of_x86_and_arm() {
        assert_eq!(field(CPUINFO, "model name"), Some("Example 9000"));
        assert_eq!(flags(CPUINFO), ["aes", "vaes", "sse4_2"]);
        assert_eq!(flags("Features\t: fp asimd aes pmull crc32\n"), ["aes", "asimd", "pmull", "crc32"]);
        assert!(flags("").is_empty());
        assert!(is_emulated("QEMU TCG CPU version 2.5+") && !is_emulated("Intel(R) Xeon(R) CPU"));
    }

    #[test]
    fn the_innermost_mount_counts() {
        let mounts = "/dev/a / ext4 rw 0 0\n/dev/b /srv xfs rw 0 0\n/dev/c /srv/my\\040data btrfs rw 0 0\n";
        let kind = |path: &str| file_system(mounts, Path::new(path));
        assert_eq!(kind("/etc/x").as_deref(), Some("ext4"));
        assert_eq!(kind("/srv/my data/t.ibd").as_deref(), Some("btrfs"));
        assert_eq!(kind("/srvx").as_deref(), Some("ext4"));
    }

    #[test]
    fn memory_is_given_in_kib() {
        assert_eq!(memory("MemTotal:       1024 kB\nMemFree: 1 kB\n", "MemTotal"), Some(1 << 20));
    }

    #[test]
    fn this_machine_has_processors() {
        let here = Environment::now(Path::new("."));
        assert!(here.cores >= 1);
        assert!(here.compiler.starts_with("rustc "));
    }
}
