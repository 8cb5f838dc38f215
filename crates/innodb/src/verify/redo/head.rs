//! The first blocks of a file: its format, and whether they are valid.

use crate::{
    bytes::{Bytes, all_zero, as_u64},
    error::ScanError,
    ids::Lsn,
    page::checksum::crc32c,
    redo::{
        FORMAT_IDS, RedoFormat,
        blocks::{BLOCK_BYTES, CHECKPOINTS, CHECKSUM, LSN, block_holds, checkpoint_blocks},
        format_of, legacy,
    },
    verify::{Check, ReportBuilder},
};

/// The parsed first bytes of a file.
pub(super) struct Head<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) file_bytes: u64,
    pub(super) format: RedoFormat,
    /// The servers' format number; reconstructed if the first bytes are damaged.
    pub(super) format_id: u32,
    pub(super) creator: Option<String>,
    /// Whether the checksum of the first block matches.
    pub(super) sound: bool,
}

impl<'a> Head<'a> {
    pub(super) fn read(bytes: &'a [u8], file_bytes: u64) -> Result<Self, ScanError> {
        let creator = crate::bytes::ascii_text(bytes.range(16, 48));
        let stored_id = bytes.be32(0).unwrap_or_default();
        let first = bytes.range(0, BLOCK_BYTES);
        let sound = block_holds(first, true);
        let format_id = if sound { stored_id } else { repaired(first).unwrap_or(stored_id) };
        let format = match format_of(bytes, format_id, creator.as_deref()) {
            RedoFormat::Unknown if sound || legacy::is_head(bytes) => RedoFormat::Unknown,
            RedoFormat::Unknown if is_mysql(creator.as_deref()) => RedoFormat::MySql,
            RedoFormat::Unknown if first.len() == BLOCK_BYTES && all_zero(first) => RedoFormat::Blank,
            RedoFormat::Unknown => return Err(ScanError::NotRecognised { expected: "redo log" }),
            format => format,
        };
        Ok(Self { bytes, file_bytes, format, format_id, creator, sound })
    }

    /// LSN of the first block after the header, if the header is valid.
    pub(super) fn start_lsn(&self) -> Option<Lsn> {
        self.bytes.be64(LSN).filter(|_| self.sound).map(Lsn)
    }

    /// Checks the first block and both checkpoint blocks of the 512-byte formats.
    pub(super) fn check_blocks(&self, builder: &mut ReportBuilder) {
        if !self.sound {
            self.unsound(builder);
        }
        for at in CHECKPOINTS {
            let block = self.bytes.range(at, at.saturating_add(BLOCK_BYTES));
            if block.len() == BLOCK_BYTES && !all_zero(block) && !block_holds(block, self.may_lack_checksums()) {
                builder.find(None, Some(as_u64(at)), Check::Header, "the checksum of a checkpoint does not match");
            }
        }
    }

    /// Reports that the first block is damaged.
    pub(super) fn unsound(&self, builder: &mut ReportBuilder) {
        let found = self.bytes.be32(CHECKSUM).unwrap_or_default();
        let expected = crc32c(self.bytes.range(0, CHECKSUM));
        builder.find(None, Some(0), Check::Header, mismatch("header", expected, found));
    }

    /// Valid checkpoint blocks of the 512-byte formats.
    pub(super) fn checkpoints(&self) -> impl Iterator<Item = &'a [u8]> {
        let lenient = self.may_lack_checksums();
        checkpoint_blocks(self.bytes)
            .filter(move |block| !all_zero(block.range(0, CHECKSUM)) && block_holds(block, lenient))
    }

    /// Whether blocks may have been written without a checksum: not in MariaDB 10.5 to 10.7.
    pub(super) const fn may_lack_checksums(&self) -> bool {
        !matches!(self.format_id, 0x5048_5953 | 0xd048_5953)
    }

    /// Reports a file that is shorter than its header, or ends inside a block. Returns whether the
    /// header is complete.
    pub(super) fn check_length(&self, header_bytes: u64, builder: &mut ReportBuilder) -> bool {
        let block_bytes = as_u64(BLOCK_BYTES);
        if self.file_bytes < header_bytes {
            let detail = format!("{} bytes, the header alone has {header_bytes}", self.file_bytes);
            builder.find(None, Some(self.file_bytes), Check::FileSize, detail);
        } else if !self.file_bytes.is_multiple_of(block_bytes) {
            let unit = self.file_bytes.checked_div(block_bytes);
            let detail = format!("the file ends inside a block, at byte {}", self.file_bytes);
            builder.find(unit, Some(self.file_bytes), Check::PartialUnit, detail);
        }
        self.file_bytes >= header_bytes
    }
}

/// Message for a checksum that does not match.
pub(super) fn mismatch(what: &str, expected: u32, found: u32) -> String {
    format!("the checksum of the {what} does not match (expected 0x{expected:08x}, found 0x{found:08x})")
}

/// The format number with which the checksum of a damaged first block matches.
fn repaired(first: &[u8]) -> Option<u32> {
    let mut block = first.array_at::<BLOCK_BYTES>(0)?;
    FORMAT_IDS.into_iter().find(|id| {
        if let Some(stored) = block.first_chunk_mut::<4>() {
            *stored = id.to_be_bytes();
        }
        block_holds(&block, false)
    })
}

fn is_mysql(creator: Option<&str>) -> bool {
    creator.is_some_and(|creator| ["MySQL ", "Percona ", "MEB "].iter().any(|name| creator.starts_with(name)))
}
