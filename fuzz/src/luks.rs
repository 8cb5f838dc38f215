//! Shared by the targets: the invariants of a report, and correct checksums for input.

use aws_lc_rs::digest;
use luks::{DeviceInfo, Readable, Report};

/// Judges `bytes` as a header file and as a disk.
pub fn judge(bytes: &[u8]) {
    for whole_device in [false, true] {
        let device = DeviceInfo { device_bytes: Some(1 << 42), physical_block_bytes: Some(4096), whole_device };
        let report = luks::audit(&bytes, &device, None).expect("memory can be read");
        check(&report);
    }
}

/// Invariants of every report.
pub fn check(report: &Report) {
    assert_eq!(report.readable == Readable::No, report.header.is_none());
    let mut codes: Vec<_> = report.findings.iter().map(|finding| finding.code).collect();
    let found = codes.len();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), found, "a code stands twice");
    if report.readable == Readable::No {
        assert_eq!(found, 1, "nothing else is said of a header that cannot be read");
    }
    for line in report.header.iter().flat_map(luks::HeaderSummary::lines) {
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

/// Two copies of 16 KiB with this JSON and correct checksums.
pub fn header(json: &[u8]) -> Vec<u8> {
    let json = json.get(..json.len().min(12287)).unwrap_or_default();
    [copy(b"LUKS\xba\xbe", 0, json), copy(b"SKUL\xba\xbe", 16384, json)].concat()
}

fn copy(magic: &[u8; 6], offset: u64, json: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 16384];
    bytes[..6].copy_from_slice(magic);
    bytes[7] = 2;
    bytes[8..16].copy_from_slice(&16384u64.to_be_bytes());
    bytes[23] = 3;
    bytes[72..78].copy_from_slice(b"sha256");
    bytes[168..176].copy_from_slice(b"a-volume");
    bytes[256..264].copy_from_slice(&offset.to_be_bytes());
    bytes[4096..4096 + json.len()].copy_from_slice(json);
    let sum = digest::digest(&digest::SHA256, &bytes);
    bytes[448..480].copy_from_slice(sum.as_ref());
    bytes
}
