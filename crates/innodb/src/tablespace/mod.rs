//! Tablespaces: what page 0 declares, and what the other pages show.

mod copies;
pub(crate) mod doubtful_encryption;
mod encryption;
mod found;
mod page0;
mod scan;
mod trx_sys;

pub use crate::page::family::Family;
pub(crate) use copies::CopyCounter;
pub use copies::{DoublewriteCopies, SpacePages};
pub use encryption::{Disagreement, Encryption, MariaDbMode, MySqlMagic};
pub(crate) use encryption::{MARIADB_MAGIC, is_uuid};
pub use found::{ClearPage, ForeignPage, KeyVersionPages, PageCounts, TablespaceScan, Truncation};
pub(crate) use page0::XDES_ARRAY;
pub use page0::{Page0, TablespaceKind};
pub use scan::{Continuation, Depth, ScanOptions, scan};
pub(crate) use trx_sys::doublewrite_area_of;
