//! Decompressors of pages: they fill a page exactly, or return an error.
//!
//! Control byte: bits 0 to 2 choose the algorithm (6: MySQL's page compression), bits 4 to 6 the size.

use crate::innodb::control;
use innodb::page::{compressed::rebuild_mysql, decompress::Algorithm};

pub(crate) fn run(input: &[u8]) {
    let Some((control, payload)) = control(input) else { return };
    let page_bytes = 1024_usize << (control >> 4 & 7).min(6);
    let mut out = vec![0; page_bytes];
    match Algorithm::ALL.get(usize::from(control & 7)) {
        Some(algorithm) => {
            let _ = algorithm.decompress(payload, &mut out);
        }
        None => {
            let _ = rebuild_mysql(payload, &mut out);
        }
    }
    assert_eq!(out.len(), page_bytes);
}
