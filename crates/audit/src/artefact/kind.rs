//! Kinds of artefacts, by what the server says, by the bytes of a file, or by its name.

use innodb::file_kind::{self, FileKind};
use innodb::file_suffix;
use innodb::page::checksum::Checksum;
use innodb::server_file;
use innodb::tablespace::{TablespaceKind, TablespaceScan};
use server::dialect::innodb::{DICTIONARY_SPACE, SYSTEM_SPACE, TEMPORARY_SPACE, UNDO_SPACES};

use super::Kind;
use crate::facts::files::{Content, FileFact};
use crate::facts::host::Role;
use crate::facts::sql::Tablespace;

/// MySQL lists `mysql` as a general tablespace and `innodb_temporary` as a system tablespace.
pub(super) fn kind_of_space(space: &Tablespace<'_>) -> Kind {
    match (space.name, space.kind) {
        (DICTIONARY_SPACE, _) | (_, "Mysql") => Kind::MysqlTablespace,
        (TEMPORARY_SPACE, _) | (_, "Temporary") => Kind::TemporaryTablespace,
        (SYSTEM_SPACE, _) | (_, "System") => Kind::SystemTablespace,
        (_, "General") => Kind::GeneralTablespace,
        (name, _) if name.starts_with(UNDO_SPACES) => Kind::Undo,
        (_, "Undo") => Kind::Undo,
        _ => Kind::Table,
    }
}

/// The kind of a file whose bytes do not show it: truncated, zeroed, unreadable.
pub(super) fn kind_by_name(file: &FileFact) -> Option<Kind> {
    let name = file.base_name();
    match file_kind::recognise(&[], name, 0) {
        Some(FileKind::Tablespace) => Some(kind_of_tablespace_name(name)),
        Some(FileKind::Redo) => Some(Kind::Redo),
        Some(FileKind::Doublewrite) => Some(Kind::Doublewrite),
        Some(FileKind::AriaData) => Some(Kind::AriaTable),
        Some(FileKind::AriaLog) => Some(Kind::AriaLog),
        Some(FileKind::MyisamData | FileKind::Archive | FileKind::Csv) => Some(Kind::PlainTable),
        Some(FileKind::GaleraCache) => Some(Kind::GaleraCache),
        _ if matches!(file.content, Content::Empty) || server_file::log_base(name).is_none() => None,
        _ => match file.role {
            Role::BinaryLog => Some(Kind::BinaryLog),
            Role::RelayLog => Some(Kind::RelayLog),
            _ => None,
        },
    }
}

fn kind_of_tablespace_name(name: &str) -> Kind {
    match name {
        server_file::DICTIONARY => Kind::MysqlTablespace,
        _ if server_file::is_system(name) => Kind::SystemTablespace,
        _ if server_file::is_temporary(name) => Kind::TemporaryTablespace,
        _ if server_file::is_undo(name) => Kind::Undo,
        _ => Kind::Table,
    }
}

/// Whether it is a further file of the system tablespace without any used page. The first file always has a page 0.
pub(super) fn is_unused_extension(scan: &TablespaceScan) -> bool {
    scan.kind == TablespaceKind::System && scan.complete && scan.counts.empty == scan.counts.total
}

/// Whether a table's file looks like part of the system tablespace because the id on page 0 is damaged.
pub(super) fn is_table_by_name(file: &FileFact, scan: &TablespaceScan) -> bool {
    let damaged = scan.page0.checksum == Checksum::Mismatch;
    damaged && scan.kind == TablespaceKind::System && file_suffix::has(file.base_name(), file_suffix::TABLESPACE)
}

/// The kind of a tablespace, by its pages.
pub(super) fn kind_of_scan(scan: &TablespaceScan) -> Kind {
    match scan.kind {
        TablespaceKind::General => Kind::GeneralTablespace,
        TablespaceKind::Dictionary => Kind::MysqlTablespace,
        TablespaceKind::System => Kind::SystemTablespace,
        TablespaceKind::Undo => Kind::Undo,
        TablespaceKind::GlobalTemporary | TablespaceKind::SessionTemporary => Kind::TemporaryTablespace,
        TablespaceKind::FilePerTable => Kind::Table,
    }
}

/// Whether it is a tablespace, except a temporary one.
pub(super) const fn is_tablespace(kind: Kind) -> bool {
    use Kind::{GeneralTablespace, MysqlTablespace, SystemTablespace, Table, Undo};
    matches!(kind, Table | GeneralTablespace | MysqlTablespace | SystemTablespace | Undo)
}
