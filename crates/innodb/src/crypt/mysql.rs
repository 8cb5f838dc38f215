//! MySQL tablespace encryption: the wrapped key of page 0, and pages.
//!
//! A master key of the keyring wraps a random key and initialisation vector per tablespace. They
//! encrypt every page but page 0, with the same vector for every page, so that encrypting a
//! decrypted page gives identical bytes.
//!
//! Source: docs/formats, "MySQL tablespace encryption (InnoDB TDE)"; `lCC` and all page sizes confirmed on testdata.
//! `lCA`, `lCB` and page compression version 1 confirmed on synthetic files only.

mod key;
mod page;

pub(crate) use self::key::operation_in_progress;
pub use self::{
    key::{TablespaceKey, UnwrapFault, WrappedKey, export_key},
    page::{DecryptedPage, PageCipher, PageEncryption, PageEncryptor},
};
