//! Files and file systems: what is written whole or not at all, opened only if it is a regular file, read at any offset
//! without spoiling the page cache, and which file system holds a path.
#![forbid(unsafe_code)]

pub mod accounts;
mod atomic;
mod cached;
mod checksum;
mod directory;
pub mod mounts;
mod read_at;
pub mod regular;
pub mod runtime;

pub use atomic::{PendingFile, SavedFile, WriteOptions, check_writable, parent, sync_parent, write_atomic};
pub use cached::{Buffer, Reader};
pub use checksum::sha256_hex;
pub use directory::{create_directory, open_directory_without_links};
pub use read_at::{ReadAt, ReadError, read_bytes, read_up_to};
