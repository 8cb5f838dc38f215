//! Human-readable reports on backups, restores and checks of repositories.

mod manifest;
mod repository;
mod restore;
mod run;

use std::{
    io::Write,
    sync::atomic::{AtomicU64, Ordering},
};

use archive::manifest::ExcludedFile;
use serde::Serialize;

use crate::{Error, Message, json, size, visible};

pub use self::manifest::{ManifestList, write_manifest_table};
pub use self::repository::{
    backup_check_messages, key_check_message, store_messages, write_backup_check_table, write_backup_list_table,
    write_key_check_table, write_receipt_table,
};
pub use self::restore::{restore_messages, restore_plan_messages, restore_progress, restore_status};
pub use self::run::{
    backup_copy_message, backup_copy_progress, backup_init_messages, backup_messages, backup_plan_messages,
    backup_progress,
};

/// Writes a document as one line of JSON.
///
/// # Errors
/// [`Error::Write`].
pub fn write_json_line(document: &impl Serialize, out: &mut dyn Write) -> Result<(), Error> {
    json::line(document, out)
}

fn left_out_messages(files: &[ExcludedFile]) -> impl Iterator<Item = Message> {
    files.iter().map(|file| Message::info(format!("not in the backup: {}: {}", visible(&file.path), file.why)))
}

/// Bytes done, of a total.
fn part(what: &str, done: &AtomicU64, all: &AtomicU64) -> String {
    let (done, all) = (done.load(Ordering::Relaxed), all.load(Ordering::Relaxed));
    let percent = done.saturating_mul(100).checked_div(all).unwrap_or(0).min(100);
    format!("{what} {} of {} ({percent} %)", size(done), size(all))
}
