//! Whole tablespaces with the keys of the samples; every page is counted once.
//!
//! Control byte: bit 0 corrects the checksum of page 0, bit 1 those of the other pages as clear ones;
//! bit 2 seals these with the tablespace's own key, bit 3 in the other mode of MariaDB; bits 4 and 5
//! choose the keys, 3 is none; bit 6 is a running server, bit 7 a checkpoint.

use crate::innodb::{
    control, is_set,
    keys::set,
    repair::{self, Pages},
};
use innodb::{
    Lsn, ScanError,
    crypt::mariadb::Mode,
    keys::{KeySource, NoKeys},
    verify::{
        FileReport, MAX_FINDINGS, Verdict,
        tablespace::{Options, PageBuffers, Part, TablespaceVerifier, unreadable_page0},
    },
};

pub(crate) fn run(input: &[u8]) {
    let Some((control, bytes)) = control(input) else { return };
    let keys: &dyn KeySource = match control >> 4 & 3 {
        3 => &NoKeys,
        number => set(number),
    };
    let mut file = bytes.to_vec();
    if control & 7 != 0 {
        let mode = if is_set(control, 3) { Mode::Ctr } else { Mode::Cbc };
        repair::tablespace(&mut file, keys, Pages { sums: is_set(control, 1), seal: is_set(control, 2), mode });
    }
    let checkpoint = is_set(control, 7).then_some(Lsn(1 << 20));
    let report = match verify(&file, keys, is_set(control, 6), checkpoint) {
        Ok(report) => report,
        Err(_) => match unreadable_page0::verify(&file, unreadable_page0::FileState::default()) {
            Ok(Some(report)) => report,
            Ok(None) | Err(_) => return,
        },
    };
    check(&report);
}

fn verify(file: &[u8], keys: &dyn KeySource, live: bool, checkpoint: Option<Lsn>) -> Result<FileReport, ScanError> {
    let mut options = Options::new(keys);
    (options.live, options.checkpoint) = (live, checkpoint);
    let verifier = TablespaceVerifier::begin(file, &options)?;
    let whole = (verifier.pages() as usize).saturating_mul(verifier.page_bytes());
    let mut pages = file.get(..whole).unwrap_or_default().to_vec();
    let (mut buffers, mut part) = (PageBuffers::default(), Part::default());
    verifier.verify(file, 0, &mut pages, &mut buffers, &mut part);
    let report = verifier.finish([part]);
    assert_eq!(report.units.total, verifier.pages());
    let units = report.units;
    assert_eq!(units.encrypted + units.clear + units.empty + units.bad, units.total);
    Ok(report)
}

fn check(report: &FileReport) {
    assert!(report.findings.len() <= MAX_FINDINGS);
    if matches!(report.verdict, Verdict::Clear | Verdict::Ok) {
        assert_eq!(report.units.bad, 0, "{report:?}");
    }
    assert!(report.units.bad == 0 || !report.findings.is_empty(), "{report:?}");
}
