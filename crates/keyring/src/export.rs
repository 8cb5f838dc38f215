//! The transfer key of an exported table: `<table>.cfp`.

use aws_lc_rs::cipher::{AES_256, DecryptingKey, DecryptionContext, UnboundCipherKey};

use crate::{
    error::Error,
    key::{Arena, Key, Slot},
    store::kind_of,
    summary::StoreKind,
};

/// Length of each of the three parts.
const PART_BYTES: usize = 32;

/// Key and initialisation vector of one exported tablespace.
///
/// Source: docs/formats, "Transfer key"; confirmed on MySQL 8.0 and 9.7.
#[derive(Debug)]
pub struct ExportKey {
    key: Key,
    iv: Key,
}

impl ExportKey {
    /// Parses a `.cfp` file: the length of a key (32, 4 bytes big-endian), the transfer key, and, encrypted under it in
    /// ECB mode, the tablespace's key and initialisation vector.
    ///
    /// Damage to the file cannot be detected here; the tablespace then does not decrypt.
    ///
    /// # Errors
    /// [`Error::NotRecognised`] if the file does not have the form of a transfer key;
    /// [`Error::WrongKind`] if it is another key store.
    pub fn load(bytes: &[u8]) -> Result<Self, Error> {
        let kind = kind_of(bytes)?;
        if kind != StoreKind::CfpExportKey {
            return Err(Error::WrongKind { kind });
        }
        let parts = bytes.get(4..).unwrap_or_default().as_chunks::<PART_BYTES>();
        let ([transfer, key, iv], []) = parts else { return Err(Error::NotRecognised) };
        let mut arena = Arena::new(PART_BYTES.saturating_mul(2))?;
        let (key, iv) = (unwrap(&mut arena, transfer, key)?, unwrap(&mut arena, transfer, iv)?);
        let keys = arena.freeze();
        Ok(Self { key: keys.key(key), iv: keys.key(iv) })
    }

    /// The tablespace's key, 32 bytes.
    #[must_use]
    pub const fn key(&self) -> &Key {
        &self.key
    }

    /// The tablespace's initialisation vector, 32 bytes; pages use the first 16.
    #[must_use]
    pub const fn iv(&self) -> &Key {
        &self.iv
    }
}

fn unwrap(arena: &mut Arena, transfer: &[u8], wrapped: &[u8]) -> Result<Slot, Error> {
    let (slot, memory) = arena.allocate(wrapped.len()).ok_or(Error::Cipher)?;
    memory.copy_from_slice(wrapped);
    let unbound = UnboundCipherKey::new(&AES_256, transfer).map_err(|_| Error::Cipher)?;
    let cipher = DecryptingKey::ecb(unbound).map_err(|_| Error::Cipher)?;
    cipher.decrypt(memory, DecryptionContext::None).map_err(|_| Error::Cipher)?;
    Ok(slot)
}
