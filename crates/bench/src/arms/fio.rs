//! Reads with `fio`, the usual disk benchmark.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;

use crate::{Arm, Work, program};

/// Reads the files sequentially with `fio`, one after the other, by direct reads of 1 MiB, `depth` of them at once. The
/// time is the one that `fio` reports, without its start.
pub fn fio<'a>(name: impl Into<String>, program: &'a Path, files: &'a [PathBuf], depth: u32) -> Arm<'a> {
    Arm::self_timed(name, move || {
        let mut command = command(program, files, depth);
        let output = program::succeed(&mut command)?;
        let read = parse(&output.stdout).ok_or_else(|| program::failed(&command, "wrote no result"))?;
        Ok(Work { amount: read.io_bytes, seconds: Some(read.seconds()), ..Work::default() })
    })
}

fn command(program: &Path, files: &[PathBuf], depth: u32) -> Command {
    let mut command = Command::new(program);
    let engine = if depth > 1 { "libaio" } else { "psync" };
    command.args(["--name=read", "--rw=read", "--bs=1M", "--direct=1", "--readonly", "--output-format=json"]);
    command.args(["--file_service_type=sequential", "--invalidate=0"]);
    command.args([format!("--ioengine={engine}"), format!("--iodepth={depth}")]);
    // `fio` separates file names by colons.
    let names: Vec<String> = files.iter().map(|file| file.display().to_string().replace(':', "\\:")).collect();
    command.arg(format!("--filename={}", names.join(":")));
    command
}

#[derive(Deserialize)]
struct Document {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    read: Read,
}

#[derive(Deserialize)]
struct Read {
    io_bytes: u64,
    /// Bytes per second. `fio` reports the run time only in whole milliseconds.
    bw_bytes: u64,
}

impl Read {
    #[allow(clippy::cast_precision_loss, reason = "a duration, not a count")]
    fn seconds(&self) -> f64 {
        self.io_bytes as f64 / self.bw_bytes.max(1) as f64
    }
}

/// Skips warnings that `fio` may print before the document.
fn parse(output: &[u8]) -> Option<Read> {
    let begin = output.iter().position(|byte| *byte == b'{')?;
    let document: Document = serde_json::from_slice(output.get(begin..)?).ok()?;
    document.jobs.into_iter().next().map(|job| job.read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_of_fio_is_parsed() {
        let text = br#"fio: note: something
            {"fio version": "fio-3.33", "jobs": [{"read": {"io_bytes": 1000, "bw_bytes": 2000, "bw": 1}}]}"#;
        let read = parse(text).unwrap();
        assert_eq!((read.io_bytes, read.seconds()), (1000, 0.5));
        assert!(parse(b"no").is_none());
    }
}
