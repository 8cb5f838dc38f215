//! Tablespaces without a page 0.

use innodb::verify::tablespace::unreadable_page0;

pub(crate) fn run(bytes: &[u8]) {
    if let Ok(Some(report)) = unreadable_page0::verify(bytes, unreadable_page0::FileState::default()) {
        assert!(!report.findings.is_empty(), "a file without page 0 is never sound");
    }
}
