//! X25519 stanzas: the file key wrapped for one recipient.

use aws_lc_rs::{
    aead::{Aad, Nonce},
    agreement::{PrivateKey, UnparsedPublicKey, X25519, agree},
};
use zeroize::Zeroizing;

use crate::{
    bech32::KEY_BYTES,
    error::{Error, HeaderFault},
    file_key::{FILE_KEY_BYTES, FileKey, aead, derive},
    identity::Identity,
    recipient::Recipient,
    stream::TAG_BYTES,
};

/// First argument of the stanza.
pub(crate) const TYPE: &str = "X25519";
/// Length of the body: the file key and its tag.
pub(crate) const BODY_BYTES: usize = FILE_KEY_BYTES + TAG_BYTES;

const LABEL: &[u8] = b"age-encryption.org/v1/X25519";

/// A stanza of the header. It does not name its recipient.
pub(crate) struct Stanza {
    /// Public half of the stanza's ephemeral key pair.
    pub(crate) share: [u8; KEY_BYTES],
    /// The wrapped file key.
    pub(crate) body: [u8; BODY_BYTES],
}

impl Stanza {
    pub(crate) fn wrap(file_key: &FileKey, recipient: &Recipient) -> Result<Self, Error> {
        let ephemeral = PrivateKey::generate(&X25519)?;
        let public = ephemeral.compute_public_key()?;
        let share = public.as_ref().try_into().map_err(|_| Error::Crypto)?;
        let key = wrap_key(&ephemeral, recipient.as_bytes(), &share, recipient).ok_or(Error::Crypto)?;
        let mut body = [0; BODY_BYTES];
        let (encrypted, tag) = body.split_at_mut(FILE_KEY_BYTES);
        encrypted.copy_from_slice(file_key.bytes());
        let made = aead(key.as_ref())?.seal_in_place_separate_tag(zero_nonce(), Aad::empty(), encrypted)?;
        tag.copy_from_slice(made.as_ref());
        Ok(Self { share, body })
    }

    /// The file key; `None` if the stanza is for another recipient.
    pub(crate) fn unwrap(&self, identity: &Identity) -> Result<Option<FileKey>, HeaderFault> {
        let recipient = identity.recipient();
        let key = wrap_key(identity.private(), &self.share, &self.share, &recipient).ok_or(HeaderFault::LowOrder)?;
        let mut body = Zeroizing::new(self.body);
        let Ok(aead) = aead(key.as_ref()) else { return Ok(None) };
        let opened = aead.open_in_place(zero_nonce(), Aad::empty(), body.as_mut());
        Ok(opened.ok().and_then(|opened| FileKey::from_bytes(opened)))
    }
}

/// `None` if `public` has low order: aws-lc refuses a zero result (RFC 7748, section 6.1).
fn wrap_key(
    private: &PrivateKey,
    public: &[u8; KEY_BYTES],
    share: &[u8; KEY_BYTES],
    recipient: &Recipient,
) -> Option<Zeroizing<[u8; 32]>> {
    let salt = [*share, *recipient.as_bytes()].concat();
    let key = |secret: &[u8]| derive(secret, &salt, LABEL).map_err(drop);
    agree(private, UnparsedPublicKey::new(&X25519, public), (), key).ok()
}

/// Zero is safe: each wrap key is used once.
fn zero_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}
