//! LUKS1 and LUKS2 headers: parses, judges, compares and backs them up; runs `cryptsetup` for everything that touches
//! keys.
//!
//! [`read()`] finds the header copies on a device or in a file and reports damage; [`audit()`] judges the result. Both
//! only read bytes: they need no key, derive none, and never compute a cost that a header demands. All reads go through
//! [`files::ReadAt`]. [`backup`] saves and restores headers, [`key`] adds and rotates keys, [`key_source`] fetches one
//! at boot, and [`device`] creates, opens and mounts volumes; all of these run [`cryptsetup`]. [`sector`] encrypts
//! sectors as the kernel does, to measure the cost of a cipher.
//!
//! All input is treated as hostile: nothing here panics on it, and memory is bounded by the largest metadata area of
//! the format (4 MiB).
//!
//! Sources: "LUKS On-Disk Format Specification" 1.2.3 (LUKS1), "LUKS2 On-Disk Format Specification" 1.1.3; both
//! confirmed with headers that cryptsetup 2.6.1 wrote (testdata/luks).
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]
#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, reason = "tests build their own bytes")
)]

pub mod backup;
pub mod boot;
mod bytes;
mod cipher;
pub mod cryptsetup;
pub mod device;
pub mod diff;
mod error;
mod finding;
mod judge;
mod kdf;
pub mod key;
pub mod key_source;
mod luks1;
mod luks2;
mod material;
pub mod plan;
mod read;
pub mod reencrypt;
mod secret;
pub mod sector;
mod summary;
mod usage_sign;
mod version;
mod volume;

pub use crate::error::Error;
pub use crate::finding::{Code, Finding};
pub use crate::judge::{DeviceInfo, Relation, Report, SCHEMA, audit, audit_path, compare};
pub use crate::kdf::{Kdf, RANDOM_KEY_ITERATIONS};
pub use crate::read::{Readable, Reading, read};
pub use crate::secret::Secret;
pub use crate::summary::HeaderSummary;
pub use crate::volume::{Digest, Format, Integrity, Segment, Slot, Volume};
