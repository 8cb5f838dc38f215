//! The machine on which measurements were taken.

use std::{
    borrow::Cow,
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use files::{
    mounts::Mounts,
    proc::{self, Processor},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::processor::busy_seconds;

/// Everything except the data that figures depend on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Environment {
    /// Start of the measurement.
    pub time: Timestamp,
    /// Version of Sealant.
    pub version: Cow<'static, str>,
    /// Version of the compiler that built it.
    pub compiler: Cow<'static, str>,
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
    /// Number of processors that other programs kept busy just before the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_cores: Option<f64>,
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

/// Busy share of the processors above which measurements are disturbed.
const BUSY: f64 = 0.25;
/// How long other programs are observed.
const OBSERVED: Duration = Duration::from_millis(300);

impl Environment {
    /// Describes this machine; `data` is a file or directory of the measured data.
    #[must_use]
    pub fn now(data: &Path) -> Self {
        let processor = Processor::this();
        let mounts = Mounts::of_this_process().unwrap_or_default();
        let data = fs::canonicalize(data).unwrap_or_else(|_| data.to_path_buf());
        Self {
            time: Timestamp::now(),
            version: env!("CARGO_PKG_VERSION").into(),
            compiler: env!("SEALANT_RUSTC").into(),
            optimised: !cfg!(debug_assertions),
            cpu: processor.model.clone(),
            cpu_flags: relevant_flags(&processor),
            cores: thread::available_parallelism().map_or(1, usize::from),
            virtual_machine: processor.is_virtual(),
            emulated: processor.is_emulated(),
            memory_bytes: proc::total_memory(),
            kernel: read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
            file_system: mounts.holding(&data).map(|mount| mount.kind.clone()),
            busy_cores: Some(busy_cores()),
            load: read("/proc/loadavg").and_then(|text| text.split_whitespace().next()?.parse().ok()),
        }
    }

    /// Whether other processes kept the processors busy.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        #[allow(clippy::cast_precision_loss, reason = "a number of processors")]
        let cores = self.cores as f64;
        self.busy_cores.is_some_and(|busy| busy > cores * BUSY)
    }
}

/// Processors that are busy while this program waits. The load average still has what this program did before.
fn busy_cores() -> f64 {
    let (busy, began) = (busy_seconds(), Instant::now());
    thread::sleep(OBSERVED);
    (busy_seconds() - busy).max(0.0) / began.elapsed().as_secs_f64()
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Relevant flags of a processor, in the order of [`FLAGS`].
fn relevant_flags(processor: &Processor) -> Vec<String> {
    FLAGS.into_iter().filter(|flag| processor.has(flag)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevant_flags_have_their_own_order() {
        let flags = |cpuinfo: &str| relevant_flags(&Processor::parse(cpuinfo));
        assert_eq!(flags("flags\t\t: fpu sse4_2 aes hypervisor vaes\n"), ["aes", "vaes", "sse4_2"]);
        assert_eq!(flags("Features\t: fp asimd aes pmull crc32\n"), ["aes", "asimd", "pmull", "crc32"]);
    }

    #[test]
    fn this_machine_has_processors() {
        let here = Environment::now(Path::new("."));
        assert!(here.cores >= 1);
        assert!(here.compiler.starts_with("rustc "));
    }
}
