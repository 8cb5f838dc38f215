//! The header of an index file (`.MAI`), which is required to judge the pages of the table.

use files::ReadAt;

use crate::{
    aria::{AriaTable, RowFormat, recognise_table},
    bytes::{Bytes, as_u64, as_usize},
    crypt::aria::CryptRecord,
    error::ScanError,
    ids::KeyVersion,
    read::fill,
    verify::{Check, FileReport, ReportBuilder, RequiredKey, Verdict},
};

pub(super) const DISAGREEMENT: &str = "the table is not marked encrypted, but has an encryption record";

/// The header of a table's index file (`.MAI`), which is required to read its data file (`.MAD`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AriaHeader {
    /// Description of the table.
    pub table: AriaTable,
    /// A temporary table. It may have its own key, and has no checksums unless it is encrypted.
    pub(super) temporary: bool,
    /// Whether pages have checksums, encrypted or not.
    pub(super) page_checksums: bool,
    pub(super) crypt: Option<CryptRecord>,
    /// The encryption flag and the encryption record contradict each other.
    pub(super) disagreement: bool,
    /// Offset of the first index page.
    pub(super) key_start: u64,
    /// Minimum length of the data file if the table was closed.
    pub(super) data_bytes: u64,
    pub(super) index_bytes: u64,
    /// `true` if the table was not open for writing when it was read, so that the header is
    /// current.
    pub(super) closed: bool,
    /// Versions of the key that decrypt pages of the table's other file.
    pub(super) proven: Vec<KeyVersion>,
}

impl AriaHeader {
    /// Reads the header of an index file.
    ///
    /// # Errors
    /// [`ScanError::EmptyFile`], [`ScanError::NotRecognised`], [`ScanError::Io`].
    pub fn read<R: ReadAt + ?Sized>(index_file: &R) -> Result<Self, ScanError> {
        // The header's length is a 16-bit number.
        let mut buf = vec![0; 1 << 16];
        match fill(index_file, 0, &mut buf)? {
            [] => Err(ScanError::EmptyFile),
            head => Self::parse(head).ok_or(ScanError::NotRecognised { expected: "index file of an Aria table" }),
        }
    }

    /// Source: `ma_open.c` (`_ma_state_info_write_sub`, `_ma_base_info_write`), all big-endian.
    fn parse(head: &[u8]) -> Option<Self> {
        const OPTIONS_AT: usize = 4;
        const BASE_AT: usize = 12;
        const OPEN_COUNT_AT: usize = 24;
        const CHANGED_AT: usize = 26;
        const INDEX_BYTES_AT: usize = 89;
        const DATA_BYTES_AT: usize = 97;
        const KEY_START_IN_BASE: usize = 16;
        const OPTION_TEMPORARY: u16 = 16;
        const OPTION_PAGE_CHECKSUM: u16 = 2048;
        // Crashed, and crashed during repair. Bit 1, changed since the last repair, stays set when the table is closed:
        // seen on MariaDB 10.11.
        const NOT_CLOSED: u16 = 2 | 4;
        let mut table = recognise_table(head)?;
        let header_bytes = as_usize(u64::from(table.header_bytes));
        let record = head.range(header_bytes.saturating_sub(CryptRecord::BYTES), header_bytes);
        let crypt = CryptRecord::parse(record);
        let disagreement = crypt.is_some() && !table.encrypted;
        table.encrypted |= disagreement;
        let base = usize::from(head.be16(BASE_AT)?);
        Some(Self {
            table,
            temporary: head.be16(OPTIONS_AT)? & OPTION_TEMPORARY != 0,
            page_checksums: head.be16(OPTIONS_AT)? & OPTION_PAGE_CHECKSUM != 0,
            crypt: crypt.filter(|_| table.encrypted),
            disagreement,
            key_start: head.be64(base.checked_add(KEY_START_IN_BASE)?)?,
            data_bytes: head.be64(DATA_BYTES_AT)?,
            index_bytes: head.be64(INDEX_BYTES_AT)?,
            closed: head.be16(OPEN_COUNT_AT)? == 0 && head.be16(CHANGED_AT)? & NOT_CLOSED == 0,
            proven: Vec::new(),
        })
    }

    /// Adds what the report of the table's other file proves about the key, which both files share.
    #[must_use]
    pub fn with_other_file(self, other: &FileReport) -> Self {
        let doubted = other.findings.iter().any(|finding| matches!(finding.check, Check::Key | Check::KeyOpens));
        let decrypted = other.units.encrypted > 0 && other.verdict != Verdict::Unverifiable && !doubted;
        match &other.key {
            Some(RequiredKey::MariaDb { versions, .. }) if decrypted => Self { proven: versions.clone(), ..self },
            _ => self,
        }
    }

    pub(super) const fn has_pages(&self) -> bool {
        matches!(self.table.row_format, RowFormat::Page)
    }

    /// Checks the header itself.
    pub(super) fn judge(&self, builder: &mut ReportBuilder) {
        let first_page = u64::from(self.table.header_bytes).next_multiple_of(u64::from(self.table.block_bytes.max(1)));
        if self.table.row_format == RowFormat::Unknown {
            builder.find(Some(0), Some(22), Check::Header, "no known row format");
        }
        if self.key_start != first_page {
            let detail = format!("index pages begin at {}, expected {first_page}", self.key_start);
            builder.find(Some(0), Some(0), Check::Header, detail);
        }
        self.judge_key_info(builder);
    }

    pub(super) fn judge_key_info(&self, builder: &mut ReportBuilder) {
        let at = u64::from(self.table.header_bytes).saturating_sub(as_u64(CryptRecord::BYTES));
        if self.table.encrypted && self.crypt.is_none() {
            builder
                .bad_key_info(Some(at), "the table is encrypted, but the scheme of its encryption record is unknown");
        }
        if self.disagreement {
            builder.find(Some(0), Some(at), Check::KeyInfo, DISAGREEMENT);
        }
    }
}
