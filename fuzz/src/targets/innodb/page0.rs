//! The first page of a tablespace, and the key it names.
//!
//! Control byte: bit 0 corrects the checksum of page 0; bits 2 and 3 choose the keys.

use crate::innodb::{control, is_set, keys::set, repair};
use innodb::{
    crypt::{mariadb::CryptData, mysql::WrappedKey},
    keys::NoKeys,
    tablespace::Page0,
    verify::tablespace::{Options, TablespaceVerifier},
};

pub(crate) fn run(input: &[u8]) {
    let Some((control, bytes)) = control(input) else { return };
    let keys = set(control >> 2 & 3);
    let mut file = bytes.to_vec();
    if is_set(control, 0) {
        repair::first_page(&mut file);
    }
    if let Ok(page0) = Page0::parse(&file) {
        let _ = CryptData::from_page0(&file, &page0);
    }
    let _ = WrappedKey::parse(&file).map(|wrapped| wrapped.unwrap(keys));
    let with = TablespaceVerifier::begin(&file, &Options::new(keys));
    let without = TablespaceVerifier::begin(&file, &Options::new(&NoKeys));
    assert_eq!(with.is_ok(), without.is_ok());
    if let Ok(verifier) = with {
        let _ = verifier.owner();
        let report = verifier.finish([]);
        assert_eq!(report.units.total, 0);
    }
}
