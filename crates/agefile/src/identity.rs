//! Identities: the secret keys that open a file.

use std::{fmt, str::FromStr};

use aws_lc_rs::agreement::{PrivateKey, X25519};
use zeroize::Zeroizing;

use crate::{
    bech32::{self, KEY_BYTES},
    error::{Error, KeyFault},
    recipient::{IDENTITY_PREFIX, Recipient},
};

/// An X25519 secret key.
pub struct Identity {
    secret: Zeroizing<[u8; KEY_BYTES]>,
    private: PrivateKey,
    recipient: Recipient,
}

impl Identity {
    /// Generates a new key.
    ///
    /// # Errors
    /// [`Error::Crypto`] if there are no random bytes.
    pub fn generate() -> Result<Self, Error> {
        let mut secret = Zeroizing::new([0; KEY_BYTES]);
        aws_lc_rs::rand::fill(secret.as_mut())?;
        Self::from_secret(secret).ok_or(Error::Crypto)
    }

    /// Parses a file as `age-keygen` writes it: one identity a line. Empty lines and lines that begin with `#` are
    /// skipped.
    ///
    /// # Errors
    /// [`Error::IdentityLine`], which has the line's number, but not its content; [`Error::NoIdentity`].
    pub fn parse_file(text: &str) -> Result<Vec<Self>, Error> {
        let lines = (1_u64..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let identity = |(line, text): (u64, &str)| text.parse().map_err(|fault| Error::IdentityLine { line, fault });
        let identities: Vec<Self> = lines.map(identity).collect::<Result<_, _>>()?;
        if identities.is_empty() {
            return Err(Error::NoIdentity);
        }
        Ok(identities)
    }

    /// The public key that belongs to this secret key.
    #[must_use]
    pub fn recipient(&self) -> Recipient {
        self.recipient
    }

    /// `AGE-SECRET-KEY-1…`, for an identity file.
    #[must_use]
    pub fn to_secret_text(&self) -> Zeroizing<String> {
        let mut text = bech32::encode(IDENTITY_PREFIX, &self.secret);
        text.make_ascii_uppercase();
        text
    }

    pub(crate) fn private(&self) -> &PrivateKey {
        &self.private
    }

    fn from_secret(secret: Zeroizing<[u8; KEY_BYTES]>) -> Option<Self> {
        let private = PrivateKey::from_private_key(&X25519, secret.as_ref()).ok()?;
        let public = private.compute_public_key().ok()?;
        // The public half of a secret key never has low order.
        let recipient = Recipient::from_bytes(public.as_ref().try_into().ok()?).ok()?;
        Some(Self { secret, private, recipient })
    }
}

impl FromStr for Identity {
    type Err = KeyFault;

    /// Parses `AGE-SECRET-KEY-1…`.
    ///
    /// # Errors
    /// [`KeyFault`].
    fn from_str(text: &str) -> Result<Self, KeyFault> {
        Self::from_secret(bech32::decode(IDENTITY_PREFIX, text)?).ok_or(KeyFault::Length)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
    const PUBLIC: &str = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";

    #[test]
    fn the_specifications_identity_has_its_recipient() {
        let identity: Identity = SECRET.parse().unwrap();
        assert_eq!(identity.recipient().to_string(), PUBLIC);
        assert_eq!(identity.to_secret_text().as_str(), SECRET);
        assert_eq!(format!("{identity:?}"), "Identity");
    }

    #[test]
    fn a_file_of_age_keygen_is_read() {
        let file = format!("# created: 2026-11-23T12:00:00Z\r\n# public key: {PUBLIC}\r\n{SECRET}\r\n\n  {SECRET}\n");
        let read = Identity::parse_file(&file).unwrap();
        assert_eq!(read.iter().map(|identity| identity.recipient().to_string()).collect::<Vec<_>>(), [PUBLIC; 2]);
    }

    #[test]
    fn a_bad_line_is_reported_by_number_without_its_text() {
        let wrong = SECRET.replace("EGAEX", "EGAEQ");
        let error = Identity::parse_file(&format!("#\n{SECRET}\n{wrong}\n")).unwrap_err();
        assert!(matches!(error, Error::IdentityLine { line: 3, fault: KeyFault::Checksum }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("GFPYY"), "{error}");
        assert!(matches!(Identity::parse_file("# nothing\n\n"), Err(Error::NoIdentity)));
        let error = Identity::parse_file(PUBLIC).unwrap_err();
        assert!(matches!(
            error,
            Error::IdentityLine { line: 1, fault: KeyFault::Prefix { expected: IDENTITY_PREFIX } }
        ));
    }
}
