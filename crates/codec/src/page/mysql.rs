//! Pages of MySQL's tablespaces: one key for all of them; several pages are encrypted together.

use innodb::{
    crypt::mysql::{DecryptedPage, PageCipher, PageEncryptor, TablespaceKey},
    page::mysql::is_encrypted,
};
use zeroize::Zeroizing;

use super::{
    Scheme,
    marks::{Mark, MarkEncoding},
    page_bytes, put_page_bytes,
};
use crate::{Fields, Malformed};

#[derive(Debug)]
pub(super) struct MySqlPages {
    page_bytes: usize,
    key: TablespaceKey,
    cipher: PageCipher,
    encryptor: PageEncryptor,
}

impl MySqlPages {
    pub(super) const KIND: u8 = 1;

    pub(super) fn new(page_bytes: usize, key: TablespaceKey) -> Option<Self> {
        let (cipher, encryptor) = (key.cipher().ok()?, key.encryptor().ok()?);
        Some(Self { page_bytes, key, cipher, encryptor })
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Box<dyn Scheme>, Malformed> {
        let page_bytes = page_bytes(fields)?;
        Ok(Box::new(Self::new(page_bytes, key_and_iv(fields)?).ok_or(Malformed)?))
    }
}

/// Decodes key and initialisation vector, 32 bytes each.
pub(super) fn key_and_iv(fields: &mut Fields<'_>) -> Result<TablespaceKey, Malformed> {
    let (key, iv) = (Zeroizing::new(fields.array()?), Zeroizing::new(fields.array()?));
    Ok(TablespaceKey::from_parts(&key, &iv))
}

pub(super) fn put_key_and_iv(out: &mut Vec<u8>, key: &TablespaceKey) {
    let (key, iv) = key.expose();
    out.extend(key);
    out.extend(iv);
}

impl Scheme for MySqlPages {
    fn kind(&self) -> u8 {
        Self::KIND
    }

    fn unit_bytes(&self, _: usize) -> usize {
        self.page_bytes
    }

    fn form(&self) -> MarkEncoding {
        MarkEncoding::Pages
    }

    fn accepts(&self, mark: Mark, page_bytes: usize) -> bool {
        match mark {
            Mark::Unchanged => true,
            Mark::Decrypted | Mark::Part(_) => false,
            Mark::MySql(encrypted) => encrypted.end <= page_bytes,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_page_bytes(out, self.page_bytes);
        put_key_and_iv(out, &self.key);
    }

    fn decrypt(&self, _: u64, pages: &mut [u8]) -> Vec<Mark> {
        let decrypt = |page: &mut [u8]| {
            if !is_encrypted(page) {
                return Mark::Unchanged;
            }
            self.cipher.decrypt(page).map_or(Mark::Unchanged, Mark::MySql)
        };
        pages.chunks_exact_mut(self.page_bytes).map(decrypt).collect()
    }

    fn encrypt(&self, _: u64, marks: &[Mark], pages: &mut [u8]) {
        let pages = pages.chunks_exact_mut(self.page_bytes).zip(marks);
        let mut decrypted: Vec<DecryptedPage<'_>> = pages
            .filter_map(|(page, mark)| match mark {
                Mark::MySql(encryption) => Some(DecryptedPage { page, encryption: *encryption }),
                _ => None,
            })
            .collect();
        // Cannot fail: lengths were checked when the marks were made or decoded.
        let _ = self.encryptor.encrypt(&mut decrypted);
    }
}
