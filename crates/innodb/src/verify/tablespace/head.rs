//! What page 0 says, and the key it names.

use files::ReadAt;

use crate::{
    bytes::{Bytes, as_usize},
    crypt::mysql::{self, TablespaceKey, UnwrapFault, WrappedKey},
    error::ScanError,
    ids::SpaceId,
    page::{
        checksum::Checksum,
        layout::{MAX_PAGE_BYTES, TRX_SYS_PAGE},
    },
    read::fill,
    tablespace::{Disagreement, Encryption, Family, Page0, TablespaceKind, doublewrite_area_of, doubtful_encryption},
    verify::{
        Check, ReportBuilder, RequiredKey,
        tablespace::{
            Expected, Options,
            decryptor::{Decryptor, MariaDbDecryptor},
        },
    },
};

pub(super) struct Head<'a> {
    pub(super) page0: Page0,
    pub(super) first_page: u64,
    pub(super) decryptor: Decryptor<'a>,
    pub(super) expected: Expected,
    pub(super) key: Option<RequiredKey>,
    pub(super) builder: ReportBuilder,
}

pub(super) fn read<'a, R: ReadAt + ?Sized>(source: &R, options: &Options<'a>) -> Result<Head<'a>, ScanError> {
    let mut buf = vec![0; MAX_PAGE_BYTES];
    let (page0, first_page, bytes) = match &options.continues {
        Some((continuation, page)) => {
            (continuation.page0.clone(), u64::from(continuation.first_page.0), page.as_slice())
        }
        None => {
            let (page0, bytes) = read_page0(source, &mut buf)?;
            (doubtful_encryption::settle(page0, source), 0, bytes)
        }
    };
    let page0 = without_doubtful_kind(page0);
    let info_at = page0.info_offset();
    let mut builder = ReportBuilder::default();
    let (decryptor, key) = decryptor(&page0, bytes, info_at, options, &mut builder);
    check_page0(&page0, info_at, &decryptor, &mut builder);
    let expected = expected(&page0, mysql::operation_in_progress(bytes, info_at));
    Ok(Head { page0, first_page, decryptor, expected, key, builder })
}

fn read_page0<'b, R: ReadAt + ?Sized>(source: &R, buf: &'b mut [u8]) -> Result<(Page0, &'b [u8]), ScanError> {
    for pause in files::page_reread_pauses(super::TRIES) {
        let bytes = fill(source, 0, buf)?;
        match Page0::parse(bytes) {
            Ok(page0) if page0.checksum.is_ok() => break,
            Err(crate::Page0Fault::Short { .. } | crate::Page0Fault::Empty) => break,
            _ => source.pause(pause),
        }
    }
    let read = fill(source, 0, buf)?.len();
    let bytes = buf.get(..read).unwrap_or_default();
    Ok((Page0::parse_damaged(bytes)?, bytes))
}

/// Damage in a temporary tablespace is tolerated, so a damaged flag must not make a tablespace
/// temporary. Before 8.0, and for session tables, only the flag marks a tablespace as temporary.
fn without_doubtful_kind(mut page0: Page0) -> Page0 {
    let by_flag = match page0.kind {
        TablespaceKind::SessionTemporary => true,
        TablespaceKind::GlobalTemporary => page0.family == Family::Undetermined,
        _ => false,
    };
    if page0.checksum == Checksum::Mismatch && by_flag {
        page0.kind = TablespaceKind::FilePerTable;
    }
    page0
}

pub(super) const fn is_temporary(kind: TablespaceKind) -> bool {
    matches!(kind, TablespaceKind::GlobalTemporary | TablespaceKind::SessionTemporary)
}

/// Whether encryption information in a temporary tablespace is left over from an earlier use: its
/// flags say that there is none.
fn is_left_over(page0: &Page0) -> bool {
    is_temporary(page0.kind) && page0.disagreement == Some(Disagreement::InfoWithoutFlag)
}

fn decryptor<'a>(
    page0: &Page0,
    bytes: &[u8],
    info_at: usize,
    options: &Options<'a>,
    builder: &mut ReportBuilder,
) -> (Decryptor<'a>, Option<RequiredKey>) {
    let at = Some(crate::bytes::as_u64(info_at));
    match &page0.encryption {
        Encryption::MySql { .. } if is_left_over(page0) => (Decryptor::None, None),
        Encryption::MySql { .. } => {
            let Some(wrapped) = WrappedKey::parse(bytes.range(info_at, bytes.len())) else {
                builder.bad_key_info(at, "the encryption information is cut off");
                return (Decryptor::Closed, None);
            };
            let key = RequiredKey::MySql {
                name: wrapped.master_key_name(),
                master_key_id: wrapped.master_key_id,
                server_uuid: wrapped.server_uuid.clone(),
            };
            (mysql_decryptor(page0, &wrapped, at, options, builder), Some(key))
        }
        Encryption::MariaDb { key_id, .. } => match MariaDbDecryptor::new(bytes, info_at, options.keys) {
            Some(decryptor) => {
                let key =
                    page0.declares_encryption().then(|| RequiredKey::MariaDb { key_id: *key_id, versions: Vec::new() });
                (Decryptor::MariaDb(decryptor), key)
            }
            None if !page0.declares_encryption() => (Decryptor::None, None),
            None => {
                builder.bad_key_info(at, "the crypt data is cut off");
                (Decryptor::Closed, None)
            }
        },
        Encryption::PerconaKeyring { scheme: 0, .. } => (Decryptor::None, None),
        Encryption::PerconaKeyring { magic, .. } => {
            builder.find(
                Some(0),
                at,
                Check::Unknown,
                format!("Percona's keyring encryption ({magic}) is not supported"),
            );
            (Decryptor::Unknown, None)
        }
        Encryption::None => {
            let closed = without_info(page0, at, builder);
            (if closed { Decryptor::Closed } else { Decryptor::None }, None)
        }
    }
}

/// Checks whether there should be encryption information. MySQL does not clear its place in
/// temporary tablespaces that it reuses or recreates.
fn without_info(page0: &Page0, at: Option<u64>, builder: &mut ReportBuilder) -> bool {
    match page0.disagreement {
        Some(Disagreement::UnknownInfo | Disagreement::FlagWithoutInfo) if is_temporary(page0.kind) => false,
        Some(Disagreement::FlagWithoutInfo) => {
            builder.bad_key_info(at, "the tablespace is flagged encrypted, but page 0 holds no encryption information");
            true
        }
        Some(Disagreement::UnknownInfo) => {
            builder.bad_key_info(at, "the bytes in place of the encryption information are not valid");
            true
        }
        _ => false,
    }
}

fn mysql_decryptor<'a>(
    page0: &Page0,
    wrapped: &WrappedKey,
    at: Option<u64>,
    options: &Options<'a>,
    builder: &mut ReportBuilder,
) -> Decryptor<'a> {
    let malformed = wrapped.server_uuid.is_none() && wrapped.magic != crate::tablespace::MySqlMagic::V1;
    if malformed && !wrapped.is_bootstrap() {
        builder.bad_key_info(at, "the encryption information names no server uuid");
    }
    let exported = options.export_key.as_ref().filter(|key| key.is_inside(wrapped));
    let failure = match wrapped.unwrap(options.keys) {
        Ok(key) => return with_key(key),
        Err(_) if exported.is_some() => return exported.cloned().map_or(Decryptor::Closed, with_key),
        Err(failure) => failure,
    };
    let name = wrapped.master_key_name();
    match failure {
        UnwrapFault::NoStore => builder.unproven(),
        UnwrapFault::Missing => {
            builder.find(Some(0), at, Check::Key, format!("the keyring has no key {name}"));
        }
        _ if page0.checksum.is_ok() => {
            let detail =
                format!("key {name} does not unwrap the tablespace's key: its checksum fails, page 0 is sound");
            builder.find(Some(0), at, Check::KeyOpens, detail);
        }
        _ => {
            builder.bad_key_info(at, format!("key {name} does not unwrap the tablespace's key, and page 0 is damaged"))
        }
    }
    Decryptor::Closed
}

fn with_key<'a>(key: TablespaceKey) -> Decryptor<'a> {
    match key.cipher() {
        Ok(cipher) => Decryptor::MySql { key, cipher: Box::new(cipher) },
        Err(_) => Decryptor::Closed,
    }
}

/// Page 0 of an encrypted tablespace holds the key: if its checksum fails, the key information is
/// uncertain unless a key proved it. The page itself is judged with all others.
fn check_page0(page0: &Page0, info_at: usize, decryptor: &Decryptor<'_>, builder: &mut ReportBuilder) {
    if page0.checksum == Checksum::Mismatch && page0.declares_encryption() {
        let proven = match decryptor {
            Decryptor::MySql { .. } => "; the key on it is intact",
            _ => "",
        };
        let at = crate::bytes::as_u64(info_at);
        builder.bad_key_info(Some(at), format!("page 0, which holds the encryption information, is damaged{proven}"));
    }
    let contradiction = match page0.disagreement {
        // If MySQL 9.7 is killed while it rotates its master key, it continues at its next start
        // and then writes the information into these files, too.
        Some(Disagreement::InfoWithoutFlag) if is_left_over(page0) => {
            let detail = "encryption information without the flag, in a file that is recreated at every start";
            return builder.find(Some(0), Some(crate::bytes::as_u64(info_at)), Check::Stale, detail);
        }
        Some(Disagreement::InfoWithoutFlag) => "page 0 holds encryption information, but is not flagged encrypted",
        Some(Disagreement::SchemeAgainstMode) => "scheme and ENCRYPTED option of the crypt data contradict each other",
        Some(Disagreement::UnknownInfo) if matches!(decryptor, Decryptor::MariaDb(_)) => {
            "the crypt data has an unknown scheme"
        }
        _ => return,
    };
    builder.bad_key_info(Some(crate::bytes::as_u64(info_at)), contradiction);
}

/// Source: docs/formats, "Undo tablespaces", "Encryption info on page 0" (operation in progress) and the pitfall of
/// "Page encryption": MariaDB's minimum key version is 0 until the encryption threads are done.
fn expected(page0: &Page0, in_progress: bool) -> Expected {
    let either = match (&page0.encryption, page0.kind) {
        (Encryption::MariaDb { min_key_version, .. }, _) if min_key_version.0 == 0 => true,
        (_, TablespaceKind::Undo | TablespaceKind::System) => true,
        _ => in_progress,
    };
    match (page0.declares_encryption() && !is_left_over(page0), either) {
        (false, _) => Expected::Clear,
        (true, true) => Expected::Either,
        (true, false) => Expected::Encrypted,
    }
}

/// The doublewrite area of a system tablespace, as two ranges of pages.
pub(super) fn doublewrite_area<R: ReadAt + ?Sized>(source: &R, head: &Head<'_>) -> Result<[(u64, u64); 2], ScanError> {
    let page_bytes = u64::from(head.page0.physical_page_bytes);
    if head.page0.space_id != SpaceId(0) || head.first_page != 0 {
        return Ok([(0, 0); 2]);
    }
    let mut buf = vec![0; as_usize(page_bytes)];
    let page = fill(source, TRX_SYS_PAGE.saturating_mul(page_bytes), &mut buf)?;
    Ok(doublewrite_area_of(page, head.page0.logical_page_bytes))
}

/// Whether the family is one of MariaDB's.
pub(super) const fn is_mariadb(family: Family) -> bool {
    matches!(family, Family::MariaDbFullCrc32 | Family::MariaDbLegacy)
}
