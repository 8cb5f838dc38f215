//! Recipients: the public keys that a file is encrypted to.

use std::{fmt, str::FromStr};

use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};

use crate::{
    bech32::{self, KEY_BYTES},
    error::KeyFault,
};

/// Prefix of the text of a recipient.
const PREFIX: &str = "age";
/// Prefix of the text of an identity.
pub const IDENTITY_PREFIX: &str = "AGE-SECRET-KEY-";

/// An X25519 public key. Its [`Identity`](crate::Identity) opens what is encrypted to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Recipient([u8; KEY_BYTES]);

impl Recipient {
    /// The public key as 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// Takes a public key of 32 bytes.
    ///
    /// # Errors
    /// [`KeyFault::LowOrder`].
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Result<Self, KeyFault> {
        if is_low_order(&bytes) {
            return Err(KeyFault::LowOrder);
        }
        Ok(Self(bytes))
    }
}

impl FromStr for Recipient {
    type Err = KeyFault;

    /// Parses `age1…`.
    ///
    /// # Errors
    /// [`KeyFault`].
    fn from_str(text: &str) -> Result<Self, KeyFault> {
        let secret = text.as_bytes().get(..IDENTITY_PREFIX.len());
        if secret.is_some_and(|begin| begin.eq_ignore_ascii_case(IDENTITY_PREFIX.as_bytes())) {
            return Err(KeyFault::Secret);
        }
        Self::from_bytes(*bech32::decode(PREFIX, text)?)
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bech32::encode(PREFIX, &self.0))
    }
}

/// Whether every key agreement with `point` yields zero.
fn is_low_order(point: &[u8; KEY_BYTES]) -> bool {
    // Any secret will do: X25519 clears the cofactor (RFC 7748, section 5), so a low-order point always gives zero.
    let secret = PrivateKey::from_private_key(&X25519, &[0x42; KEY_BYTES]);
    !secret.is_ok_and(|secret| agree(&secret, UnparsedPublicKey::new(&X25519, point), (), |_| Ok(())).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_of_low_order_is_no_recipient() {
        let order_eight = [
            0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b, 0x04, 0x44,
            0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57,
        ];
        let mut one = [0; KEY_BYTES];
        one[0] = 1;
        for point in [[0; KEY_BYTES], one, order_eight] {
            assert_eq!(bech32::encode(PREFIX, &point).parse::<Recipient>(), Err(KeyFault::LowOrder));
        }
    }

    #[test]
    fn a_secret_key_in_place_of_a_recipient_is_reported() {
        for text in ["AGE-SECRET-KEY-1QQQ", "age-secret-key-1qqq", "AGE-SECRET-KEY-PQ-1QQQ"] {
            assert_eq!(text.parse::<Recipient>(), Err(KeyFault::Secret));
        }
    }
}
