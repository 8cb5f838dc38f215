//! Loads of a database on a block device, by `fio`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use crate::{Detail, Error, Work, program};

/// What is done to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// 1 MiB after 1 MiB, four at once: a backup or a scan.
    SequentialRead,
    /// The same in writing: a restore.
    SequentialWrite,
    /// Pages of InnoDB, 16 at once: the buffer pool misses.
    RandomRead,
    /// The same in writing: dirty pages are flushed.
    RandomWrite,
    /// Both, 70 of 100 of them reads.
    Mixed,
    /// 16 KiB and fdatasync, one after the other: commits. The latency is that of the fdatasync.
    Fsync,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::SequentialRead, Self::SequentialWrite, Self::RandomRead, Self::RandomWrite, Self::Mixed, Self::Fsync];

    /// Its name on command lines.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SequentialRead => "sequential-read",
            Self::SequentialWrite => "sequential-write",
            Self::RandomRead => "random-read",
            Self::RandomWrite => "random-write",
            Self::Mixed => "mixed",
            Self::Fsync => "fsync",
        }
    }

    /// Those of these names; all of them if there is no name.
    #[must_use]
    pub fn named(names: &[String]) -> Vec<Self> {
        let wanted = |pattern: &Self| names.is_empty() || names.iter().any(|name| name == pattern.as_str());
        Self::ALL.into_iter().filter(wanted).collect()
    }

    /// For people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::SequentialRead => "sequential reads of 1 MiB, 4 at once",
            Self::SequentialWrite => "sequential writes of 1 MiB, 4 at once",
            Self::RandomRead => "random reads of 16 KiB, 16 at once",
            Self::RandomWrite => "random writes of 16 KiB, 16 at once",
            Self::Mixed => "70 % random reads, 30 % writes of 16 KiB, 16 at once",
            Self::Fsync => "writes of 16 KiB, each with fdatasync",
        }
    }

    const fn options(self) -> &'static [&'static str] {
        match self {
            Self::SequentialRead => &["--rw=read", "--bs=1M", "--iodepth=4"],
            Self::SequentialWrite => &["--rw=write", "--bs=1M", "--iodepth=4"],
            Self::RandomRead => &["--rw=randread", "--bs=16k", "--iodepth=16"],
            Self::RandomWrite => &["--rw=randwrite", "--bs=16k", "--iodepth=16"],
            Self::Mixed => &["--rw=randrw", "--rwmixread=70", "--bs=16k", "--iodepth=16"],
            Self::Fsync => &["--rw=write", "--bs=16k", "--iodepth=1", "--fdatasync=1"],
        }
    }
}

/// The program, and how long it runs.
#[derive(Clone, Debug)]
pub struct FioLoad {
    /// Where it is.
    pub program: PathBuf,
    /// How long a run lasts.
    pub span: Duration,
}

impl FioLoad {
    /// Puts the load on a device, whose content is lost if the pattern writes.
    ///
    /// # Errors
    /// [`Error::Program`].
    pub fn run(&self, device: &Path, pattern: Pattern) -> Result<Work, Error> {
        let mut command = self.command(device, pattern);
        let before = busy_seconds();
        let output = program::output(&mut command)?;
        let cpu_seconds = (busy_seconds() - before).max(0.0);
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(program::failed(&command, &words));
        }
        let result = parse(&output.stdout, pattern).filter(|result| result.bytes > 0);
        let result = result.ok_or_else(|| program::failed(&command, "wrote no result"))?;
        let detail = Detail {
            p50_seconds: result.percentiles[0],
            p99_seconds: result.percentiles[1],
            p999_seconds: result.percentiles[2],
            cpu_seconds,
        };
        Ok(Work { amount: result.bytes, seconds: Some(result.seconds), detail: Some(detail) })
    }

    fn command(&self, device: &Path, pattern: Pattern) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--name=load", "--direct=1", "--ioengine=libaio", "--time_based", "--norandommap"]);
        command.args(["--randrepeat=1", "--output-format=json"]);
        command.args(pattern.options());
        if pattern != Pattern::Fsync {
            command.arg("--unified_rw_reporting=mixed");
        }
        command.arg(format!("--runtime={}ms", self.span.as_millis()));
        // Colons separate files there.
        command.arg(format!("--filename={}", device.display().to_string().replace(':', "\\:")));
        command
    }
}

/// What the document of a run says.
struct Figures {
    bytes: u64,
    seconds: f64,
    /// Half, 99 %, 99.9 %, in seconds.
    percentiles: [f64; 3],
}

#[derive(Deserialize)]
struct Document {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    mixed: Option<Direction>,
    write: Option<Direction>,
    sync: Option<Sync>,
}

#[derive(Deserialize)]
struct Direction {
    io_bytes: u64,
    /// Milliseconds.
    runtime: u64,
    clat_ns: Latencies,
}

#[derive(Deserialize)]
struct Sync {
    lat_ns: Latencies,
}

#[derive(Deserialize)]
struct Latencies {
    #[serde(default)]
    percentile: HashMap<String, f64>,
}

/// Warnings may stand before the document.
fn parse(output: &[u8], pattern: Pattern) -> Option<Figures> {
    let begin = output.iter().position(|byte| *byte == b'{')?;
    let document: Document = serde_json::from_slice(output.get(begin..)?).ok()?;
    let job = document.jobs.into_iter().next()?;
    let (direction, latencies) = if pattern == Pattern::Fsync {
        (job.write?, job.sync?.lat_ns)
    } else {
        let mixed = job.mixed?;
        let latencies = Latencies { percentile: mixed.clat_ns.percentile.clone() };
        (mixed, latencies)
    };
    let at = |name: &str| latencies.percentile.get(name).map(|ns| ns / 1e9);
    #[allow(clippy::cast_precision_loss, reason = "a duration, not a count")]
    let seconds = direction.runtime.max(1) as f64 / 1e3;
    Some(Figures {
        bytes: direction.io_bytes,
        seconds,
        percentiles: [at("50.000000")?, at("99.000000")?, at("99.900000")?],
    })
}

/// Time that all processors together were not idle since the start of the machine. The kernel counts it in hundredths
/// of a second. Source: proc(5), `/proc/stat`.
fn busy_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    busy_ticks(&stat) / 100.0
}

/// user, nice, system, irq, softirq; neither idle, iowait nor what the hypervisor took.
fn busy_ticks(stat: &str) -> f64 {
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let fields: Vec<f64> = fields.map(|field| field.parse().unwrap_or_default()).collect();
    [0, 1, 2, 5, 6].iter().filter_map(|at| fields.get(*at)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_of_a_run_is_read() {
        let percentile = r#"{"percentile":{"50.000000":1000000,"99.000000":2000000,"99.900000":3000000}}"#;
        let text = format!(r#"note {{"jobs":[{{"mixed":{{"io_bytes":5,"runtime":250,"clat_ns":{percentile}}}}}]}}"#);
        let read = parse(text.as_bytes(), Pattern::Mixed).unwrap();
        assert_eq!((read.bytes, read.seconds, read.percentiles), (5, 0.25, [0.001, 0.002, 0.003]));
        let text = format!(
            r#"{{"jobs":[{{"write":{{"io_bytes":5,"runtime":250,"clat_ns":{{}}}},"sync":{{"lat_ns":{percentile}}}}}]}}"#
        );
        assert_eq!(parse(text.as_bytes(), Pattern::Fsync).unwrap().percentiles, [0.001, 0.002, 0.003]);
        assert!(parse(text.as_bytes(), Pattern::Mixed).is_none());
    }

    #[test]
    fn what_is_idle_is_not_counted() {
        assert_eq!(busy_ticks("cpu  1 2 4 1000 1000 8 16 1000 1000 0\ncpu0 1 1 1\n"), 31.0);
    }
}
