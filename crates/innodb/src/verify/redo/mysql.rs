//! MySQL's redo log files: each block is clear or encrypted; the whole log has one key.

use files::ReadAt;

use super::{
    Job, Outcome,
    blocks::{BlockJudge, Blocks, Judged},
    head::{Head, mismatch},
    order::BlockState,
};
use crate::{
    bytes::{Bytes, all_zero, as_u64, as_usize},
    crypt::{
        mysql::{UnwrapFault, WrappedKey},
        redo::mysql::MySqlBlockCipher,
    },
    error::ScanError,
    ids::Lsn,
    keys::KeySource,
    page::checksum::crc32c,
    redo::{
        INFO_OFFSET, RedoFormat,
        blocks::{
            BLOCK_BYTES, BLOCK_HEADER_BYTES, BLOCKS_BEGIN, CHECKSUM, FLAGS, FORMAT_8_0_30, FULL, HEADER_BLOCKS,
            HEADER_BYTES, LSN, NUMBERS, block_holds, is_encrypted, number, number_at,
        },
        has_lengths, is_percona,
    },
    verify::{Check, ReportBuilder, RequiredKey},
};

/// The key of a MySQL redo log, as one of its files names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedoKeyInfo {
    /// Newest checkpoint of that file: the file with the newest one names the current key.
    pub checkpoint_lsn: Lsn,
    /// The log's key, wrapped by a master key.
    pub key: WrappedKey,
}

/// Bytes of the header that [`key_info`] needs.
pub const KEY_INFO_BYTES: usize = HEADER_BYTES;

/// The encryption information in the header of a MySQL redo log file, from the file's first
/// [`KEY_INFO_BYTES`]; `None` if it has none or no checkpoint.
#[must_use]
pub fn key_info(head: &[u8]) -> Option<RedoKeyInfo> {
    let head = Head::read(head, as_u64(head.len())).ok().filter(|head| head.format == RedoFormat::MySql)?;
    let key = info(&head).wrapped()?;
    Some(RedoKeyInfo { checkpoint_lsn: checkpoint(&head)?, key })
}

/// Source: docs/formats, "Redo": the LSN of a checkpoint block is at 8 in every format.
fn checkpoint(head: &Head<'_>) -> Option<Lsn> {
    head.checkpoints().filter_map(|block| block.be64(LSN)).filter(|lsn| *lsn != 0).max().map(Lsn)
}

/// Contents of the place for the encryption information.
enum Info {
    None,
    Wrapped(WrappedKey),
    Percona,
    /// Something, but no magic or no server uuid.
    Malformed,
}

impl Info {
    fn wrapped(self) -> Option<WrappedKey> {
        match self {
            Self::Wrapped(key) => Some(key),
            _ => None,
        }
    }
}

fn info(head: &Head<'_>) -> Info {
    const INFO_BYTES: usize = 115;
    let bytes = head.bytes.range(INFO_OFFSET, INFO_OFFSET.saturating_add(INFO_BYTES));
    match WrappedKey::parse(bytes) {
        _ if all_zero(bytes) => Info::None,
        Some(key) if key.server_uuid.is_some() => Info::Wrapped(key),
        Some(_) => Info::Malformed,
        None if is_percona(bytes) => Info::Percona,
        None => Info::Malformed,
    }
}

pub(super) fn verify<R: ReadAt + ?Sized>(
    job: &mut Job<'_, R>,
    sibling: Option<&RedoKeyInfo>,
) -> Result<Outcome, ScanError> {
    let head = job.head;
    head.check_blocks(&mut job.builder);
    if !head.check_length(BLOCKS_BEGIN, &mut job.builder) {
        return Ok(Outcome::default());
    }
    let checkpoint_lsn = checkpoint(head);
    let keys = LogKeys::find(info(head), checkpoint_lsn, sibling, job.keys);
    let mut judge = Judge { ciphers: keys.ciphers(), all_tried: keys.has_all(), closed: 0 };
    let first = head.start_lsn().and_then(number_at);
    check_start(head, &mut job.builder);
    let last = Blocks::new(job.source, head.file_bytes, first).walk(&mut judge, &mut job.builder)?;
    if let (Some(start), Some(checkpoint)) = (head.start_lsn(), checkpoint_lsn) {
        check_checkpoint(head, start, checkpoint, last, &mut job.builder);
    }
    keys.note(judge.closed > 0, &mut job.builder);
    judge.finish(&mut job.builder);
    Ok(Outcome { key: keys.asked, checkpoint_lsn, end_lsn: None })
}

/// Checks that the header belongs to the blocks after it, in a log whose files form a ring: the newest pass begins
/// where the header says, and blocks that it has not overwritten yet are older by a whole number of passes. The header
/// of another file names another pass. Several first blocks are compared, because a pass begins with them and a single
/// one may be damaged.
///
/// Source: `log0log.cc` of 5.7 (`log_group_write_buf` writes the header before the first block of a file).
fn check_start(head: &Head<'_>, builder: &mut ReportBuilder) {
    let Some(start) = head.start_lsn().filter(|_| head.format_id != FORMAT_8_0_30) else { return };
    let Some(first) = number_at(start) else { return };
    let file_blocks = head.file_bytes.checked_div(as_u64(BLOCK_BYTES)).unwrap_or(0).saturating_sub(HEADER_BLOCKS);
    let behind = |(index, block): (u32, &[u8; BLOCK_BYTES])| {
        let number = number(block).filter(|number| *number != 0 && has_lengths(block))?;
        Some(first.wrapping_add(index).wrapping_sub(number) & NUMBERS)
    };
    let blocks = head.bytes.get(as_usize(BLOCKS_BEGIN)..).unwrap_or_default().as_chunks::<BLOCK_BYTES>().0;
    let passes: Vec<Option<u32>> = (0..).zip(blocks).map(behind).collect();
    let foreign = passes.iter().zip(passes.iter().skip(1)).any(|(pass, next)| {
        let older = |blocks: u32| blocks <= NUMBERS / 2 && u64::from(blocks).is_multiple_of(file_blocks.max(1));
        pass == next && pass.is_some_and(|blocks| !older(blocks))
    });
    if foreign {
        let detail = format!(
            "the header is that of another file: it begins at LSN {start}, and the blocks do not follow from there"
        );
        builder.find(None, Some(as_u64(LSN)), Check::Header, detail);
    }
}

/// Checks that the block with the file's own checkpoint exists: recovery starts with it.
///
/// Since 8.0.30 every file covers its own LSN range. Before, the files form a ring, and the header
/// gives the start of its newest pass, which may be after the checkpoint. A full file is not
/// checked: it may be a spare, which the server shortens with `innodb_redo_log_capacity`.
fn check_checkpoint(head: &Head<'_>, start: Lsn, checkpoint: Lsn, last: Option<u64>, builder: &mut ReportBuilder) {
    let block_bytes = as_u64(BLOCK_BYTES);
    let full = head.bytes.be32(FLAGS).unwrap_or_default() & FULL != 0;
    let asked = head.format_id == FORMAT_8_0_30 && !full;
    let Some(ahead) = checkpoint.0.checked_sub(start.0).filter(|_| asked) else { return };
    let unit = ahead.checked_div(block_bytes).unwrap_or(0).saturating_add(HEADER_BLOCKS);
    let offset = unit.saturating_mul(block_bytes);
    if offset.saturating_add(block_bytes) > head.file_bytes {
        let detail = format!("the checkpoint at LSN {checkpoint} is beyond the end of the file");
        builder.find(None, Some(head.file_bytes), Check::FileSize, detail);
        return;
    }
    // A checkpoint right after a block's header may be the end of the log, so its block may be
    // missing.
    let begun = checkpoint.0.checked_rem(block_bytes).is_some_and(|bytes| bytes > as_u64(BLOCK_HEADER_BYTES));
    let needed = if begun { unit } else { unit.saturating_sub(1) };
    if needed >= HEADER_BLOCKS && last.is_none_or(|last| last < needed) && !builder.is_damaged() {
        let detail = format!("the block with the checkpoint at LSN {checkpoint} is missing");
        builder.find(Some(unit), Some(offset), Check::Position, detail);
    }
}

/// The keys of a log: from the newest encryption information, and from an older one.
struct LogKeys {
    asked: Option<RequiredKey>,
    newest: KeyState,
    older: Option<Box<MySqlBlockCipher>>,
    /// Whether the newest information is in this file.
    in_this_file: bool,
}

enum KeyState {
    /// No given file of the log has the information.
    NoInfo,
    Percona,
    Malformed,
    Closed(UnwrapFault),
    Available(Box<MySqlBlockCipher>),
}

impl LogKeys {
    fn find(this: Info, this_lsn: Option<Lsn>, sibling: Option<&RedoKeyInfo>, keys: &dyn KeySource) -> Self {
        let sibling = sibling.filter(|sibling| this.none_newer(this_lsn, sibling));
        let state = |key: &WrappedKey| match key.unwrap(keys).and_then(|key| Ok(MySqlBlockCipher::new(&key)?)) {
            Ok(cipher) => KeyState::Available(Box::new(cipher)),
            Err(error) => KeyState::Closed(error),
        };
        match (this, sibling) {
            (Info::Wrapped(older), Some(sibling)) if older != sibling.key => {
                let older = match state(&older) {
                    KeyState::Available(cipher) => Some(cipher),
                    _ => None,
                };
                Self {
                    asked: Some(required_key(&sibling.key)),
                    newest: state(&sibling.key),
                    older,
                    in_this_file: false,
                }
            }
            (_, Some(sibling)) => Self {
                asked: Some(required_key(&sibling.key)),
                newest: state(&sibling.key),
                older: None,
                in_this_file: false,
            },
            (Info::Wrapped(key), None) => {
                Self { asked: Some(required_key(&key)), newest: state(&key), older: None, in_this_file: true }
            }
            (Info::None, None) => Self { asked: None, newest: KeyState::NoInfo, older: None, in_this_file: true },
            (Info::Percona, None) => Self { asked: None, newest: KeyState::Percona, older: None, in_this_file: true },
            (Info::Malformed, None) => {
                Self { asked: None, newest: KeyState::Malformed, older: None, in_this_file: true }
            }
        }
    }

    /// The ciphers, the most likely one first.
    fn ciphers(&self) -> Vec<&MySqlBlockCipher> {
        let newest = match &self.newest {
            KeyState::Available(cipher) => Some(cipher),
            _ => None,
        };
        newest.into_iter().chain(&self.older).map(AsRef::as_ref).collect()
    }

    /// Whether a block that no cipher decrypts is damaged (else it may need another key).
    const fn has_all(&self) -> bool {
        matches!(self.newest, KeyState::Available(_))
    }

    /// Reports problems of the information, if a block needed it or it is in this file.
    fn note(&self, needed: bool, builder: &mut ReportBuilder) {
        let at = Some(as_u64(INFO_OFFSET));
        match &self.newest {
            KeyState::Available(_) => {}
            KeyState::Malformed => builder.bad_key_info(at, "the encryption information in the header is malformed"),
            KeyState::Percona => {
                builder.find(None, at, Check::Unknown, "encrypted with the keyring scheme that Percona Server removed");
            }
            KeyState::NoInfo if needed => {
                let detail = "encrypted blocks, but no given file of the log names their key";
                builder.find(None, None, Check::Unknown, detail);
            }
            KeyState::Closed(UnwrapFault::NoStore) if needed => builder.unproven(),
            KeyState::NoInfo | KeyState::Closed(UnwrapFault::NoStore) => {}
            KeyState::Closed(error) if needed || self.in_this_file => {
                let check = match error {
                    UnwrapFault::Missing => Check::Key,
                    _ => Check::KeyOpens,
                };
                builder.find(None, at.filter(|_| self.in_this_file), check, error.to_string());
            }
            KeyState::Closed(_) => {}
        }
    }
}

impl Info {
    /// Whether a sibling's information is newer than this file's.
    fn none_newer(&self, this_lsn: Option<Lsn>, sibling: &RedoKeyInfo) -> bool {
        match self {
            Self::None => true,
            _ => this_lsn.is_none_or(|lsn| lsn < sibling.checkpoint_lsn),
        }
    }
}

fn required_key(key: &WrappedKey) -> RequiredKey {
    RequiredKey::MySql {
        name: key.master_key_name(),
        master_key_id: key.master_key_id,
        server_uuid: key.server_uuid.clone(),
    }
}

/// Judges blocks one by one.
pub(super) struct Judge<'c> {
    ciphers: Vec<&'c MySqlBlockCipher>,
    all_tried: bool,
    /// Number of encrypted blocks that no key decrypted but that may be valid.
    closed: u64,
}

impl Judge<'_> {
    pub(super) const fn keyless() -> Self {
        Self { ciphers: Vec::new(), all_tried: false, closed: 0 }
    }

    /// Marks the file unproven if encrypted blocks could not be decrypted.
    pub(super) const fn finish(&self, builder: &mut ReportBuilder) {
        if self.closed > 0 {
            builder.unproven();
        }
    }

    fn encrypted(&mut self, block: &[u8]) -> (BlockState, Option<(Check, String)>) {
        let mut fault = None;
        for cipher in &self.ciphers {
            let Some(mut decrypted) = block.array_at::<BLOCK_BYTES>(0) else { continue };
            let decrypts = cipher.decrypt(&mut decrypted).is_ok();
            // Zeros that were written ahead of the log's end.
            if decrypts && all_zero(&decrypted) {
                return (BlockState::Empty, None);
            }
            if decrypts && block_holds(&decrypted, true) {
                return (BlockState::Encrypted, None);
            }
            fault.get_or_insert_with(|| {
                let expected = crc32c(decrypted.range(0, CHECKSUM));
                mismatch("decrypted block", expected, decrypted.be32(CHECKSUM).unwrap_or_default())
            });
        }
        if self.all_tried {
            return (BlockState::Encrypted, fault.map(|detail| (Check::OpenedChecksum, detail)));
        }
        if !has_lengths(block) {
            return (BlockState::Encrypted, Some((Check::Length, "its lengths are not those of a block".to_owned())));
        }
        self.closed = self.closed.saturating_add(1);
        (BlockState::Encrypted, None)
    }
}

impl BlockJudge for Judge<'_> {
    fn judge(&mut self, _: u64, block: &[u8]) -> Judged {
        let number = block.be32(0).map(|number| number & 0x7fff_ffff).filter(|number| *number != 0);
        if is_encrypted(block) {
            let (state, fault) = self.encrypted(block);
            return Judged { state, number, fault };
        }
        let fault = (!block_holds(block, true)).then(|| {
            let expected = crc32c(block.range(0, CHECKSUM));
            (Check::Checksum, mismatch("block", expected, block.be32(CHECKSUM).unwrap_or_default()))
        });
        Judged { state: BlockState::Clear, number, fault }
    }
}
