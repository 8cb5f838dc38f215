//! A key with everything that a MySQL keyring stores about it, so that it can be copied to another keyring.

use crate::{key::Key, record::NewKey};

/// A key of a keyring. Name and user together are its identity.
#[derive(Clone, Debug)]
pub struct StoredKey {
    /// Name of the key, such as `INNODBKey-<server uuid>-<number>`.
    pub name: String,
    /// The account that owns it; empty for the server's own keys.
    pub user: String,
    /// `AES`, or what a plug-in or user stored: `SECRET`, `RSA`, `DSA`.
    pub key_type: String,
    /// The key.
    pub key: Key,
}

impl StoredKey {
    /// Whether a server would treat both as the same key: equal name, user, type and bytes.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.user, &self.key_type) == (&other.name, &other.user, &other.key_type)
            && self.key.is_same(&other.key)
    }

    pub(crate) fn as_new(&self) -> NewKey<'_> {
        NewKey { name: &self.name, user: &self.user, key_type: &self.key_type, key: self.key.as_bytes() }
    }
}
