//! The state of a migration, in its own schema at the target, so that it is as durable as the rows.
//!
//! The transaction that loads a chunk also marks it as loaded, and the transaction that applies changes also stores the
//! position after them. Nothing is stored anywhere else.

mod accounts;
mod chunks;
mod creating;
mod epoch;
mod layout;
mod position;
mod run;
mod target_log;

use data_encoding::HEXLOWER;

pub use self::run::Phase;
pub(crate) use self::{
    accounts::{CreatedAccount, accounts, add_account, remove_account},
    chunks::{chunks, copied, copies_of_chunks, mark_loaded, mark_touched, mark_verified, touches, unverify},
    creating::{begin_creating, creating},
    epoch::{begin_epoch, require_epoch},
    layout::{Beginning, begin, compare_tables, is_encrypted, remove, require_whole, store_beginning, table_names},
    position::{log_file, position, position_text, snapshots, store_log_file, store_position, store_snapshot},
    run::{
        Run, SwitchEnd, end_fallback, heartbeat, run, set_fencing, set_lifted, set_paused, set_phase, set_step,
        set_switched,
    },
    target_log::{foreign_write, give_up_target_log, store_target_log, target_log},
};
use crate::{
    Error, Side,
    key::{Key, KeyColumns},
};

fn failed(error: server::Error) -> Error {
    Error::at(Side::Target)(error)
}

/// A key as hexadecimal texts with commas between them.
fn key_text(key: &Key) -> String {
    key.texts().map(hex).collect::<Vec<_>>().join(",")
}

fn key_from(text: &str, columns: &KeyColumns) -> Option<Key> {
    let parts: Result<Vec<_>, _> = text.split(',').map(|part| HEXLOWER.decode(part.as_bytes())).collect();
    columns.parse(parts.ok()?.iter().map(Vec::as_slice))
}

/// A table's name from its hexadecimal text.
fn name(text: &str) -> Option<String> {
    HEXLOWER.decode(text.as_bytes()).ok().and_then(|name| String::from_utf8(name).ok())
}

fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}
