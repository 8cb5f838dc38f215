//! Redo logs: MySQL's `#innodb_redo/#ib_redoN` (spares `#ib_redoN_tmp`) and `ib_logfileN`,
//! MariaDB's `ib_logfile0`.
//!
//! MySQL marks each 512-byte block. Switching encryption affects new blocks only, so one file can
//! hold both kinds, and spare files keep old contents. MariaDB marks the whole file in its header.
//!
//! Source: docs/formats, "Redo" of MySQL and MariaDB; block counts confirmed on MySQL 9.7, header formats on MariaDB
//! 10.5, 10.11, 11.4 and 11.8 in testdata.

pub mod blocks;
mod checkpoint;
pub(crate) mod legacy;
pub(crate) mod phys;
pub mod records;

pub use checkpoint::{checkpoint_lsn, mysql_start_lsn};

use files::ReadAt;
use serde::{Deserialize, Serialize};

use crate::{
    bytes::{Bytes, all_zero, as_u64, as_usize, ascii_text, bump},
    error::ScanError,
    ids::{KeyVersion, Lsn, MasterKeyId},
    page::flags::SpaceFlags,
    randomness::looks_random,
    read::{chunks, fill, length},
    tablespace::{Encryption, MySqlMagic},
};

use self::blocks::{
    BLOCK_BYTES, BLOCK_HEADER_BYTES, BLOCKS_BEGIN, CHECKSUM, FIRST_GROUP, HEADER_BYTES, block_holds, data_bytes,
    is_encrypted,
};

/// Layout of a redo log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RedoFormat {
    /// MySQL: 512-byte blocks, each marked clear or encrypted.
    #[serde(rename = "mysql")]
    MySql,
    /// MariaDB 10.2 to 10.7: 512-byte blocks, all clear or all encrypted.
    #[serde(rename = "mariadb-blocks")]
    MariaDbBlocks,
    /// MariaDB 10.8 and newer, `Phys`; if encrypted, file names stay readable.
    #[serde(rename = "mariadb-phys")]
    MariaDbPhys,
    /// MariaDB's newest encrypted format (first bytes f0 9f 97 9d).
    #[serde(rename = "mariadb-encrypted")]
    MariaDbEncrypted,
    /// No header: all zero, like a spare file that was never used. Blocks are counted as MySQL's.
    Blank,
    /// Unknown header. Blocks are counted as MySQL's.
    Unknown,
}

/// The key that encrypts the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum RedoKey {
    /// MySQL: the log's key is wrapped by a master key.
    #[serde(rename = "mysql")]
    MySql {
        /// Version of the encryption information.
        magic: MySqlMagic,
        /// Number of the master key.
        master_key_id: MasterKeyId,
        /// Server uuid in the master key's name.
        server_uuid: Option<String>,
    },
    /// MariaDB 10.8 and newer.
    #[serde(rename = "mariadb")]
    MariaDb {
        /// Key id, always 1.
        key_id: u32,
        /// Version of the key.
        key_version: KeyVersion,
    },
    /// Percona's removed "keyring encryption" of the redo log; recognised, not supported.
    Percona {
        /// Magic of the encryption information.
        magic: String,
    },
}

/// Counts of 512-byte blocks. `scanned` is the sum of all others but `total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockCounts {
    /// Blocks after the header.
    pub total: u64,
    /// Blocks read.
    pub scanned: u64,
    /// Encrypted.
    pub encrypted: u64,
    /// Clear.
    pub clear: u64,
    /// All zero except for the checksum.
    pub empty: u64,
    /// Marked encrypted, but clear text.
    pub mislabelled: u64,
    /// Neither a valid block nor clear text: damaged, or from a log whose header is lost.
    #[serde(default)]
    pub unrecognised: u64,
}

/// Result of reading a redo log file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedoScan {
    /// Layout of the file.
    pub format: RedoFormat,
    /// First four bytes, big-endian: the servers' format number.
    pub format_id: u32,
    /// Server that wrote the header, e.g. `MySQL 9.7.4`.
    pub creator: Option<String>,
    /// LSN at the start of the file, if the header has it.
    pub start_lsn: Option<Lsn>,
    /// MySQL: the newest checkpoint in the header. A reused file keeps the key of its previous use
    /// in its header until the server writes a new one, so only the file with the newest checkpoint
    /// has the current key.
    #[serde(default)]
    pub checkpoint_lsn: Option<Lsn>,
    /// MariaDB: whether the header says encrypted. MySQL: `None`, because each block is marked.
    pub declared_encrypted: Option<bool>,
    /// The key that the header names. MySQL writes it only into files that held a checkpoint, so a
    /// file without it can hold encrypted blocks.
    pub key: Option<RedoKey>,
    /// MariaDB: the log is encrypted, but file names in it are readable.
    pub names_clear: bool,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// Whether every block was read.
    pub complete: bool,
    /// Block counts by state.
    pub blocks: BlockCounts,
    /// Offsets of the first clear blocks, in bytes.
    pub clear_offsets: Vec<u64>,
}

/// Offset of MySQL's encryption information in a redo log file.
pub const INFO_OFFSET: usize = 1024 + 48;
/// Bytes read at once.
const CHUNK_BYTES: u64 = 65536;
const EVIDENCE: usize = 8;

/// Reads a redo log file; at most `max_bytes`, in evenly spread chunks of 64 KiB if the file is
/// longer.
///
/// # Errors
/// [`ScanError::EmptyFile`], [`ScanError::Io`]. A file of another format is not an error: see
/// [`RedoFormat::Unknown`].
pub fn scan<R: ReadAt + ?Sized>(source: &R, max_bytes: u64) -> Result<RedoScan, ScanError> {
    let file_bytes = length(source)?;
    if file_bytes == 0 {
        return Err(ScanError::EmptyFile);
    }
    let mut buf = vec![0; HEADER_BYTES];
    let head = fill(source, 0, &mut buf)?;
    let mut found = header(head, file_bytes);
    if found.format == RedoFormat::MySql {
        found.checkpoint_lsn = checkpoint_lsn(head);
    }
    let from = match found.format {
        RedoFormat::MariaDbPhys | RedoFormat::MariaDbEncrypted => as_u64(phys::HEAD_BYTES),
        _ => BLOCKS_BEGIN,
    };
    let block_bytes = as_u64(BLOCK_BYTES);
    found.blocks.total = file_bytes.saturating_sub(from).checked_div(block_bytes).unwrap_or(0);
    let mut chunk = vec![0; as_usize(CHUNK_BYTES)];
    for offset in chunks(from, file_bytes, CHUNK_BYTES, max_bytes) {
        let bytes = fill(source, offset, &mut chunk)?;
        for (index, block) in bytes.chunks_exact(BLOCK_BYTES).enumerate() {
            let at = offset.saturating_add(as_u64(index).saturating_mul(block_bytes));
            found.block(block, at);
        }
    }
    found.complete = found.blocks.scanned == found.blocks.total;
    Ok(found)
}

/// The format of a redo log whose first bytes are `head`; `None` if it is not a redo log.
#[must_use]
pub fn recognise(head: &[u8]) -> Option<RedoFormat> {
    match header(head, 0).format {
        RedoFormat::Blank | RedoFormat::Unknown => None,
        format => Some(format),
    }
}

fn header(head: &[u8], file_bytes: u64) -> RedoScan {
    let format_id = head.be32(0).unwrap_or(0);
    let creator = ascii_text(head.range(16, 48));
    let format = format_of(head, format_id, creator.as_deref());
    let declared_encrypted = match format {
        RedoFormat::MariaDbBlocks => Some(format_id & ENCRYPTED != 0),
        RedoFormat::MariaDbPhys => Some(head.be32(phys::KEY_ID).unwrap_or(0) != 0),
        RedoFormat::MariaDbEncrypted => Some(true),
        RedoFormat::MySql | RedoFormat::Blank | RedoFormat::Unknown => None,
    };
    let recognised = !matches!(format, RedoFormat::Blank | RedoFormat::Unknown);
    RedoScan {
        format,
        format_id,
        start_lsn: head.be64(8).filter(|_| recognised).map(Lsn),
        checkpoint_lsn: None,
        creator: creator.filter(|_| recognised),
        names_clear: format == RedoFormat::MariaDbPhys && declared_encrypted == Some(true),
        declared_encrypted,
        key: key(head, format, declared_encrypted),
        file_bytes,
        complete: false,
        blocks: BlockCounts::default(),
        clear_offsets: Vec::new(),
    }
}

/// High bit of the format number of MariaDB 10.2 to 10.7.
pub(crate) const ENCRYPTED: u32 = 0x8000_0000;

/// All format numbers that [`format_of`] recognises.
pub(crate) const FORMAT_IDS: [u32; 15] = [
    1,
    2,
    3,
    4,
    5,
    6,
    0x67,
    0x68,
    0x8000_0001,
    0x8000_0067,
    0x8000_0068,
    0x5048_5953,
    0xd048_5953,
    0x5068_7973,
    0xf09f_979d,
];

/// Determines the format. Format 1 is MySQL 5.7 or MariaDB 10.2: the creator decides. Source: docs/formats, "Redo".
pub(crate) fn format_of(head: &[u8], format_id: u32, creator: Option<&str>) -> RedoFormat {
    let mariadb = creator.is_some_and(|creator| creator.starts_with("MariaDB"));
    match format_id {
        0xf09f_979d => RedoFormat::MariaDbEncrypted,
        0x5068_7973 => RedoFormat::MariaDbPhys,
        0x5048_5953 | 0xd048_5953 => RedoFormat::MariaDbBlocks,
        0x67 | 0x68 | 0x8000_0001 | 0x8000_0067 | 0x8000_0068 => RedoFormat::MariaDbBlocks,
        1 if mariadb => RedoFormat::MariaDbBlocks,
        1..=6 => RedoFormat::MySql,
        0 if all_zero(head) => RedoFormat::Blank,
        _ => RedoFormat::Unknown,
    }
}

fn key(head: &[u8], format: RedoFormat, declared_encrypted: Option<bool>) -> Option<RedoKey> {
    match format {
        RedoFormat::MySql => {
            let info = head.range(INFO_OFFSET, head.len());
            let no_flags = SpaceFlags(0);
            if let Some(Encryption::MySql { magic, master_key_id, server_uuid, .. }) = Encryption::mysql(info, no_flags)
            {
                return Some(RedoKey::MySql { magic, master_key_id, server_uuid });
            }
            let magic = info.get(..3).filter(|magic| is_percona(magic))?;
            let magic = String::from_utf8_lossy(magic).into_owned();
            Some(RedoKey::Percona { magic })
        }
        RedoFormat::MariaDbPhys | RedoFormat::MariaDbEncrypted if declared_encrypted == Some(true) => {
            Some(RedoKey::MariaDb { key_id: head.be32(phys::KEY_ID)?, key_version: KeyVersion(head.be32(52)?) })
        }
        _ => None,
    }
}

/// Whether encryption information is that of Percona's removed scheme.
pub(crate) fn is_percona(info: &[u8]) -> bool {
    info.starts_with(b"lRK") || info.starts_with(b"RKB")
}

impl RedoScan {
    fn block(&mut self, block: &[u8], offset: u64) {
        bump(&mut self.blocks.scanned);
        // When MariaDB 10.5 resizes the log, it writes blocks that hold only a checksum.
        if all_zero(block.range(0, CHECKSUM)) {
            bump(&mut self.blocks.empty);
            return;
        }
        match self.state(block) {
            BlockState::Encrypted => bump(&mut self.blocks.encrypted),
            BlockState::Mislabelled => bump(&mut self.blocks.mislabelled),
            BlockState::Unrecognised => bump(&mut self.blocks.unrecognised),
            BlockState::Clear => {
                bump(&mut self.blocks.clear);
                if self.clear_offsets.len() < EVIDENCE {
                    self.clear_offsets.push(offset);
                }
            }
        }
    }

    fn state(&self, block: &[u8]) -> BlockState {
        let random = |body: &[u8]| looks_random(body) != Some(false);
        match (self.format, self.declared_encrypted) {
            // A clear header can belong to another log: the blocks may be encrypted all the same.
            (RedoFormat::MariaDbBlocks, Some(false)) if random(block.range(4, 504)) && !legacy::holds(block) => {
                BlockState::Unrecognised
            }
            (_, Some(false)) if random(block) => BlockState::Unrecognised,
            (_, Some(false)) => BlockState::Clear,
            (RedoFormat::MariaDbBlocks, Some(true)) if !random(block.range(4, 504)) => BlockState::Mislabelled,
            // The other formats have no blocks, and have clear bytes between the encrypted ones.
            (_, Some(true)) => BlockState::Encrypted,
            (format, None) => {
                // Only if a checksum does not decide it: this costs several times as much.
                let random = || random(block.range(BLOCK_HEADER_BYTES, BLOCK_BYTES));
                let may_lack_marks = format != RedoFormat::MySql;
                match is_encrypted(block) {
                    true if has_lengths(block) && random() => BlockState::Encrypted,
                    true if !may_lack_marks && !random() => BlockState::Mislabelled,
                    // A clear block can look random too, for example if it holds compressed values.
                    false if block_holds(block, true) || (!may_lack_marks && !random()) => BlockState::Clear,
                    _ if may_lack_marks && (legacy::holds(block) || has_text(block)) => BlockState::Clear,
                    _ => BlockState::Unrecognised,
                }
            }
        }
    }
}

/// Whether the block has 24 or more printable ASCII characters in a row. Ciphertext has no such run, except by chance.
fn has_text(block: &[u8]) -> bool {
    const IN_A_ROW: usize = 24;
    block.split(|byte| !(b' '..=b'~').contains(byte)).any(|text| text.len() >= IN_A_ROW)
}

enum BlockState {
    Encrypted,
    Mislabelled,
    Unrecognised,
    Clear,
}

/// Whether the lengths in the header of a MySQL block, which are never encrypted, fit it: the bytes in use, and the
/// offset of the first record group.
///
/// Source: `log0constants.h` (`LOG_BLOCK_HDR_DATA_LEN`, `LOG_BLOCK_FIRST_REC_GROUP`); both are 0 in blocks of zeros
/// that were written ahead, as on testdata.
pub(crate) fn has_lengths(block: &[u8]) -> bool {
    let used = usize::from(data_bytes(block).unwrap_or(0));
    let first_group = usize::from(block.be16(FIRST_GROUP).unwrap_or(0));
    (used == 0 || (BLOCK_HEADER_BYTES..=BLOCK_BYTES).contains(&used)) && first_group <= BLOCK_BYTES
}
