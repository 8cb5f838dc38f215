//! Named objects that never change.
//!
//! An object is put under a name that nothing has yet, whole and on disk or not at all, and stays as it is. What the
//! objects are, this crate does not know. [`Directory`] keeps them as files; [`conformance`] is what every store has to pass.
#![forbid(unsafe_code)]

pub mod conformance;
mod directory;
mod error;
mod name;

use std::{fmt, io::Read, ops::Range};

pub use crate::directory::Directory;
pub use crate::error::StoreError;
pub use crate::name::{Name, NoName};

/// What became of an object that was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is there now.
    New,
    /// Something has that name already, and is as it was.
    Exists,
}

/// An object, as a list has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: Name,
    /// How long it is.
    pub bytes: u64,
}

/// Keeps objects. Used by several threads at once.
pub trait Store: fmt::Debug + Send + Sync {
    /// Puts an object of so many bytes, unless something has that name.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is there then under that name.
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

    /// All objects whose name begins so, in the order of their names. `prefix` is empty or ends with `/`.
    ///
    /// # Errors
    /// [`StoreError`].
    fn list(&self, prefix: &str) -> Result<Vec<Listed>, StoreError>;

    /// Where it is, for people.
    fn location(&self) -> String;
}
