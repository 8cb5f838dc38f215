//! Content of system tablespaces that the server cannot encrypt.

use innodb::tablespace::TablespaceScan;
use server::Capability;

use super::{Artefact, Artefacts, DeclaredEncryption};
use crate::facts::Facts;
use crate::facts::sql::SqlFacts;

/// Whether this server encrypts its system tablespace, or has encrypted it.
pub(crate) fn is_encryptable(facts: &Facts, artefacts: &Artefacts<'_>, file: &Artefact<'_>) -> bool {
    let mariadb = facts.sql.as_ref().map(SqlFacts::is_mariadb).or_else(|| artefacts.written_by_mariadb());
    mariadb == Some(true) || file.declared_encryption().is_some_and(|declared| declared != DeclaredEncryption::None)
}

/// User data in an ibdata1 that is not encrypted.
pub(crate) fn contents(facts: &Facts, scan: &TablespaceScan) -> Vec<String> {
    let mut found = Vec::new();
    if scan.change_buffer_pages > 0 {
        found.push(format!("{} pages of the change buffer", scan.change_buffer_pages));
    }
    if scan.clear_undo_pages > 0 {
        found.push(format!("{} undo pages", scan.clear_undo_pages));
    }
    let tables = scan.clear_index_pages.saturating_sub(scan.change_buffer_pages);
    // Before MySQL 8.0 it also contains the dictionary's own tables, and pages do not show to which table they belong.
    if tables > 0 && !holds_dictionary(facts, scan) {
        found.push(format!("{tables} index pages of tables"));
    }
    found
}

fn holds_dictionary(facts: &Facts, scan: &TablespaceScan) -> bool {
    match &facts.sql {
        Some(sql) => !sql.can(Capability::DictionaryTablespace),
        None => scan.page0.server_version.is_none(),
    }
}
