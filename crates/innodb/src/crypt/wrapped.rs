//! Keys that are stored wrapped at the start of MySQL's files, and wrapping them with another
//! master key: what a server does when it rotates its master key, but without a running server.
//!
//! Rotation changes only the start of a file: number and name of the master key, the wrapped key,
//! and on page 0 the page's checksum. The data that the key encrypts stays as it is.
//!
//! Source: docs/formats, "Encryption info on page 0", "Redo" and "MySQL binary / relay log encryption". Tested: MySQL
//! 9.7 reads files whose keys were wrapped here.

use std::fmt;

use zeroize::Zeroizing;

use crate::{
    binlog::MAGIC_ENCRYPTED,
    crypt::{
        aes::{Block, CipherFault},
        binlog::{MySqlHeader, StreamKey},
        mysql::{TablespaceKey, UnwrapFault, WrappedKey},
    },
    keys::{KeySource, MASTER_KEY_BYTES, MasterKey, binary_log_key_name},
    page::{
        checksum::{Checksum, update_checksum},
        layout::MAX_PAGE_BYTES,
    },
    redo::{INFO_OFFSET, RedoFormat, recognise},
    tablespace::{Encryption, MySqlMagic, Page0, is_uuid},
};

/// Bytes at the start of a file that are needed to find its key.
pub const HEAD_BYTES: usize = MAX_PAGE_BYTES;

/// A wrapped key, by the place where a file stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrapped {
    /// On page 0 of a tablespace.
    Tablespace(WrappedKey),
    /// In the header of a redo log file.
    Redo(WrappedKey),
    /// In the header of a binary or relay log.
    BinaryLog(MySqlHeader),
}

/// The unwrapped key or password. Wiped on drop.
pub enum Secret {
    /// The key of a tablespace or of the redo log.
    Space(TablespaceKey),
    /// The password of a binary log.
    Password(Zeroizing<[u8; MASTER_KEY_BYTES]>),
}

/// Why a file's key cannot be wrapped again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RewrapFault {
    /// The file holds no wrapped key.
    #[error("it holds no wrapped key")]
    None,
    /// Page 0 is damaged; a new checksum would hide that.
    #[error("the checksum of page 0 does not match")]
    Damaged,
    /// The file was encrypted by MySQL 5.7.11, which names its master keys by server id.
    #[error("its encryption information is that of MySQL 5.7.11, which cannot name the new master key")]
    Old,
    /// The key is not the one in the file.
    #[error("the given key is not the one it holds")]
    OtherKey,
    /// The uuid does not fit the format.
    #[error("the master key has no uuid in its name")]
    Name,
    /// The cipher library failed.
    #[error(transparent)]
    Cipher(#[from] CipherFault),
}

impl Wrapped {
    /// Finds the wrapped key in the first [`HEAD_BYTES`] of a file, or all of a shorter one; `None`
    /// if it has none, or is not a MySQL file.
    #[must_use]
    pub fn find(head: &[u8]) -> Option<Self> {
        if head.starts_with(MAGIC_ENCRYPTED) {
            return MySqlHeader::parse(head).ok().map(Self::BinaryLog);
        }
        if recognise(head) == Some(RedoFormat::MySql) {
            return WrappedKey::parse(head.get(INFO_OFFSET..)?).map(Self::Redo);
        }
        let page0 = Page0::parse(head).ok()?;
        match page0.encryption {
            Encryption::MySql { .. } => WrappedKey::parse(head.get(page0.info_offset()..)?).map(Self::Tablespace),
            _ => None,
        }
    }

    /// The wrapped bytes, as the file stores them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Tablespace(key) | Self::Redo(key) => key.bytes(),
            Self::BinaryLog(header) => header.wrapped_password(),
        }
    }

    /// Name of the master key that wraps the key.
    #[must_use]
    pub fn master_key_name(&self) -> String {
        match self {
            Self::Tablespace(key) | Self::Redo(key) => key.master_key_name(),
            Self::BinaryLog(header) => header.key_name.clone(),
        }
    }

    /// Unwraps the key. `head` is the start of the file: only the decrypted log shows whether the key
    /// of a binary log is right.
    ///
    /// # Errors
    /// [`UnwrapFault`].
    pub fn unwrap(&self, head: &[u8], keys: &dyn KeySource) -> Result<Secret, UnwrapFault> {
        match self {
            Self::Tablespace(key) | Self::Redo(key) => key.unwrap(keys).map(Secret::Space),
            Self::BinaryLog(_) if !keys.has_mysql() => Err(UnwrapFault::NoStore),
            Self::BinaryLog(header) => {
                let password = header.password_of(keys).ok_or(UnwrapFault::Missing)?;
                if decrypts(&password, head)? { Ok(Secret::Password(password)) } else { Err(UnwrapFault::Wrong) }
            }
        }
    }
}

/// Wraps the key of a file with another master key. `head` is at least the file's first
/// [`HEAD_BYTES`], or all of it; `iv` is a new initialisation vector, used for binary logs.
///
/// # Errors
/// [`RewrapFault`]; `head` is then unchanged.
pub fn rewrap(head: &mut [u8], secret: &Secret, master: &MasterKey, iv: Block) -> Result<(), RewrapFault> {
    if !is_uuid(master.server_uuid.as_bytes()) {
        return Err(RewrapFault::Name);
    }
    match (Wrapped::find(head).ok_or(RewrapFault::None)?, secret) {
        (Wrapped::Tablespace(wrapped), Secret::Space(key)) => {
            let page0 = Page0::parse(head).map_err(|_| RewrapFault::Damaged)?;
            if page0.checksum == Checksum::Mismatch {
                return Err(RewrapFault::Damaged);
            }
            replace(head.get_mut(page0.info_offset()..), &wrapped, key, master)?;
            let page_bytes = usize::try_from(page0.physical_page_bytes).unwrap_or_default();
            update_checksum(head.get_mut(..page_bytes).unwrap_or_default(), page0.checksum);
            Ok(())
        }
        (Wrapped::Redo(wrapped), Secret::Space(key)) => {
            // This block has no checksum.
            replace(head.get_mut(INFO_OFFSET..), &wrapped, key, master)
        }
        (Wrapped::BinaryLog(_), Secret::Password(password)) => {
            if !decrypts(password, head)? {
                return Err(RewrapFault::OtherKey);
            }
            let name = binary_log_key_name(&master.server_uuid, master.number);
            let header = MySqlHeader::wrap(name, password, iv, &master.key)?;
            head.iter_mut().zip(header.encode()).for_each(|(to, from)| *to = from);
            Ok(())
        }
        _ => Err(RewrapFault::OtherKey),
    }
}

fn replace(
    info: Option<&mut [u8]>,
    wrapped: &WrappedKey,
    key: &TablespaceKey,
    master: &MasterKey,
) -> Result<(), RewrapFault> {
    if wrapped.magic == MySqlMagic::V1 {
        return Err(RewrapFault::Old);
    }
    if !key.is_inside(wrapped) {
        return Err(RewrapFault::OtherKey);
    }
    Ok(WrappedKey::rewrap(info.unwrap_or_default(), key, master)?)
}

/// Whether a password decrypts a log. `true` if the log ends after its header: nothing can be tested then.
fn decrypts(password: &[u8; MASTER_KEY_BYTES], log: &[u8]) -> Result<bool, CipherFault> {
    Ok(StreamKey::derive(password)?.decrypts(log)?.unwrap_or(true))
}

impl Secret {
    /// Restores a secret from [`Self::expose`]; `None` for any other length.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes.as_chunks::<MASTER_KEY_BYTES>() {
            ([key, iv], []) => Some(Self::Space(TablespaceKey::from_parts(key, iv))),
            ([password], []) => Some(Self::Password(Zeroizing::new(*password))),
            _ => None,
        }
    }

    /// The secret bytes, for sending to another host: 64 of a key and its initialisation vector, or
    /// 32 of a password.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        match self {
            Self::Space(key) => key.as_bytes(),
            Self::Password(password) => password.as_slice(),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
