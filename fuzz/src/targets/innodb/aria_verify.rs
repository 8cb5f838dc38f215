//! Aria tables with the keys of the samples; every page is counted once.
//!
//! The last three bytes are the length of the index file in units of 128 bytes (two bytes, big-endian)
//! and a control byte: bit 0 corrects the checksums of pages and encrypts those of an encrypted table,
//! bit 1 in the other mode; bits 4 and 5 choose the keys, 3 is none.

use crate::innodb::{
    control, is_set,
    keys::set,
    repair::{AriaLayout, aria_pages},
};
use innodb::{
    aria::{self, AriaTable},
    crypt::{aria::CryptRecord, mariadb::Mode},
    keys::{KeySource, NoKeys},
    verify::{
        FileReport, MAX_FINDINGS, Verdict,
        aria::{AriaHeader, verify_data, verify_index},
    },
};

pub(crate) fn run(input: &[u8]) {
    let Some((control, rest)) = control(input) else { return };
    let Some((files, units)) = rest.split_last_chunk() else { return };
    let index_bytes = usize::from(u16::from_be_bytes(*units)) * 128;
    let Some((index, data)) = files.split_at_checked(index_bytes) else { return };
    let keys: &dyn KeySource = match control >> 4 & 3 {
        3 => &NoKeys,
        number => set(number),
    };
    let (mut index, mut data) = (index.to_vec(), data.to_vec());
    if is_set(control, 0)
        && let Some(table) = aria::recognise_table(&index)
    {
        let mode = if is_set(control, 1) { Mode::Ctr } else { Mode::Cbc };
        repair(&table, &mut index, &mut data, keys, mode);
    }
    let Ok(header) = AriaHeader::read(&index) else { return };
    check(&verify_index(&index, &header, keys).expect("memory can be read"));
    check(&verify_data(&data, &header, keys).expect("memory can be read"));
}

fn repair(table: &AriaTable, index: &mut [u8], data: &mut [u8], keys: &dyn KeySource, mode: Mode) {
    let header_bytes = table.header_bytes as usize;
    let record = header_bytes.checked_sub(CryptRecord::BYTES).and_then(|at| index.get(at..header_bytes));
    let record = record.and_then(CryptRecord::parse);
    // The same as `bitmap_interval` of the crate.
    let bitmap_every = table.block_bytes.saturating_sub(4) / 6 * 16 + 1;
    let layout = |is_index| AriaLayout { table, record: record.as_ref(), is_index, bitmap_every };
    let first = table.header_bytes.div_ceil(table.block_bytes);
    let behind_header = index.get_mut((first * table.block_bytes) as usize..).unwrap_or_default();
    aria_pages(behind_header, first, keys, mode, &layout(true));
    aria_pages(data, 0, keys, mode, &layout(false));
}

fn check(report: &FileReport) {
    let units = report.units;
    assert_eq!(units.encrypted + units.clear + units.empty + units.bad, units.total, "{report:?}");
    assert!(report.findings.len() <= MAX_FINDINGS);
    assert!(units.bad == 0 || !matches!(report.verdict, Verdict::Clear | Verdict::Ok), "{report:?}");
}
