//! Notes on a measurement: the report of `send`, and properties of the disks that make copies cheaper or more
//! expensive.

use std::{fs, path::Path};

use files::quantity::size;
use serde::Deserialize;

use crate::{CopyPeer, Environment};

/// File systems on which `cp` may share data instead of copying it.
const SHARING: [&str; 4] = ["btrfs", "xfs", "zfs", "bcachefs"];

/// Notes on disks that make copies cheaper or more expensive than usual.
pub(super) fn disk_notes(source: &Environment, scratch: &Path, peers: &[&CopyPeer]) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(system) = Environment::now(scratch).file_system else { return notes };
    if system == "tmpfs" {
        notes.push("copies were written into memory (tmpfs), not to a disk".to_owned());
    } else if source.file_system.as_ref() != Some(&system) {
        notes.push(format!("copies were written to {system}"));
    }
    if SHARING.contains(&system.as_str()) && peers.iter().any(|peer| !peer.networked) {
        notes.push(format!("cp may have shared the blocks of the source instead of copying them ({system})"));
    }
    if std::env::var_os("OPENSSL_ia32cap").is_some() {
        notes.push("OPENSSL_ia32cap is set for all of them, this program too".to_owned());
    }
    notes
}

/// The report of `send`.
#[derive(Deserialize)]
pub(super) struct Sent {
    bytes: u64,
    wire_bytes: u64,
    pub(super) opened_bytes: u64,
    suite: Option<String>,
    streams: usize,
}

impl Sent {
    pub(super) fn read(report: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(report).ok()?).ok()
    }

    pub(super) fn note(&self, name: &str) -> String {
        let (bytes, wire) = (size(self.bytes), size(self.wire_bytes));
        let suite = self.suite.as_deref().unwrap_or("an unknown suite");
        format!("{name} sent {bytes} as {wire} through {} connections with {suite}", self.streams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_send_becomes_a_note() {
        let directory = tempfile::tempdir().unwrap();
        let report = directory.path().join("r.json");
        fs::write(&report, r#"{"bytes": 2048, "wire_bytes": 1024, "opened_bytes": 0, "streams": 4}"#).unwrap();
        let note = Sent::read(&report).unwrap().note("sealant");
        assert_eq!(note, "sealant sent 2.0 KiB as 1.0 KiB through 4 connections with an unknown suite");
    }
}
