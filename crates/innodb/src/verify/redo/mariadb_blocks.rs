//! Logs of MariaDB 10.2 to 10.7: blocks that are all clear or all encrypted, with a checksum over
//! the stored bytes.

use std::collections::BTreeMap;

use files::ReadAt;

use super::{
    Job, Outcome,
    blocks::{BlockJudge, Blocks, Judged},
    head::{Head, mismatch},
    order::BlockState,
    vote::{KeyEvidence, Vote},
};
use crate::{
    bytes::{Bytes, as_u64},
    crypt::{
        mariadb::Mode,
        redo::{
            LogCipher, LogKeyInfo,
            mariadb_blocks::{BlockLayout, MariaDbBlockCipher, block_lsn, is_plausible, number},
        },
    },
    error::ScanError,
    ids::{KeyVersion, Lsn},
    keys::KeySource,
    page::checksum::crc32c,
    read::fill,
    redo::{
        ENCRYPTED, RedoFormat,
        blocks::{BLOCK_BYTES, BLOCKS_BEGIN, CHECKSUM, NUMBERS, block_holds, number_at},
    },
    verify::{Check, ReportBuilder, RequiredKey},
};

/// Encrypted logs of 10.2 and 10.3, whose blocks name no key version.
const WITHOUT_KEY_VERSION: [u32; 2] = [0x8000_0001, 0x8000_0067];

/// A checkpoint of these formats.
struct Checkpoint<'a> {
    block: &'a [u8],
    lsn: Lsn,
    /// Offset of the checkpoint in the ring.
    offset: u64,
}

/// The newest valid checkpoint: it has the higher number. Source: docs/formats, "Redo (`ib_logfile0`)".
fn newest<'a>(head: &Head<'a>) -> Option<Checkpoint<'a>> {
    let block = head.checkpoints().max_by_key(|block| block.be64(0))?;
    Some(Checkpoint { block, lsn: Lsn(block.be64(8)?), offset: block.be64(16)? })
}

/// The key information needed to decrypt the blocks of an encrypted log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlocksKeyInfo {
    /// Key that the checkpoint names.
    pub key: LogKeyInfo,
    /// Layout of the blocks.
    pub layout: BlockLayout,
    /// LSN of the newest checkpoint: block numbers mean the LSNs nearest to it.
    pub near: Lsn,
}

/// Key information of the newest checkpoint, from the first [`HEAD_BYTES`](super::HEAD_BYTES) of the
/// file; `None` if it is not a log of 10.2 to 10.7, is not encrypted, or has no valid checkpoint.
#[must_use]
pub fn blocks_key_info(head: &[u8]) -> Option<BlocksKeyInfo> {
    let head = Head::read(head, as_u64(head.len())).ok()?;
    if head.format != RedoFormat::MariaDbBlocks || head.format_id & ENCRYPTED == 0 {
        return None;
    }
    let checkpoint = newest(&head)?;
    let key = LogKeyInfo::from_checkpoint(checkpoint.block)?;
    Some(BlocksKeyInfo { key, layout: layout(&head), near: checkpoint.lsn })
}

fn layout(head: &Head<'_>) -> BlockLayout {
    if WITHOUT_KEY_VERSION.contains(&head.format_id) { BlockLayout::NoKeyVersion } else { BlockLayout::KeyVersion }
}

pub(super) fn verify<R: ReadAt + ?Sized>(job: &mut Job<'_, R>) -> Result<Outcome, ScanError> {
    let head = job.head;
    head.check_blocks(&mut job.builder);
    if !head.check_length(BLOCKS_BEGIN, &mut job.builder) {
        return Ok(Outcome::default());
    }
    let checkpoint = newest(head);
    let checkpoint_lsn = checkpoint.as_ref().map(|checkpoint| checkpoint.lsn);
    let first = first_number(job.source, head, checkpoint.as_ref())?;
    if head.format_id & ENCRYPTED == 0 {
        Blocks::new(job.source, head.file_bytes, first).walk(&mut Clear, &mut job.builder)?;
        return Ok(Outcome { checkpoint_lsn, ..Outcome::default() });
    }
    let info = checkpoint.as_ref().and_then(|checkpoint| LogKeyInfo::from_checkpoint(checkpoint.block));
    let near = checkpoint_lsn.or_else(|| head.start_lsn()).unwrap_or_default();
    let mut judge = Judge::new(job.keys, info, near, head);
    Blocks::new(job.source, head.file_bytes, first).walk(&mut judge, &mut job.builder)?;
    let key = judge.finish(&mut job.builder);
    Ok(Outcome { key: Some(key), checkpoint_lsn, end_lsn: None })
}

/// Number that the first block must have. The header names the number in the log's first pass over the file. The first
/// block may be a whole number of passes after that or, if it lies after the end of the log, before it.
fn first_number<R: ReadAt + ?Sized>(
    source: &R,
    head: &Head<'_>,
    checkpoint: Option<&Checkpoint<'_>>,
) -> Result<Option<u32>, ScanError> {
    let mut buf = [0; BLOCK_BYTES];
    let found = number(fill(source, BLOCKS_BEGIN, &mut buf)?);
    let of_checkpoint = checkpoint.and_then(|checkpoint| {
        let ahead = checkpoint.offset.checked_sub(BLOCKS_BEGIN)?;
        checkpoint.lsn.0.checked_sub(ahead).filter(|_| checkpoint.offset < head.file_bytes)
    });
    let expected = of_checkpoint.map(Lsn).or_else(|| head.start_lsn()).and_then(number_at);
    let (Some(found), Some(expected)) = (found, expected) else { return Ok(expected) };
    let lap = head.file_bytes.saturating_sub(BLOCKS_BEGIN).checked_div(as_u64(BLOCK_BYTES)).unwrap_or(0);
    let ahead = u64::from(found.wrapping_sub(expected) & NUMBERS);
    let behind = u64::from(expected.wrapping_sub(found) & NUMBERS);
    let whole_laps = |blocks: u64| blocks.checked_rem(lap) == Some(0);
    Ok(Some(if whole_laps(ahead) || whole_laps(behind) { found } else { expected }))
}

/// Judges the blocks of a log that is not encrypted.
struct Clear;

impl BlockJudge for Clear {
    fn judge(&mut self, _: u64, block: &[u8]) -> Judged {
        let fault = (!block_holds(block, true)).then(|| (Check::Checksum, wrong_sum(block)));
        Judged { state: BlockState::Clear, number: number(block), fault }
    }
}

fn wrong_sum(block: &[u8]) -> String {
    let expected = crc32c(block.range(0, CHECKSUM));
    mismatch("block", expected, block.be32(CHECKSUM).unwrap_or_default())
}

/// Maximum number of key versions looked up for one log.
const MAX_VERSIONS: usize = 64;

/// Judges the blocks of an encrypted log.
struct Judge<'k> {
    keys: &'k dyn KeySource,
    info: Option<LogKeyInfo>,
    layout: BlockLayout,
    near: Lsn,
    ciphers: BTreeMap<KeyVersion, Option<Box<[MariaDbBlockCipher; 2]>>>,
    vote: Vote,
    /// Some blocks could not be decrypted for lack of a key.
    closed: bool,
    may_lack_checksums: bool,
}

impl<'k> Judge<'k> {
    fn new(keys: &'k dyn KeySource, info: Option<LogKeyInfo>, near: Lsn, head: &Head<'_>) -> Self {
        Self {
            keys,
            info,
            layout: layout(head),
            near,
            ciphers: BTreeMap::new(),
            vote: Vote::new(),
            closed: false,
            may_lack_checksums: head.may_lack_checksums(),
        }
    }

    fn decrypt(&mut self, unit: u64, block: &[u8]) {
        let Some(info) = self.info else {
            self.closed = true;
            return;
        };
        let version = self.layout.key_version(block).unwrap_or(info.key_version);
        if self.ciphers.len() < MAX_VERSIONS {
            let (keys, layout) = (self.keys, self.layout);
            self.ciphers.entry(version).or_insert_with(|| ciphers(keys, info, version, layout));
        }
        let Some(Some(ciphers)) = self.ciphers.get(&version) else {
            self.closed = true;
            return;
        };
        let [cbc, ctr] = ciphers.as_ref();
        let lsn = block_lsn(number(block).unwrap_or_default(), self.near);
        let offset = unit.saturating_mul(as_u64(BLOCK_BYTES));
        self.vote.test(unit, offset, |mode| {
            let cipher = if mode == Mode::Cbc { cbc } else { ctr };
            let Some(mut decrypted) = block.array_at::<BLOCK_BYTES>(0) else { return KeyEvidence::Misfits };
            let decrypts = cipher.decrypt(lsn, &mut decrypted).is_ok();
            if decrypts && is_plausible(&decrypted) { KeyEvidence::Fits } else { KeyEvidence::Misfits }
        });
    }

    /// Reports the result for the keys.
    fn finish(&self, builder: &mut ReportBuilder) -> RequiredKey {
        let key_id = self.info.map_or(1, |info| info.key_id);
        if self.info.is_none() {
            builder.bad_key_info(None, "no checkpoint is valid: the information to derive the log's key is lost");
        } else if !self.keys.has_mariadb() && self.closed {
            builder.unproven();
        } else {
            for (version, _) in self.ciphers.iter().filter(|(_, ciphers)| ciphers.is_none()) {
                let detail = format!("version {version} of key {key_id} is not in the key file");
                builder.find(None, None, Check::Key, detail);
            }
            if self.closed {
                builder.unproven();
            }
            self.vote.finish(builder);
        }
        RequiredKey::MariaDb { key_id, versions: self.ciphers.keys().copied().collect() }
    }
}

fn ciphers(
    keys: &dyn KeySource,
    info: LogKeyInfo,
    version: KeyVersion,
    layout: BlockLayout,
) -> Option<Box<[MariaDbBlockCipher; 2]>> {
    let key = keys.mariadb(info.key_id, version)?;
    let cipher = |mode| LogCipher::new(&key, &info.message, mode).ok();
    let [cbc, ctr] = [cipher(Mode::Cbc)?, cipher(Mode::Ctr)?];
    Some(Box::new([cbc, ctr].map(|cipher| MariaDbBlockCipher::new(cipher, info.nonce, layout))))
}

impl BlockJudge for Judge<'_> {
    fn judge(&mut self, unit: u64, block: &[u8]) -> Judged {
        if !block_holds(block, self.may_lack_checksums) {
            let fault = Some((Check::CiphertextChecksum, wrong_sum(block)));
            return Judged { state: BlockState::Encrypted, number: None, fault };
        }
        self.decrypt(unit, block);
        Judged { state: BlockState::Encrypted, number: number(block), fault: None }
    }
}
