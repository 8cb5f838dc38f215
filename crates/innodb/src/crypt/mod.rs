//! Opening and sealing: the encryption of each format, exactly as its server does it.
//!
//! *Open* turns the bytes on disk into the clear unit, *seal* turns it back into identical
//! bytes. Nothing here decides whether a unit is sound: see [`verify`](crate::verify).

pub mod aes;
pub mod aria;
pub mod binlog;
pub mod lockstep;
pub mod mariadb;
pub mod mysql;
pub mod redo;
pub mod wrapped;
