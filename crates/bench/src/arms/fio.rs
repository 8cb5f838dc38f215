//! Reads with `fio`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{Arm, Work, fio};

/// Reads the files one after the other with `fio`, sequentially, by direct reads of 1 MiB, `depth` of them at once. The
/// time is what `fio` reports; its start is not included.
pub fn fio<'a>(name: impl Into<String>, program: &'a Path, files: &'a [PathBuf], depth: u32) -> Arm<'a> {
    Arm::self_timed(name, move || {
        let engine = if depth > 1 { "libaio" } else { "psync" };
        let mut command = fio::command(program, files);
        command.args(["--name=read", "--rw=read", "--bs=1M", "--readonly"]);
        command.args(["--file_service_type=sequential", "--invalidate=0"]);
        command.args([format!("--ioengine={engine}"), format!("--iodepth={depth}")]);
        let Job { read } = fio::run(&mut command)?;
        Ok(Work { amount: read.io_bytes, seconds: Some(read.seconds()), ..Work::default() })
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_of_fio_is_parsed() {
        let text = br#"fio: note: something
            {"fio version": "fio-3.33", "jobs": [{"read": {"io_bytes": 1000, "bw_bytes": 2000, "bw": 1}}]}"#;
        let Job { read } = fio::first_job(text).unwrap();
        assert_eq!((read.io_bytes, read.seconds()), (1000, 0.5));
        assert!(fio::first_job::<Job>(b"no").is_none());
    }
}
