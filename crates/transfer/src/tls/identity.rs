//! Certificate and key of this side: generated for one transfer, or issued by the site.

use std::fmt;

pub(crate) use pki::{Authorities, Identity};

use crate::{error::Error, pairing::Pin};

pub(crate) fn failed(error: impl fmt::Display) -> Error {
    Error::Identity(error.to_string())
}

impl From<pki::Error> for Error {
    fn from(error: pki::Error) -> Self {
        match error {
            pki::Error::Content { path, reason } => Self::Credentials { path, reason },
            pki::Error::Read { path, source } => {
                Self::Credentials { path, reason: format!("cannot be read: {source}") }
            }
            other => failed(other),
        }
    }
}

/// Fingerprint of the identity's key.
pub(crate) fn pin_of(identity: &Identity) -> Result<Pin, Error> {
    let spki = identity.chain().first().and_then(|certificate| pki::public_key_info(certificate));
    spki.map(|spki| Pin::from_spki(&spki)).ok_or_else(|| failed("its certificate cannot be parsed"))
}
