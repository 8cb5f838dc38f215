//! Random numbers, so that what two processes name at the same time has different names.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
};

/// A random number. Not for secrets.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
