//! `sealant encrypt`: encrypts the clear-text data of a running server, in a safe order. Whether data is encrypted is
//! judged by the bytes on disk.

mod action;
mod binlogs;
pub(crate) mod clear;
mod doublewrite;
mod in_place;
mod job;
mod key_proof;
mod leftovers;
mod mariadb;
mod method;
mod mysql;
mod options;
mod pages;
mod plan;
mod privileges;
mod read_only;
mod redo;
mod report;
mod rewrite;
mod run;
mod scan;
pub(crate) mod undo;

use std::{path::PathBuf, time::Duration};

use crate::KeyStore;

pub use self::action::{EncryptAction, TableChange};
pub use self::job::{Preview, Records, User, carry_out, preview};
pub use self::leftovers::Leftover;
pub use self::method::{ASSUMED_RATE, Method, Room, TableMethod};
pub use self::options::{Options, Policy, ServerAccess};
pub use self::plan::EncryptPlan;
pub use self::report::{EncryptReport, SCHEMA};

/// Receives text for a status line.
pub type Progress<'p> = dyn Fn(&str) + 'p;

/// Files with keys, each with whether it is a copy; and the data directory.
type KeyStores = (Vec<(KeyStore, bool)>, PathBuf);

/// Polling interval of a waiting run.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
