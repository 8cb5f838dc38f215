//! What all transfers of a host add up to, in a file for Prometheus: `sealant monitor` and node_exporter's textfile
//! collector read it. A transfer is a process of its own, so the totals are kept in the file.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::{self, ErrorKind},
    path::Path,
};

use files::{
    WriteOptions,
    regular::{self, Links},
    write_atomic,
};

use crate::progress::{Progress, load};

/// What transferred, and which side this host was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `sealant send`.
    Sender,
    /// `sealant receive`.
    Receiver,
    /// Galera's state transfer, the node that gave.
    Donor,
    /// Galera's state transfer, the node that joined.
    Joiner,
}

impl Side {
    const fn labels(self) -> &'static str {
        match self {
            Self::Sender => "kind=\"copy\",side=\"sender\"",
            Self::Receiver => "kind=\"copy\",side=\"receiver\"",
            Self::Donor => "kind=\"sst\",side=\"donor\"",
            Self::Joiner => "kind=\"sst\",side=\"joiner\"",
        }
    }
}

/// Name, type and help of each metric.
const METRICS: [(&str, &str, &str); 4] = [
    (BYTES, "counter", "Bytes of files that transfers have moved."),
    (LAST, "gauge", "When the last successful transfer ended, Unix time."),
    (RUNS, "counter", "Transfers that ended, by result: done or failed."),
    (WIRE, "counter", "Bytes of payload on the network."),
];
const BYTES: &str = "sealant_transfer_bytes_total";
const LAST: &str = "sealant_transfer_last_success_timestamp_seconds";
const RUNS: &str = "sealant_transfer_runs_total";
const WIRE: &str = "sealant_transfer_wire_bytes_total";

/// The file has a few lines.
const MOST_BYTES: u64 = 64 << 10;

/// Adds a transfer that ended at `now`, in seconds since 1970. Creates the file if it does not exist. Beside it, a
/// file with the ending `.lock` makes transfers that end at once wait for each other.
///
/// # Errors
/// The system's; [`ErrorKind::InvalidData`] if the file holds anything but these totals.
pub fn add(path: &Path, side: Side, is_done: bool, progress: &Progress, now: u64) -> io::Result<()> {
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    let lock = File::options().create(true).append(true).open(&lock)?;
    lock.lock()?;
    let text = match regular::read(path, Links::Followed, MOST_BYTES) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| other_file())?,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let mut totals = parse(&text).ok_or_else(other_file)?;
    let labels = side.labels();
    let results = [("done", is_done), ("failed", !is_done)];
    for (result, is_this) in results {
        increase(&mut totals, RUNS, &format!("{labels},result=\"{result}\""), f64::from(u8::from(is_this)));
    }
    increase(&mut totals, BYTES, labels, as_float(load(&progress.bytes)));
    increase(&mut totals, WIRE, labels, as_float(load(&progress.wire_bytes)));
    if is_done {
        totals.insert(format!("{LAST}{{{labels}}}"), as_float(now));
    }
    write_atomic(path, text_of(&totals).as_bytes(), WriteOptions::PUBLIC.replacing(true))
}

fn other_file() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "holds other text than the totals of transfers: give another file")
}

fn increase(totals: &mut BTreeMap<String, f64>, metric: &str, labels: &str, by: f64) {
    *totals.entry(format!("{metric}{{{labels}}}")).or_default() += by;
}

/// Exact up to 8 PiB.
#[allow(clippy::cast_precision_loss, reason = "metrics are floating-point numbers")]
const fn as_float(number: u64) -> f64 {
    number as f64
}

/// The samples of this text; `None` if it has other lines.
fn parse(text: &str) -> Option<BTreeMap<String, f64>> {
    let samples = text.lines().filter(|line| !line.starts_with("# "));
    let known = |series: &str| METRICS.into_iter().any(|(name, ..)| series.split('{').next() == Some(name));
    let sample = |line: &str| {
        let (series, value) = line.rsplit_once(' ').filter(|(series, _)| known(series))?;
        Some((series.to_owned(), value.parse().ok()?))
    };
    samples.map(sample).collect()
}

fn text_of(totals: &BTreeMap<String, f64>) -> String {
    let mut text = String::new();
    for (name, kind, help) in METRICS {
        let samples: Vec<_> = totals.iter().filter(|(series, _)| series.split('{').next() == Some(name)).collect();
        if samples.is_empty() {
            continue;
        }
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (series, value) in samples {
            let _ = writeln!(text, "{series} {value}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::atomic::Ordering, thread};

    use super::*;

    #[test]
    fn transfers_add_up_by_side_and_result() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("transfers.prom");
        let progress = Progress::default();
        progress.bytes.store(5 << 40, Ordering::Relaxed);
        progress.wire_bytes.store(7, Ordering::Relaxed);
        add(&path, Side::Donor, true, &progress, 1_700_000_000).unwrap();
        add(&path, Side::Donor, false, &progress, 1_700_000_060).unwrap();
        add(&path, Side::Receiver, true, &progress, 1_700_000_060).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for line in [
            "# TYPE sealant_transfer_runs_total counter",
            "sealant_transfer_bytes_total{kind=\"sst\",side=\"donor\"} 10995116277760",
            "sealant_transfer_last_success_timestamp_seconds{kind=\"sst\",side=\"donor\"} 1700000000",
            "sealant_transfer_runs_total{kind=\"copy\",side=\"receiver\",result=\"failed\"} 0",
            "sealant_transfer_runs_total{kind=\"sst\",side=\"donor\",result=\"done\"} 1",
            "sealant_transfer_runs_total{kind=\"sst\",side=\"donor\",result=\"failed\"} 1",
            "sealant_transfer_wire_bytes_total{kind=\"sst\",side=\"donor\"} 14",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn transfers_that_end_at_once_are_all_counted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("transfers.prom");
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| add(&path, Side::Sender, true, &Progress::default(), 1).unwrap());
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("{kind=\"copy\",side=\"sender\",result=\"done\"} 8\n"), "{text}");
    }

    #[test]
    fn another_file_is_left_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my.cnf");
        for text in ["[mysqld]\n", "node_load1 1\n", "sealant_transfer_bytes_total{} many\n"] {
            fs::write(&path, text).unwrap();
            let error = add(&path, Side::Sender, true, &Progress::default(), 1).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
