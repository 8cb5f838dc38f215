//! Single pages: a page that is decrypted encrypts to the identical bytes.
//!
//! Control byte: bits 0 to 2 are the number of a compression algorithm; with bit 3 the input is a clear
//! page, which is encrypted first; bits 4 and 5 choose the format (MySQL, full_crc32, older, older with
//! compressed rows); bit 6 is the mode of MariaDB.

use std::sync::LazyLock;

use crate::innodb::{control, is_set, repair};
use innodb::{
    SpaceId,
    crypt::{
        mariadb::{self, Mode, PageKey},
        mysql::{DecryptedPage, PageCipher, PageEncryptor, TablespaceKey},
    },
    page::{
        compressed,
        mariadb::{self as stored, Layout},
    },
};

/// Key and vector of `mysql97-16k-encrypted`.
static MYSQL: LazyLock<(PageCipher, PageEncryptor)> = LazyLock::new(|| {
    let file = include_bytes!("../../../../testdata/export/mysql97-16k-encrypted.cfp");
    let key: TablespaceKey = innodb::crypt::mysql::export_key(file).expect("the sample is whole");
    (key.cipher().expect("a key of 32 bytes"), key.encryptor().expect("a key of 32 bytes"))
});

/// The page key of `mariadb1011-16k-encrypted`.
static MARIADB: LazyLock<PageKey> = LazyLock::new(|| {
    let key = 0x3550_199a_9949_b21c_7a10_92ee_733d_c50b_u128.to_be_bytes();
    let rest = 0x2eea_088d_e5c5_b54a_b508_ef03_eb72_ae82_u128.to_be_bytes();
    let iv = 0x8e10_d01a_ef75_db58_1092_f15f_8ae0_3fd8_u128.to_be_bytes();
    PageKey::derive(&[key, rest].concat(), &iv).expect("a key of 32 bytes")
});

/// The space id of that sample.
const SPACE: SpaceId = SpaceId(7);

pub(crate) fn run(input: &[u8]) {
    let Some((control, page)) = control(input).filter(|(_, page)| page.len() <= 65536) else { return };
    let clear = is_set(control, 3);
    match control >> 4 & 3 {
        0 => mysql(page.to_vec(), clear),
        1 => mariadb(page.to_vec(), clear, Layout::FullCrc32 { compression: control & 7 }, mode(control)),
        number => {
            mariadb(page.to_vec(), clear, Layout::Legacy { row_compressed: number == 3 }, mode(control));
        }
    }
}

fn mode(control: u8) -> Mode {
    if is_set(control, 6) { Mode::Ctr } else { Mode::Cbc }
}

fn mysql(mut page: Vec<u8>, clear: bool) {
    let (cipher, encryptor) = &*MYSQL;
    let mut rebuilt = vec![0; page.len()];
    let _ = compressed::rebuild_mysql(&page, &mut rebuilt);
    if clear {
        repair::mysql_page(&mut page, cipher);
    }
    let before = page.clone();
    let Ok(encryption) = cipher.decrypt(&mut page) else {
        assert!(page == before, "refused, but changed");
        return;
    };
    let _ = compressed::rebuild_mysql(&page, &mut rebuilt);
    let mut together = page.clone();
    cipher.encrypt(&mut page, encryption).expect("as long as it was");
    assert!(page == before, "not encrypted to the same bytes");
    encryptor.encrypt(&mut [DecryptedPage { page: &mut together, encryption }]).expect("as long as it was");
    assert!(together == before, "not encrypted to the same bytes in lockstep");
}

fn mariadb(mut page: Vec<u8>, clear: bool, layout: Layout, mode: Mode) {
    let mut image = Vec::new();
    let space = if clear { repair::space_of(&page) } else { SPACE };
    let _ = stored::check_plaintext(&page, layout, space, &mut image);
    if clear {
        let _ = mariadb::encrypt(&mut page, layout, mode, space, &MARIADB);
    } else {
        mariadb::finish_encryption(&mut page, layout);
    }
    let before = page.clone();
    if mariadb::decrypt(&mut page, layout, mode, space, &MARIADB, &mut image).is_err() {
        assert!(page == before, "refused, but changed");
        return;
    }
    // Compressed pages of the older format have a constant in place of the checksum; encrypting keeps any value.
    let constant = matches!(layout, Layout::Legacy { .. }) && stored::is_page_compressed(&before, layout);
    if !constant || before.starts_with(&[0xde, 0xad, 0xbe, 0xef]) {
        assert!(stored::ciphertext_holds(&before, layout), "the checksum over the ciphertext was just written");
    }
    let mut together = page.clone();
    mariadb::encrypt(&mut page, layout, mode, space, &MARIADB).expect("it was decrypted");
    assert!(page == before, "not encrypted to the same bytes");
    if mode == Mode::Cbc {
        let run = mariadb::prepare_encryption(&mut together, layout, space, &MARIADB).expect("it was decrypted");
        MARIADB.multi_buffer().expect("a key of 16 bytes").cbc_encrypt(&mut [run]);
        mariadb::finish_encryption(&mut together, layout);
        assert!(together == before, "not encrypted to the same bytes in lockstep");
    }
}
