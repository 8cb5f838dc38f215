//! LUKS1 and LUKS2 headers: parse, judge, compare, back up; `cryptsetup` driven for what touches keys.
//!
//! [`read()`] finds the header copies on a device or in a file and says what is damaged; [`audit()`] judges
//! what it found. Both read bytes only: no key is needed, none is derived, and no cost that a header asks
//! for is ever computed. Everything is read through [`files::ReadAt`]. [`backup`] saves headers and puts them back,
//! [`key`] adds and rotates keys, [`key_source`] fetches
//! one at boot, [`device`] makes, opens and mounts volumes, all by driving [`cryptsetup`]. [`sector`]
//! encrypts sectors as the kernel does, to tell what a cipher costs.
//!
//! All input is hostile: nothing here panics, and memory is bounded by the largest metadata area that the
//! format knows (4 MiB).
//!
//! Sources: "LUKS On-Disk Format Specification" 1.2.3 (LUKS1), "LUKS2 On-Disk Format Specification" 1.1.3;
//! both confirmed on headers that cryptsetup 2.6.1 wrote (testdata/luks).
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
mod volume;

pub use crate::error::LuksError;
pub use crate::finding::{Code, Finding, Severity};
pub use crate::judge::{DeviceInfo, Relation, Report, SCHEMA, audit, audit_path, compare};
pub use crate::kdf::Kdf;
pub use crate::read::{Readable, Reading, read};
pub use crate::secret::Secret;
pub use crate::summary::HeaderSummary;
pub use crate::volume::{Digest, Format, Integrity, Segment, Slot, Volume};
