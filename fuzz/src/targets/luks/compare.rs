//! The first half of the input as a backup of the volume whose JSON is the second half.

use luks::DeviceInfo;

pub(crate) fn run(input: &[u8]) {
    let (backup, current) = input.split_at(input.len() / 2);
    let (backup, current) = (crate::luks::header(backup), crate::luks::header(current));
    if let Ok(report) = luks::audit(&backup, &DeviceInfo::default(), Some(&current)) {
        let known = report.findings.iter().filter(|finding| finding.code.as_str().starts_with("backup-")).count();
        assert!(known <= 1);
    }
}
