//! Tablespaces: what page 0 declares, and what the other pages show.

mod copies;
mod encryption;
mod found;
mod page0;
mod scan;

pub(crate) use copies::CopyCounter;
pub use copies::{DoublewriteCopies, SpacePages};
pub use encryption::{Disagreement, Encryption, MariaDbMode, MySqlMagic};
pub(crate) use encryption::{MARIADB_MAGIC, is_uuid};
pub use found::{ClearPage, ForeignPage, KeyVersionPages, PageCounts, TablespaceScan, Truncation};
pub(crate) use page0::XDES_ARRAY;
pub use page0::{Family, Page0, TablespaceKind};
pub(crate) use scan::doublewrite_area_of;
pub use scan::{Continuation, Depth, ScanOptions, scan};
