//! One InnoDB page: header, flags, types, checksums, and whether it is encrypted.

pub mod checksum;
pub mod compressed;
pub mod decompress;
pub mod flags;
pub mod header;
pub mod layout;
pub mod state;
pub mod types;
