//! Corrects checksums and encrypts clear bytes, which a fuzzer cannot do by chance.

use crc_fast::{
    CrcAlgorithm::{Crc32Iscsi, Crc32IsoHdlc},
    checksum,
};
use innodb::{
    KeyVersion, Lsn, SpaceId,
    aria::layout::PageLayout,
    crypt::{
        aria::{AriaPages, CryptRecord},
        binlog::{EventMode, MariaDbEvents, MySqlHeader, NONCE_BYTES},
        mariadb::{self, CryptData, Mode, PageKey},
        mysql::{PageCipher, PageEncryption},
        redo::mysql::MySqlBlockCipher,
    },
    keys::KeySource,
    page::{checksum as sums, mariadb::Layout, types::PageType},
    redo::records,
    tablespace::{Family, Page0},
    verify::{
        redo,
        tablespace::{Options, TablespaceVerifier},
    },
};

/// CRC-32C.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    checksum(Crc32Iscsi, bytes) as u32
}

/// Writes a big-endian number, if there is room.
pub fn put32(bytes: &mut [u8], at: usize, value: u32) {
    put(bytes, at, &value.to_be_bytes());
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(location) = at.checked_add(value.len()).and_then(|end| bytes.get_mut(at..end)) {
        location.copy_from_slice(value);
    }
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_be_bytes)
}

fn be64(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_be_bytes)
}

fn page_type(page: &[u8]) -> PageType {
    PageType(page.get(24..).and_then(|rest| rest.first_chunk().copied()).map_or(0, u16::from_be_bytes))
}

/// Corrects the checksum and trailer of a clear page.
pub fn clear_page(page: &mut [u8], layout: PageSums) {
    let Some(end) = page.len().checked_sub(8).filter(|end| *end > 38) else { return };
    let low_lsn = be32(page, 20).unwrap_or(0);
    match layout {
        PageSums::FullCrc32 => {
            put32(page, end, low_lsn);
            let sum = crc32c(page.get(..end + 4).unwrap_or_default());
            put32(page, end + 4, sum);
        }
        PageSums::Zip => put32(page, 0, sums::zip_crc32(page)),
        PageSums::Classic => {
            let sum = sums::crc32(page);
            put32(page, 0, sum);
            put32(page, end, sum);
            put32(page, end + 4, low_lsn);
        }
    }
}

/// Positions of the checksums of a clear page.
#[derive(Clone, Copy, Debug)]
pub enum PageSums {
    FullCrc32,
    Zip,
    Classic,
}

impl PageSums {
    /// Those of a tablespace.
    #[must_use]
    pub const fn for_page0(page0: &Page0) -> Self {
        match page0.family {
            Family::MariaDbFullCrc32 => Self::FullCrc32,
            _ if page0.flags.is_row_compressed() => Self::Zip,
            _ => Self::Classic,
        }
    }
}

/// Repairs of the pages after page 0 of a tablespace.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    /// Correct the checksum of the clear page first.
    pub sums: bool,
    /// Encrypt the page with the tablespace's own key.
    pub seal: bool,
    /// In this mode (MariaDB).
    pub mode: Mode,
}

/// Corrects page 0, then repairs the other pages as requested.
pub fn tablespace(file: &mut [u8], keys: &dyn KeySource, pages: Pages) {
    let Ok(page0) = Page0::parse(file) else { return };
    let page_bytes = page0.physical_page_bytes as usize;
    let sums = PageSums::for_page0(&page0);
    first_page(file);
    let encryptor = Sealer::new(file, &page0, keys);
    for page in file.chunks_exact_mut(page_bytes).skip(1) {
        if page.iter().all(|byte| *byte == 0) {
            continue;
        }
        if pages.sums && !matches!(page_type(page), PageType::COMPRESSED) {
            clear_page(page, sums);
        }
        if pages.seal {
            encryptor.encrypt(page, &page0, pages.mode);
        }
    }
}

/// Corrects the checksum of page 0.
pub fn first_page(file: &mut [u8]) {
    let Ok(page0) = Page0::parse(file) else { return };
    if let Some(first) = file.get_mut(..page0.physical_page_bytes as usize) {
        clear_page(first, PageSums::for_page0(&page0));
    }
}

enum Sealer {
    MySql(Box<PageCipher>),
    MariaDb(Box<PageKey>),
    None,
}

impl Sealer {
    fn new(file: &[u8], page0: &Page0, keys: &dyn KeySource) -> Self {
        let options = Options::new(keys);
        let verifier = TablespaceVerifier::begin(file, &options);
        let mysql = verifier.ok().and_then(|verifier| verifier.owner().key).and_then(|key| key.cipher().ok());
        let mariadb = || {
            let crypt = CryptData::from_page0(file, page0)?;
            let key = keys.mariadb(crypt.key_id, KeyVersion(1))?;
            PageKey::derive(&key, &crypt.iv).ok()
        };
        match mysql {
            Some(cipher) => Self::MySql(Box::new(cipher)),
            None => mariadb().map_or(Self::None, |key| Self::MariaDb(Box::new(key))),
        }
    }

    fn encrypt(&self, page: &mut [u8], page0: &Page0, mode: Mode) {
        match self {
            Self::MySql(cipher) => {
                let _ = mysql_page(page, cipher);
            }
            Self::MariaDb(key) => mariadb_page(page, page0, mode, key),
            Self::None => {}
        }
    }
}

/// Encrypts a clear page of MySQL as the server would.
pub fn mysql_page(page: &mut [u8], cipher: &PageCipher) -> Option<PageEncryption> {
    let encryption = match page_type(page) {
        PageType::COMPRESSED => {
            let stored = page.get(32..34)?.first_chunk().copied().map(u16::from_be_bytes)?;
            let end = usize::from(stored) + 38;
            let end = if page.get(26) == Some(&1) { end.next_multiple_of(4096) } else { end.max(70) };
            PageEncryption { page_type: PageType::COMPRESSED_ENCRYPTED, end: end.min(page.len()) }
        }
        PageType::RTREE => PageEncryption { page_type: PageType::ENCRYPTED_RTREE, end: page.len() },
        _ => PageEncryption { page_type: PageType::ENCRYPTED, end: page.len() },
    };
    cipher.encrypt(page, encryption).ok()?;
    Some(encryption)
}

fn mariadb_page(page: &mut [u8], page0: &Page0, mode: Mode, key: &PageKey) {
    let Some(layout) = page0.mariadb_layout() else { return };
    match layout {
        Layout::FullCrc32 { .. } => put32(page, 0, 1),
        Layout::Legacy { .. } => put32(page, 26, 1),
    }
    let _ = mariadb::encrypt(page, layout, mode, page0.space_id, key);
}

/// Bytes of a block of a redo log.
const BLOCK_BYTES: usize = 512;

fn block_sum(block: &mut [u8]) {
    let sum = crc32c(block.get(..BLOCK_BYTES - 4).unwrap_or_default());
    put32(block, BLOCK_BYTES - 4, sum);
}

/// Corrects header and checkpoints of any redo log.
pub fn redo_head(log: &mut [u8]) {
    for at in [0, 512, 1536] {
        if let Some(block) = log.get_mut(at..at + BLOCK_BYTES) {
            block_sum(block);
        }
    }
    if is_mini_transactions(log) {
        for at in [4096, 8192] {
            let block = log.get(at..at + 60).unwrap_or_default();
            if block.iter().any(|byte| *byte != 0) {
                let sum = crc32c(block);
                put32(log, at + 60, sum);
            }
        }
    }
}

fn is_mini_transactions(log: &[u8]) -> bool {
    matches!(be32(log, 0), Some(0x5068_7973 | 0xf09f_979d))
}

/// Corrects the blocks of a redo log, and encrypts those of MySQL's that have the encryption bit.
pub fn redo_blocks(log: &mut [u8], keys: &dyn KeySource) {
    let info = redo::key_info(log.get(..redo::KEY_INFO_BYTES).unwrap_or_default());
    let key = info.and_then(|info| info.key.unwrap(keys).ok());
    let cipher = key.and_then(|key| MySqlBlockCipher::new(&key).ok());
    for block in log.chunks_exact_mut(BLOCK_BYTES).skip(4) {
        let marked = block.get(4).is_some_and(|byte| byte & 0x80 != 0);
        match &cipher {
            Some(cipher) if marked => {
                block.iter_mut().skip(4).take(1).for_each(|byte| *byte &= 0x7f);
                block_sum(block);
                let _ = cipher.encrypt(block);
            }
            _ => block_sum(block),
        }
    }
}

/// Corrects sequence bytes and checksums of the mini-transactions from the first checkpoint on.
pub fn redo_chain(log: &mut [u8]) {
    const HEADER_BYTES: usize = 12288;
    let (Some(first), Some(start)) = (be64(log, 8), be64(log, 4096)) else { return };
    let encrypted = be32(log, 0) == Some(0xf09f_979d) || be32(log, 48).is_some_and(|id| id != 0);
    let nonce_bytes = if encrypted { 8 } else { 0 };
    let ahead = start.checked_sub(first).and_then(|ahead| usize::try_from(ahead).ok());
    let Some(mut at) = ahead.and_then(|ahead| ahead.checked_add(HEADER_BYTES)) else { return };
    while let Some(rest) = log.get_mut(at..) {
        let records::Framing::Records(end) = records::frame(rest) else { return };
        if let Some(sequence) = rest.get_mut(end) {
            *sequence = 1;
        }
        let nonce = rest.get(end + 1..end + 1 + nonce_bytes).unwrap_or_default();
        let covered = [rest.get(..end).unwrap_or_default(), nonce].concat();
        put32(rest, end + 1 + nonce_bytes, crc32c(&covered));
        at += end + 1 + nonce_bytes + 4;
    }
}

/// Log sequence number of the first checkpoint of a log of mini-transactions.
#[must_use]
pub fn checkpoint(log: &[u8]) -> Option<Lsn> {
    be64(log, 4096).map(Lsn)
}

const EVENT_HEADER_BYTES: usize = 19;

fn event_bytes(log: &[u8], at: usize) -> Option<usize> {
    let bytes = log.get(at.checked_add(9)?..)?.first_chunk().copied().map(u32::from_le_bytes)?;
    let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes >= EVENT_HEADER_BYTES + 4)?;
    log.len().checked_sub(at)?.ge(&bytes).then_some(bytes)
}

/// Corrects checksums of the events of a clear log, and encrypts those of MariaDB's after a start-encryption event.
pub fn events(log: &mut [u8], keys: &dyn KeySource, mode: EventMode) {
    let mut at = 4;
    let mut encryptor: Option<MariaDbEvents> = None;
    while let Some(bytes) = event_bytes(log, at) {
        let Some(event) = log.get_mut(at..at + bytes) else { return };
        event_sum(event);
        match &encryptor {
            Some(encryptor) => {
                let _ = encryptor.encrypt(at as u64, event);
            }
            None => encryptor = start_encryption(event, keys, mode),
        }
        at += bytes;
    }
}

/// The flag that a log is in use does not count.
fn event_sum(event: &mut [u8]) {
    const FORMAT_DESCRIPTION: u8 = 15;
    let Some(end) = event.len().checked_sub(4) else { return };
    let mut covered = event.get(..end).unwrap_or_default().to_vec();
    if covered.get(4) == Some(&FORMAT_DESCRIPTION) {
        covered.iter_mut().skip(17).take(1).for_each(|flags| *flags &= 0xfe);
    }
    let sum = checksum(Crc32IsoHdlc, &covered) as u32;
    put(event, end, &sum.to_le_bytes());
}

fn start_encryption(event: &[u8], keys: &dyn KeySource, mode: EventMode) -> Option<MariaDbEvents> {
    const START_ENCRYPTION: u8 = 164;
    let body = event.get(EVENT_HEADER_BYTES..).filter(|_| event.get(4) == Some(&START_ENCRYPTION))?;
    let version = body.get(1..)?.first_chunk().copied().map(u32::from_le_bytes)?;
    let nonce: [u8; NONCE_BYTES] = body.get(5..)?.first_chunk().copied()?;
    MariaDbEvents::new(&keys.mariadb(1, KeyVersion(version))?, nonce, mode).ok()
}

/// Corrects a MySQL log that is clear after its header of 512 bytes, and encrypts it.
pub fn mysql_log(log: &mut [u8], keys: &dyn KeySource) {
    const HEADER_BYTES: usize = 512;
    let Ok(header) = MySqlHeader::parse(log) else { return };
    let stream = keys.mysql(&header.key_name).and_then(|key| header.unwrap(&key).ok());
    let Some((stream, body)) = stream.zip(log.get_mut(HEADER_BYTES..)) else { return };
    events(body, keys, EventMode::Cbc);
    let _ = stream.apply(0, body);
}

/// Corrects checksums of the pages of an Aria file, and encrypts those of an encrypted table.
pub fn aria_pages(file: &mut [u8], first: u32, keys: &dyn KeySource, mode: Mode, layout: &AriaLayout<'_>) {
    let page_bytes = layout.table.block_bytes as usize;
    for (number, page) in (first..).zip(file.chunks_exact_mut(page_bytes)) {
        let Some(location) = layout.page(number, page) else { continue };
        if page.iter().all(|byte| *byte == 0) {
            continue;
        }
        let end = page.len() - 4;
        let sum = location.checksum(number, page);
        put(page, end, &sum.to_le_bytes());
        let version = location.key_version(page);
        let key = layout.record.filter(|_| version != KeyVersion(0)).zip(keys.mariadb(1, version));
        if let Some(pages) = key.and_then(|(record, key)| AriaPages::new(&key, record).ok()) {
            let _ = pages.encrypt(mode, &location, number, page);
        }
    }
}

/// Kind of an Aria file.
#[derive(Clone, Copy, Debug)]
pub struct AriaLayout<'a> {
    pub table: &'a innodb::aria::AriaTable,
    pub record: Option<&'a CryptRecord>,
    pub is_index: bool,
    pub bitmap_every: u32,
}

impl AriaLayout<'_> {
    fn page(&self, number: u32, page: &[u8]) -> Option<PageLayout> {
        if self.is_index {
            PageLayout::index(page, self.table)
        } else if number.checked_rem(self.bitmap_every) == Some(0) {
            Some(PageLayout::bitmap(page))
        } else {
            Some(PageLayout::data(page, self.table.encrypted))
        }
    }
}

/// The tablespace that a page names, if readable.
#[must_use]
pub fn space_of(page: &[u8]) -> SpaceId {
    SpaceId(be32(page, 34).unwrap_or(0))
}
