//! Encryption of each format, exactly as its server does it.
//!
//! Encrypting decrypted bytes gives the original bytes. Nothing here decides whether the content is valid: see
//! [`verify`](crate::verify).

pub mod aes;
pub mod aria;
pub mod binlog;
pub mod mariadb;
pub mod multi_buffer;
pub mod mysql;
pub mod redo;
pub mod wrapped;

/// Why a page cannot be decrypted or encrypted at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CryptFault {
    /// The page is not marked as encrypted: MySQL marks it by type, MariaDB by key version.
    #[error("not an encrypted page")]
    NotEncrypted,
    /// A length in the page's header does not fit the page.
    #[error("the stored length does not fit the page")]
    Length,
    /// MySQL, page compression version 1: the page does not decompress with any file system block size.
    #[error(
        "the page is compressed, and no block size of a file system gives a length with which it can be decompressed"
    )]
    NoLength,
    /// The cipher library failed.
    #[error(transparent)]
    Cipher(#[from] aes::CipherFault),
}
