//! The report on a check for scripts.

use serde::Serialize;

use super::{BadObject, Checked};

/// Schema of the report of a check.
pub(crate) const SCHEMA: &str = "sealant.backup-check/1";

/// A check of a repository, schema `sealant.backup-check/1`.
#[derive(Debug, Serialize)]
pub struct CheckReport<'r> {
    schema: &'static str,
    host: &'r str,
    receipts: u64,
    objects: Objects<'r>,
    chain: Vec<String>,
    signed: bool,
    /// Fingerprint of the newest receipt's signer, if signatures were verified.
    signer: Option<&'r str>,
    newest_known: bool,
    percent_done: u8,
    unnamed: &'r [String],
}

#[derive(Debug, Serialize)]
struct Objects<'r> {
    named: u64,
    present: u64,
    read: u64,
    bad: &'r [BadObject],
}

impl<'r> CheckReport<'r> {
    /// Report of a check of a host's backups.
    #[must_use]
    pub fn new(host: &'r str, checked: &'r Checked) -> Self {
        let Checked { named, present, read, .. } = *checked;
        Self {
            schema: SCHEMA,
            host,
            receipts: checked.receipts,
            objects: Objects { named, present, read, bad: &checked.bad },
            chain: checked.breaks.iter().map(ToString::to_string).collect(),
            signed: checked.signed,
            signer: checked.signer.as_deref(),
            newest_known: checked.newest_known,
            percent_done: checked.percent_done,
            unnamed: &checked.unnamed,
        }
    }
}
