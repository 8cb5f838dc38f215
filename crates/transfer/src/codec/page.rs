//! Encrypted pages travel opened, so that they compress, and are sealed again on arrival.
//!
//! Sealing an opened page gives the identical bytes, given the key and how the page was sealed. That
//! is not taken on trust: each page is sealed again here and compared, and one that differs travels
//! as it is. Keys go through TLS and are never written anywhere.
//!
//! Before it is compressed, a payload of opened pages is a description and the pages of the chunk:
//!
//! ```text
//! 2            slot of the key
//! 2            number of pages described
//! per page:
//! 1            0: as it is in the file   1: MySQL type 15   2: MySQL type 16   3: MySQL type 17   4: MariaDB
//! 4            MySQL: where in the page that ends which is encrypted
//! then         the bytes of the chunk, holes included as zeros
//! ```

use innodb::{
    KeyVersion, SpaceId,
    crypt::{
        lockstep::{Lockstep, Run},
        mariadb::{self, CryptData, Layout, Mode, PageKey, Plain},
        mysql::{OpenedPage, PageCipher, PageSealer, Sealed, TablespaceKey, WrappedKey, is_encrypted},
    },
    keys::KeySource,
    page::types::PageType,
    tablespace::{Encryption, Page0, info_offset},
};
use zeroize::Zeroizing;

use crate::{
    codec::Undecodable,
    hash::CHUNK_BYTES,
    wire::{Fields, Malformed},
};

/// The smallest page of any tablespace: ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=1.
const MIN_PAGE_BYTES: usize = 1024;
const MAX_PAGE_BYTES: usize = 65536;
/// The longest description.
pub const MAX_DESCRIPTION_BYTES: usize = 4 + 5 * (CHUNK_BYTES / MIN_PAGE_BYTES);
/// Bytes of a file's beginning in which page 0 says what the file is.
pub const HEAD_BYTES: usize = MAX_PAGE_BYTES;

const AS_IT_IS: u8 = 0;
const MARIADB: u8 = 4;

/// MySQL page types in the order of the numbers above, from 1.
const MYSQL_TYPES: [PageType; 3] = [PageType::ENCRYPTED, PageType::COMPRESSED_ENCRYPTED, PageType::ENCRYPTED_RTREE];

/// How the pages of one tablespace are opened and sealed.
#[derive(Debug)]
pub struct SpaceCipher {
    page_bytes: usize,
    scheme: Scheme,
}

#[derive(Debug)]
enum Scheme {
    MySql { key: TablespaceKey, cipher: Box<PageCipher>, sealer: PageSealer },
    MariaDb { key: Box<PageKey>, lockstep: Lockstep, layout: Layout, mode: Mode, space_id: SpaceId },
}

impl SpaceCipher {
    fn mysql(page_bytes: usize, key: TablespaceKey) -> Option<Self> {
        let (cipher, sealer) = (Box::new(key.cipher().ok()?), key.sealer().ok()?);
        Some(Self { page_bytes, scheme: Scheme::MySql { key, cipher, sealer } })
    }

    fn mariadb(page_bytes: usize, key: PageKey, layout: Layout, mode: Mode, space_id: SpaceId) -> Option<Self> {
        let (lockstep, key) = (key.lockstep().ok()?, Box::new(key));
        Some(Self { page_bytes, scheme: Scheme::MariaDb { key, lockstep, layout, mode, space_id } })
    }

    /// What travels in a key message.
    ///
    /// ```text
    /// 1   1: MySQL   2: MariaDB
    /// 4   bytes of a page
    /// MySQL:   32 key   32 initialisation vector
    /// MariaDB: 16 page key   1 full_crc32: 0, older: 1   1 compression algorithm, or row-compressed
    ///          1 CBC: 0, CTR: 1   4 space id
    /// ```
    #[must_use]
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(80));
        let page_bytes = u32::try_from(self.page_bytes).unwrap_or_default().to_be_bytes();
        match &self.scheme {
            Scheme::MySql { key, .. } => {
                out.push(1);
                out.extend(page_bytes);
                let (key, iv) = key.expose();
                out.extend(key);
                out.extend(iv);
            }
            Scheme::MariaDb { key, layout, mode, space_id, .. } => {
                out.push(2);
                out.extend(page_bytes);
                out.extend(key.expose());
                out.extend(match layout {
                    Layout::FullCrc32 { compression } => [0, *compression],
                    Layout::Legacy { row_compressed } => [1, u8::from(*row_compressed)],
                });
                out.push(u8::from(*mode == Mode::Ctr));
                out.extend(space_id.0.to_be_bytes());
            }
        }
        out
    }

    /// Reads a key message.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn decode(material: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(material);
        let kind = fields.u8()?;
        let page_bytes = usize::try_from(fields.u32()?).map_err(|_| Malformed)?;
        if !page_bytes.is_power_of_two() || !(MIN_PAGE_BYTES..=MAX_PAGE_BYTES).contains(&page_bytes) {
            return Err(Malformed);
        }
        let cipher = match kind {
            1 => Self::mysql(page_bytes, TablespaceKey::from_parts(&fields.array()?, &fields.array()?)),
            2 => {
                let bytes = Zeroizing::new(fields.array()?);
                let key = PageKey::from_bytes(&bytes).map_err(|_| Malformed)?;
                let layout = match fields.array()? {
                    [0, compression] => Layout::FullCrc32 { compression },
                    [1, row_compressed @ (0 | 1)] => Layout::Legacy { row_compressed: row_compressed == 1 },
                    _ => return Err(Malformed),
                };
                let mode = match fields.u8()? {
                    0 => Mode::Cbc,
                    1 => Mode::Ctr,
                    _ => return Err(Malformed),
                };
                Self::mariadb(page_bytes, key, layout, mode, SpaceId(fields.u32()?))
            }
            _ => None,
        };
        fields.end()?;
        cipher.ok_or(Malformed)
    }

    /// Opens the pages of a chunk: `out` becomes description and pages, ready to be compressed.
    /// `check` is memory for sealing them again. Returns how many pages were opened.
    pub fn open(&self, slot: u16, chunk: &[u8], out: &mut Vec<u8>, check: &mut Vec<u8>) -> usize {
        let description_bytes = description_bytes(chunk.len() / self.page_bytes);
        out.clear();
        out.resize(description_bytes, 0);
        out.extend(chunk);
        let (description, pages) = out.split_at_mut(description_bytes);
        let mut marks = self.open_pages(pages);
        check.clear();
        check.extend(&*pages);
        self.seal_pages(&marks, check);
        let originals = chunk.chunks_exact(self.page_bytes);
        let copies = pages.chunks_exact_mut(self.page_bytes).zip(check.chunks_exact(self.page_bytes));
        for ((mark, original), (page, sealed)) in marks.iter_mut().zip(originals).zip(copies) {
            if sealed != original {
                *mark = Mark::AsItIs;
                page.copy_from_slice(original);
            }
        }
        describe(slot, &marks, description);
        marks.iter().filter(|mark| **mark != Mark::AsItIs).count()
    }

    /// Opens in place what can be opened. A page that opens to nonsense is put right by the
    /// comparison, or travels as nonsense that is sealed to the right bytes.
    fn open_pages(&self, pages: &mut [u8]) -> Vec<Mark> {
        let mut image = Vec::new();
        let mut open = |page: &mut [u8]| match &self.scheme {
            Scheme::MySql { cipher, .. } if is_encrypted(page) => cipher.open(page).map_or(Mark::AsItIs, Mark::MySql),
            Scheme::MariaDb { key, layout, mode, space_id, .. }
                if mariadb::key_version(page, *layout) != KeyVersion(0) =>
            {
                let opened = mariadb::open(page, *layout, *mode, *space_id, key, &mut image);
                if opened.is_ok() { Mark::MariaDb } else { Mark::AsItIs }
            }
            _ => Mark::AsItIs,
        };
        pages.chunks_exact_mut(self.page_bytes).map(&mut open).collect()
    }

    /// Seals marked pages in place, in lockstep.
    fn seal_pages(&self, marks: &[Mark], pages: &mut [u8]) {
        let pages = pages.chunks_exact_mut(self.page_bytes).zip(marks);
        match &self.scheme {
            Scheme::MySql { sealer, .. } => {
                let mut opened: Vec<OpenedPage<'_>> = pages
                    .filter_map(|(page, mark)| match mark {
                        Mark::MySql(sealed) => Some(OpenedPage { page, sealed: *sealed }),
                        _ => None,
                    })
                    .collect();
                // Lengths were checked when the marks were made or read.
                let _ = sealer.seal(&mut opened);
            }
            Scheme::MariaDb { key, lockstep, layout, mode, space_id } => {
                let mut pages: Vec<&mut [u8]> =
                    pages.filter(|(_, mark)| **mark == Mark::MariaDb).map(|(page, _)| page).collect();
                if *mode == Mode::Ctr {
                    for page in pages {
                        let _ = mariadb::seal(page, *layout, *mode, *space_id, key);
                    }
                    return;
                }
                let prepared = pages.iter_mut().map(|page| mariadb::seal_prepare(page, *layout, *space_id, key));
                let mut runs: Vec<Run<'_>> = prepared.filter_map(Result::ok).collect();
                lockstep.cbc_seal(&mut runs);
                drop(runs);
                pages.iter_mut().for_each(|page| mariadb::seal_finish(page, *layout));
            }
        }
    }
}

/// How one page travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    AsItIs,
    MySql(Sealed),
    MariaDb,
}

const fn description_bytes(pages: usize) -> usize {
    4 + 5 * pages
}

fn describe(slot: u16, marks: &[Mark], out: &mut [u8]) {
    let mut description = Vec::with_capacity(out.len());
    description.extend(slot.to_be_bytes());
    description.extend(u16::try_from(marks.len()).unwrap_or_default().to_be_bytes());
    for mark in marks {
        let (kind, end) = match mark {
            Mark::AsItIs => (AS_IT_IS, 0),
            Mark::MariaDb => (MARIADB, 0),
            Mark::MySql(sealed) => {
                let place = MYSQL_TYPES.iter().position(|kind| *kind == sealed.page_type).unwrap_or_default();
                (u8::try_from(place + 1).unwrap_or_default(), sealed.end)
            }
        };
        description.push(kind);
        description.extend(u32::try_from(end).unwrap_or_default().to_be_bytes());
    }
    out.iter_mut().zip(description).for_each(|(to, from)| *to = from);
}

/// Opened pages of one chunk, as they arrived.
#[derive(Debug)]
pub struct OpenedChunk {
    /// Slot of the key they are to be sealed with.
    pub slot: u16,
    fields: Vec<(u8, u32)>,
    description_bytes: usize,
}

impl OpenedChunk {
    /// Reads the description at the front of a decompressed payload.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(payload);
        let (slot, pages) = (fields.u16()?, fields.u16()?);
        let mut marks = Vec::with_capacity(usize::from(pages).min(CHUNK_BYTES / MIN_PAGE_BYTES));
        for _ in 0..pages {
            marks.push((fields.u8()?, fields.u32()?));
        }
        Ok(Self { slot, fields: marks, description_bytes: payload.len() - fields.0.len() })
    }

    /// Seals the pages behind the description into `chunk`.
    ///
    /// # Errors
    /// [`Undecodable`] if the description does not fit the cipher or the pages.
    pub fn seal(&self, cipher: &SpaceCipher, payload: &[u8], chunk: &mut [u8]) -> Result<(), Undecodable> {
        let pages = payload.get(self.description_bytes..).ok_or(Undecodable)?;
        if pages.len() != chunk.len() || self.fields.len() != chunk.len() / cipher.page_bytes {
            return Err(Undecodable);
        }
        chunk.copy_from_slice(pages);
        let marks = self.fields.iter().map(|(kind, end)| mark(cipher, *kind, *end));
        let marks = marks.collect::<Result<Vec<_>, _>>()?;
        cipher.seal_pages(&marks, chunk);
        Ok(())
    }
}

fn mark(cipher: &SpaceCipher, kind: u8, end: u32) -> Result<Mark, Undecodable> {
    let mysql = matches!(cipher.scheme, Scheme::MySql { .. });
    match kind {
        AS_IT_IS => Ok(Mark::AsItIs),
        MARIADB if !mysql => Ok(Mark::MariaDb),
        1..=3 if mysql => {
            let page_type = *MYSQL_TYPES.get(usize::from(kind) - 1).ok_or(Undecodable)?;
            let end = usize::try_from(end).ok().filter(|end| *end <= cipher.page_bytes).ok_or(Undecodable)?;
            Ok(Mark::MySql(Sealed { page_type, end }))
        }
        _ => Err(Undecodable),
    }
}

/// What the keys at hand open of one file. Ciphers are made as pages ask for them: MariaDB has one
/// for each key version.
#[derive(Debug)]
pub enum SpaceKeys {
    /// MySQL: one key for all pages.
    MySql {
        /// The key, taken out when its cipher is made.
        page_bytes: usize,
        /// The tablespace's key.
        key: TablespaceKey,
    },
    /// MariaDB.
    MariaDb {
        /// What page 0 says.
        crypt: CryptData,
        /// Bytes of a page.
        page_bytes: usize,
        /// Where things stand on pages.
        layout: Layout,
        /// Number of the tablespace.
        space_id: SpaceId,
    },
}

impl SpaceKeys {
    /// From the beginning of a file; `None` if it is no encrypted tablespace, or if no key opens it.
    #[must_use]
    pub fn of(head: &[u8], keys: &dyn KeySource) -> Option<Self> {
        let page0 = Page0::parse(head).ok()?;
        let page_bytes = usize::try_from(page0.physical_page_bytes).ok()?;
        let info_at = info_offset(page0.logical_page_bytes, page0.physical_page_bytes);
        match page0.encryption {
            Encryption::MySql { .. } => {
                let key = WrappedKey::parse(head.get(info_at..)?)?.unwrap(keys).ok()?;
                Some(Self::MySql { page_bytes, key })
            }
            Encryption::MariaDb { .. } => Some(Self::MariaDb {
                crypt: CryptData::of(head, &page0)?,
                page_bytes,
                layout: Layout::of(&page0)?,
                space_id: page0.space_id,
            }),
            _ => None,
        }
    }

    /// The key version that most of a chunk needs; 0 where there is only one.
    #[must_use]
    pub fn version_of(&self, chunk: &[u8]) -> KeyVersion {
        let Self::MariaDb { page_bytes, layout, .. } = self else { return KeyVersion(0) };
        let versions = chunk.chunks_exact(*page_bytes).map(|page| mariadb::key_version(page, *layout));
        versions.filter(|version| *version != KeyVersion(0)).max_by_key(|version| version.0).unwrap_or(KeyVersion(0))
    }

    /// The cipher for pages of a key version; `chunk` has such pages and tells the mode, which is
    /// stored nowhere. `None` if the key is not at hand, or no mode opens any of them.
    #[must_use]
    pub fn cipher(&self, version: KeyVersion, chunk: &[u8], keys: &dyn KeySource) -> Option<SpaceCipher> {
        match self {
            Self::MySql { page_bytes, key } => SpaceCipher::mysql(*page_bytes, key.clone()),
            Self::MariaDb { crypt, page_bytes, layout, space_id } => {
                let key = keys.mariadb(crypt.key_id, version)?;
                let key = PageKey::derive(&key, &crypt.iv).ok()?;
                let mode = mode_of(chunk, *page_bytes, *layout, *space_id, &key, version)?;
                SpaceCipher::mariadb(*page_bytes, key, *layout, mode, *space_id)
            }
        }
    }
}

fn mode_of(
    chunk: &[u8],
    page_bytes: usize,
    layout: Layout,
    space_id: SpaceId,
    key: &PageKey,
    version: KeyVersion,
) -> Option<Mode> {
    let pages = chunk.chunks_exact(page_bytes);
    let mut pages = pages.filter(|page| mariadb::key_version(page, layout) == version).take(8);
    let mut image = Vec::new();
    pages.find_map(|page| {
        Mode::ALL.into_iter().find(|mode| {
            let mut copy = page.to_vec();
            let opened = mariadb::open(&mut copy, layout, *mode, space_id, key, &mut image);
            opened.is_ok_and(|opened| opened.plain == Plain::Holds)
        })
    })
}
