//! Stores that change some operations of another store.

use std::{fmt, io::Read, ops::Range};

use jiff::{SignedDuration, Timestamp};

use crate::{Body, Deletion, Error, Listed, LockState, Name, Put, Store, Version};

/// Declares [`Wrapper`] with all methods of [`Store`], and implements [`Store`] for every wrapper.
macro_rules! wrapper {
    ($(fn $method:ident(&self $(, $argument:ident: $type:ty)*) -> $result:ty;)*) => {
        /// A store that answers like another one, except for the methods that it has itself.
        pub trait Wrapper: fmt::Debug + Send + Sync {
            /// The store that answers otherwise.
            fn inner(&self) -> &dyn Store;

            $(
                #[doc = concat!("Takes the place of [`Store::", stringify!($method), "`].")]
                fn $method(&self $(, $argument: $type)*) -> $result {
                    self.inner().$method($($argument),*)
                }
            )*
        }

        // A method with a default in `Store` could be forgotten here, and would then not reach the inner store.
        #[deny(clippy::missing_trait_methods)]
        impl<W: Wrapper> Store for W {
            $(
                fn $method(&self $(, $argument: $type)*) -> $result {
                    Wrapper::$method(self $(, $argument)*)
                }
            )*
        }
    };
}

wrapper! {
    fn put_new(&self, name: &Name, body: &mut dyn Body, bytes: u64) -> Result<Put, Error>;
    fn get(&self, name: &Name, range: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, Error>;
    fn get_listed(&self, listed: &Listed) -> Result<Box<dyn Read + Send>, Error>;
    fn older_versions(&self, name: &Name) -> Result<Vec<Version>, Error>;
    fn get_version(&self, name: &Name, version: &Version) -> Result<Box<dyn Read + Send>, Error>;
    fn head(&self, name: &Name) -> Result<Option<u64>, Error>;
    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error>;
    fn visit(&self, prefix: &str, visit: &mut dyn FnMut(Listed)) -> Result<(), Error>;
    fn children(&self, prefix: &str) -> Result<Vec<String>, Error>;
    fn delete(&self, name: &Name) -> Result<Deletion, Error>;
    fn lock(&self) -> Option<SignedDuration>;
    fn extend_lock(&self, name: &Name) -> Result<LockState, Error>;
    fn lock_end(&self, name: &Name) -> Result<Option<Timestamp>, Error>;
    fn now(&self) -> Timestamp;
    fn reads_before_sending(&self) -> bool;
    fn copies_bodies(&self) -> bool;
    fn location(&self) -> String;
    fn warnings(&self) -> Vec<String>;
}
