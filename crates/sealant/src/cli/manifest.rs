//! `sealant verify --manifest`: is what was received still what it was?

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use ::transfer::check::{Difference, check};
use ::transfer::manifest::{Manifest, ManifestError};
use files::regular::{self, Links};
use report::{Format, size};

use crate::exit::Exit;
use crate::output::file;
use crate::output::message::Failure;
use crate::output::progress::StatusLine;

/// What to check, and how to tell.
pub(super) struct Check<'c> {
    pub(super) manifest: &'c Path,
    /// Instead of the directory that the manifest lies in.
    pub(super) directory: Option<&'c PathBuf>,
    pub(super) format: Format,
    pub(super) output: Option<&'c Path>,
    pub(super) threads: usize,
    pub(super) quiet: bool,
}

impl Check<'_> {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let manifest = self.read()?;
        let root = match (self.directory, self.manifest.parent()) {
            (Some(directory), _) => directory.as_path(),
            (None, Some(parent)) if !parent.as_os_str().is_empty() => parent,
            (None, _) => Path::new("."),
        };
        let (bytes, total) = (AtomicU64::new(0), manifest.bytes());
        let differences = watched(self.quiet, &bytes, total, || check(&manifest, root, self.threads, &bytes));
        self.write(&manifest, &differences)?;
        Ok(if differences.is_empty() { Exit::Clean } else { Exit::Findings })
    }

    fn read(&self) -> Result<Manifest, Failure> {
        let failed = |reason: String| Failure::new(format!("{}: {reason}", self.manifest.display()));
        let file = regular::open(self.manifest, Links::Followed).map_err(|error| failed(error.to_string()))?;
        Manifest::read(&mut BufReader::new(file)).map_err(|error: ManifestError| failed(error.to_string()))
    }

    fn write(&self, manifest: &Manifest, differences: &[Difference]) -> Result<(), Failure> {
        let write = |out: &mut dyn std::io::Write| match self.format {
            Format::Json => json(manifest, differences, out),
            _ => table(manifest, differences, out),
        };
        match self.output {
            Some(path) => file::replace(path, &write),
            None => file::to_stdout(&write),
        }
    }
}

fn watched<T: Send>(quiet: bool, bytes: &AtomicU64, total: u64, work: impl FnOnce() -> T + Send) -> T {
    let (status, over) = (StatusLine::new(quiet), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                status.show(&format!("{} of {}", size(bytes.load(Ordering::Relaxed)), size(total)));
                thread::sleep(Duration::from_millis(50));
            }
            status.clear();
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    })
}

fn table(manifest: &Manifest, differences: &[Difference], out: &mut dyn std::io::Write) -> std::io::Result<()> {
    for Difference { path, fault } in differences {
        writeln!(out, "{}: {fault}", path.display())?;
    }
    let (entries, bytes, tree) = (manifest.entries.len(), size(manifest.bytes()), manifest.tree());
    match differences.len() {
        0 => writeln!(out, "{entries} entries, {bytes}: all as they were received; tree {tree}"),
        count => writeln!(out, "{count} of {entries} entries are not as they were received; tree {tree}"),
    }
}

fn json(manifest: &Manifest, differences: &[Difference], out: &mut dyn std::io::Write) -> std::io::Result<()> {
    let differences: Vec<_> = differences
        .iter()
        .map(|difference| serde_json::json!({ "path": difference.path.display().to_string(), "fault": difference.fault.to_string() }))
        .collect();
    let document = serde_json::json!({
        "schema": "sealant.manifest-check/1",
        "entries": manifest.entries.len(),
        "bytes": manifest.bytes(),
        "tree": manifest.tree().to_string(),
        "differences": differences,
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
