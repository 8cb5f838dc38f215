//! Files and file systems: atomic writes, opening regular files only, reads at any offset that spare the page cache,
//! configuration files in TOML, numbers with units, and the file system that holds a path, with its free space.
#![forbid(unsafe_code)]

pub mod accounts;
mod atomic;
mod backoff;
mod cached;
mod checksum;
mod direct_copy;
mod directory;
mod fill;
pub mod mounts;
pub mod proc;
pub mod quantity;
mod read_at;
pub mod regular;
pub mod runtime;
pub mod secret;
mod space;
pub mod toml;
mod unnamed;
mod zero;

pub use atomic::{PendingFile, SavedFile, WriteOptions, check_writable, parent, sync_parent, write_atomic};
pub use backoff::{Backoff, page_reread_pauses, reread_pauses};
pub use cached::{Buffer, Reader, evict};
pub use checksum::sha256_hex;
pub use directory::{LOST_AND_FOUND, MANIFEST, STAGING, create_directory, open_directory_without_links};
pub use fill::{fill, read_wiped};
pub use read_at::{ReadAt, ReadError, read_bytes, read_up_to};
pub use space::{free_bytes, free_bytes_at, is_disk_full};
pub use unnamed::{is_unnamed_unsupported, unnamed_file, without_name};
pub use zero::all_zero;
