//! Encryption of each format, exactly as its server does it.
//!
//! *Open* decrypts the bytes on disk, *seal* encrypts them again to identical bytes. Nothing here
//! decides whether the content is sound: see [`verify`](crate::verify).

pub mod aes;
pub mod aria;
pub mod binlog;
pub mod lockstep;
pub mod mariadb;
pub mod mysql;
pub mod redo;
pub mod wrapped;
