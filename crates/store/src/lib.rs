//! Named objects that never change.
//!
//! [`Store::put_new`] writes a new object completely and durably, or not at all; it never replaces one. The crate does
//! not look into objects. [`Directory`] stores them as files; [`conformance`] tests every implementation.
#![forbid(unsafe_code)]

pub mod conformance;
mod directory;
mod error;
mod name;

use std::{fmt, io::Read, ops::Range};

pub use crate::directory::Directory;
pub use crate::error::StoreError;
pub use crate::name::{InvalidName, Name};

/// Result of [`Store::put_new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The object was written.
    New,
    /// An object of that name exists; it was not changed.
    Exists,
}

/// An entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Name of the object.
    pub name: Name,
    /// Length in bytes.
    pub bytes: u64,
}

/// A set of named objects, shared by several threads.
pub trait Store: fmt::Debug + Send + Sync {
    /// Writes an object of `bytes` bytes, unless one of that name exists.
    ///
    /// # Errors
    /// [`StoreError`]; the store then has no object of that name.
    fn put_new(&self, name: &Name, body: &mut dyn Read, bytes: u64) -> Result<Put, StoreError>;

    /// Reads an object, or a range of it.
    ///
    /// # Errors
    /// [`StoreError::Missing`], and any other.
    fn get(&self, name: &Name, range: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, StoreError>;

    /// Length of an object; `None` if there is none of that name.
    ///
    /// # Errors
    /// [`StoreError`].
    fn head(&self, name: &Name) -> Result<Option<u64>, StoreError>;

    /// Lists the objects whose names begin with `prefix`, sorted by name. `prefix` is empty or ends with `/`.
    ///
    /// # Errors
    /// [`StoreError`].
    fn list(&self, prefix: &str) -> Result<Vec<Listed>, StoreError>;

    /// The store's address, for messages.
    fn location(&self) -> String;
}
