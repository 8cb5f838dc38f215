//! Pages of MariaDB's tablespaces: one key per version, and a mode that is not stored.

use innodb::{
    KeyVersion, SpaceId,
    crypt::{
        mariadb::{self, Mode, PageKey},
        multi_buffer::{MultiBufferCbc, Run},
    },
    page::mariadb::{Layout, PlaintextCheck, key_version},
};
use zeroize::Zeroizing;

use super::{
    Scheme,
    marks::{Mark, MarkEncoding},
    page_bytes, put_page_bytes,
};
use crate::{Fields, Malformed};

#[derive(Debug)]
pub(super) struct MariaDbPages {
    pages: Pages,
    key: PageKey,
    multi_buffer: MultiBufferCbc,
    mode: Mode,
}

/// The layout facts on page 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pages {
    pub(super) bytes: usize,
    pub(super) layout: Layout,
    pub(super) space_id: SpaceId,
}

impl MariaDbPages {
    pub(super) const KIND: u8 = 2;

    pub(super) fn new(pages: Pages, key: PageKey, mode: Mode) -> Option<Self> {
        Some(Self { pages, multi_buffer: key.multi_buffer().ok()?, key, mode })
    }

    /// The cipher for the pages of a key version in `chunk`; `None` if no mode decrypts any of them.
    pub(super) fn for_chunk(pages: Pages, key: PageKey, version: KeyVersion, chunk: &[u8]) -> Option<Self> {
        let mode = mode_of(chunk, pages, &key, version)?;
        Self::new(pages, key, mode)
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Box<dyn Scheme>, Malformed> {
        let bytes = page_bytes(fields)?;
        let key = Zeroizing::new(fields.array()?);
        let key = PageKey::from_bytes(&key).map_err(|_| Malformed)?;
        let layout = match fields.array()? {
            [0, compression] => Layout::FullCrc32 { compression },
            [1, row_compressed @ (0 | 1)] => Layout::Legacy { row_compressed: row_compressed == 1 },
            _ => return Err(Malformed),
        };
        let mode = super::mode(fields)?;
        let pages = Pages { bytes, layout, space_id: SpaceId(fields.u32()?) };
        Ok(Box::new(Self::new(pages, key, mode).ok_or(Malformed)?))
    }
}

impl Scheme for MariaDbPages {
    fn kind(&self) -> u8 {
        Self::KIND
    }

    fn unit_bytes(&self, _: usize) -> usize {
        self.pages.bytes
    }

    fn form(&self) -> MarkEncoding {
        MarkEncoding::Pages
    }

    fn counter_mode(&self) -> bool {
        self.mode == Mode::Ctr
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_page_bytes(out, self.pages.bytes);
        out.extend(self.key.expose());
        out.extend(match self.pages.layout {
            Layout::FullCrc32 { compression } => [0, compression],
            Layout::Legacy { row_compressed } => [1, u8::from(row_compressed)],
        });
        out.push(super::is_ctr(self.mode));
        out.extend(self.pages.space_id.0.to_be_bytes());
    }

    fn decrypt(&self, _: u64, pages: &mut [u8]) -> Vec<Mark> {
        let Pages { bytes, layout, space_id } = self.pages;
        let decrypt = |page: &mut [u8]| {
            let decrypted = mariadb::decrypt_unchecked(page, layout, self.mode, space_id, &self.key);
            if decrypted.is_ok() { Mark::Decrypted } else { Mark::Unchanged }
        };
        pages.chunks_exact_mut(bytes).map(decrypt).collect()
    }

    fn encrypt(&self, _: u64, marks: &[Mark], pages: &mut [u8]) {
        let Pages { bytes, layout, space_id } = self.pages;
        let pages = pages.chunks_exact_mut(bytes).zip(marks);
        let mut pages: Vec<&mut [u8]> =
            pages.filter(|(_, mark)| **mark == Mark::Decrypted).map(|(page, _)| page).collect();
        if self.mode == Mode::Ctr {
            for page in pages {
                let _ = mariadb::encrypt(page, layout, self.mode, space_id, &self.key);
            }
            return;
        }
        let prepared = pages.iter_mut().map(|page| mariadb::prepare_encryption(page, layout, space_id, &self.key));
        let mut runs: Vec<Run<'_>> = prepared.filter_map(Result::ok).collect();
        self.multi_buffer.cbc_encrypt(&mut runs);
        drop(runs);
        pages.iter_mut().for_each(|page| mariadb::finish_encryption(page, layout));
    }
}

fn mode_of(chunk: &[u8], pages: Pages, key: &PageKey, version: KeyVersion) -> Option<Mode> {
    let Pages { bytes, layout, space_id } = pages;
    let pages = chunk.chunks_exact(bytes);
    let mut pages = pages.filter(|page| key_version(page, layout) == version).take(8);
    let mut image = Vec::new();
    pages.find_map(|page| {
        Mode::ALL.into_iter().find(|mode| {
            let mut copy = page.to_vec();
            let decrypted = mariadb::decrypt(&mut copy, layout, *mode, space_id, key, &mut image);
            decrypted.is_ok_and(|decrypted| decrypted.plain == PlaintextCheck::Holds)
        })
    })
}
