//! Start of encryption in MariaDB and Percona Server 5.7.

use crate::{Fault, bytes::Bytes};

/// Bytes of the nonce.
const NONCE_BYTES: usize = 12;

/// Parameters of the encryption of all following events in the file.
///
/// Source: docs/formats, "Binary / relay log".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartEncryption {
    /// Scheme, 1.
    pub scheme: u8,
    /// Version of key 1 in the server's key store.
    pub key_version: u32,
    /// First part of each event's initialisation vector.
    pub nonce: [u8; NONCE_BYTES],
}

impl StartEncryption {
    pub(crate) fn parse(mut bytes: Bytes<'_>) -> Result<Self, Fault> {
        Ok(Self { scheme: bytes.u8()?, key_version: bytes.u32()?, nonce: bytes.array()? })
    }
}
