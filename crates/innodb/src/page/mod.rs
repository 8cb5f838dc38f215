//! One InnoDB page: header, flags, types, checksums, and whether it is encrypted.

pub mod checksum;
pub mod compressed;
pub mod decompress;
pub(crate) mod family;
pub mod flags;
pub mod header;
pub mod layout;
pub mod mariadb;
pub mod mysql;
pub mod state;
pub mod types;

pub(crate) use family::Family;
