//! Named objects that never change.
//!
//! [`Store::put_new`] writes a new object completely and durably, or not at all; it never replaces one. The crate does
//! not interpret objects. [`Directory`] stores them as files, [`S3`] in a bucket, and the feature `clouds` in those of
//! Azure and Google; `tests/support/conformance.rs` tests every implementation.
#![forbid(unsafe_code)]

#[cfg(feature = "clouds")]
pub mod clouds;
mod directory;
mod error;
mod name;
pub mod s3;
pub mod s3_action;
mod s3_fault;
mod wrapper;

use std::{
    collections::BTreeSet,
    fmt,
    io::{Read, Seek},
    ops::Range,
};

use jiff::{SignedDuration, Timestamp};

pub use crate::directory::Directory;
pub use crate::error::Error;
pub use crate::name::{InvalidName, Name};
pub use crate::s3::S3;
pub use crate::wrapper::Wrapper;

/// Schemes of the URLs of Azure Blob Storage and Google Cloud Storage, which need the feature `clouds`.
pub const CLOUD_SCHEMES: [&str; 2] = ["az://", "gs://"];

/// Result of [`Store::put_new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The object was written.
    New,
    /// An object of that name exists; it was not changed.
    Exists,
    /// An object of that name exists, and may be the one to be put: the store's answer to an earlier attempt was lost.
    Unclear,
}

/// An entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Name of the object.
    pub name: Name,
    /// Length in bytes.
    pub bytes: u64,
    /// When it was put, by the store's clock.
    pub modified: Timestamp,
    /// Entity tag: changes with the content. `None` if the store has none.
    pub etag: Option<Box<str>>,
}

/// A version of an object in a store that keeps replaced and deleted ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its id.
    pub id: String,
    /// Length in bytes.
    pub bytes: u64,
}

/// Result of [`Store::delete`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// The object no longer exists, in any version.
    Done,
    /// A lock protects the object.
    Locked,
}

/// The lock of an object after [`Store::extend_lock`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockState {
    /// When it ends; `None` if the object is not locked.
    pub until: Option<Timestamp>,
    /// Whether it was extended.
    pub is_extended: bool,
    /// Whether the object was locked before.
    pub was_locked: bool,
}

/// A set of named objects, shared by several threads.
pub trait Store: fmt::Debug + Send + Sync {
    /// Writes an object of `bytes` bytes, unless one of that name exists. The body is read from its start.
    ///
    /// # Errors
    /// [`Error`]; the store then has no object of that name.
    fn put_new(&self, name: &Name, body: &mut dyn Body, bytes: u64) -> Result<Put, Error>;

    /// Reads an object, or a range of it.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is no such object, or any other error.
    fn get(&self, name: &Name, range: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, Error>;

    /// Reads an object of a listing.
    ///
    /// # Errors
    /// As [`Self::get`]; in a store with entity tags, also if the object was replaced after the listing.
    fn get_listed(&self, listed: &Listed) -> Result<Box<dyn Read + Send>, Error> {
        self.get(&listed.name, None)
    }

    /// Versions of an object that are not the newest, the oldest first: those that were replaced, or deleted by
    /// somebody who may not delete versions. Empty in a store without versions.
    ///
    /// # Errors
    /// [`Error`].
    fn older_versions(&self, _name: &Name) -> Result<Vec<Version>, Error> {
        Ok(Vec::new())
    }

    /// Reads a version of an object.
    ///
    /// # Errors
    /// As [`Self::get`].
    fn get_version(&self, name: &Name, _version: &Version) -> Result<Box<dyn Read + Send>, Error> {
        Err(Error::Missing { location: self.location(), name: name.clone() })
    }

    /// Length of an object; `None` if there is none of that name.
    ///
    /// # Errors
    /// [`Error`].
    fn head(&self, name: &Name) -> Result<Option<u64>, Error>;

    /// Lists the objects whose names begin with `prefix`, sorted by name. `prefix` is empty or ends with `/`.
    ///
    /// # Errors
    /// [`Error`].
    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error>;

    /// Calls `visit` with each object whose name begins with `prefix`, in no particular order. Unlike [`Self::list`], a
    /// bucket is never in memory as a whole. `prefix` is empty or ends with `/`.
    ///
    /// # Errors
    /// [`Error`], also after some objects were visited.
    fn visit(&self, prefix: &str, visit: &mut dyn FnMut(Listed)) -> Result<(), Error> {
        self.list(prefix)?.into_iter().for_each(visit);
        Ok(())
    }

    /// The parts of names that follow `prefix` up to the next `/`, each once, sorted. `prefix` is empty or ends with `/`.
    ///
    /// # Errors
    /// [`Error`].
    fn children(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let listed = self.list(prefix)?;
        let child = |listed: &Listed| Some(listed.name.as_str().strip_prefix(prefix)?.split_once('/')?.0.to_owned());
        Ok(listed.iter().filter_map(child).collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// Deletes an object, and the older versions that this reveals. Succeeds if there is none.
    ///
    /// # Errors
    /// [`Error`].
    fn delete(&self, name: &Name) -> Result<Deletion, Error>;

    /// How long new objects are locked; `None` if they are not.
    fn lock(&self) -> Option<SignedDuration> {
        None
    }

    /// Renews the lock of an object to that of a new one, if less than half of its time is left. Returns the lock that
    /// the object then has, which is none in a store without locks.
    ///
    /// # Errors
    /// [`Error`].
    fn extend_lock(&self, _name: &Name) -> Result<LockState, Error> {
        Ok(LockState::default())
    }

    /// When the lock of an object ends, or has ended; `None` if it has none, there is none of that name, or the store has
    /// no locks.
    ///
    /// # Errors
    /// [`Error`].
    fn lock_end(&self, _name: &Name) -> Result<Option<Timestamp>, Error> {
        Ok(None)
    }

    /// The time by the store's clock, by which its objects are dated, as far as it is known: that of this host, unless
    /// the store has refused it.
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// Whether [`Self::put_new`] reads the whole body once before it sends it.
    fn reads_before_sending(&self) -> bool {
        false
    }

    /// Whether [`Self::put_new`] has a copy of the whole body in memory.
    fn copies_bodies(&self) -> bool {
        false
    }

    /// The store's address, for messages.
    fn location(&self) -> String;

    /// Warnings from operations that succeeded.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The content of a new object. It may be read several times.
pub trait Body: Read + Seek {}

impl<B: Read + Seek> Body for B {}
