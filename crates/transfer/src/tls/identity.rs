//! Certificate and key of this side: generated for one transfer, or issued by the site.

use std::fmt;

pub use tls13::{Authorities, Identity};

use crate::{error::TransferError, pairing::Pin, tls::spki_of};

pub(crate) fn failed(error: impl fmt::Display) -> TransferError {
    TransferError::Identity(error.to_string())
}

impl From<tls13::Error> for TransferError {
    fn from(error: tls13::Error) -> Self {
        match error {
            tls13::Error::Credentials { path, reason } => Self::Credentials { path, reason },
            tls13::Error::Read { path, source } => {
                Self::Credentials { path, reason: format!("cannot be read: {source}") }
            }
            other => failed(other),
        }
    }
}

/// Fingerprint of the identity's key.
pub(crate) fn pin_of(identity: &Identity) -> Result<Pin, TransferError> {
    let spki = identity.chain().first().and_then(|certificate| spki_of(certificate));
    spki.map(|spki| Pin::from_spki(&spki)).ok_or_else(|| failed("its certificate cannot be parsed"))
}
