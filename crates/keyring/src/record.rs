//! Named keys, in the form that both formats of MySQL keyring files share.

use crate::{
    base64::Base64,
    hex::Hex,
    key_id::KeyName,
    summary::{Damage, InvalidReason, KeyEntry, StoreKind, StoreSummary},
};

/// A key in the file.
pub(crate) struct Record<'a> {
    pub(crate) id: String,
    pub(crate) user: String,
    pub(crate) key_type: String,
    /// Whether name, user and type are UTF-8. If not, they contain replacement characters and must not be written
    /// again.
    pub(crate) is_utf8: bool,
    /// The key's bytes as stored; `None` if they are missing or not valid in this format.
    pub(crate) material: Option<Material<'a>>,
}

/// A key to be written.
#[derive(Clone, Copy)]
pub(crate) struct NewKey<'a> {
    pub(crate) name: &'a str,
    pub(crate) user: &'a str,
    pub(crate) key_type: &'a str,
    pub(crate) key: &'a [u8],
}

impl<'a> NewKey<'a> {
    /// A key of the server itself.
    pub(crate) const fn of_server(name: &'a str, key: &'a [u8]) -> Self {
        Self { name, user: "", key_type: "AES", key }
    }
}

/// Key bytes as stored.
#[derive(Clone, Copy)]
pub(crate) enum Material<'a> {
    Hex(Hex<'a>),
    Base64(Base64<'a>),
    /// As they are.
    Plain(&'a [u8]),
    /// Each byte XORed with the mask, which restarts with each key.
    Masked(&'a [u8], &'static [u8; 24]),
}

impl Material<'_> {
    /// Length of the key in bytes.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Hex(hex) => hex.bytes(),
            Self::Base64(base64) => base64.bytes(),
            Self::Plain(bytes) | Self::Masked(bytes, _) => bytes.len(),
        }
    }

    /// Writes the decoded key to `out`.
    pub(crate) fn write(self, out: &mut [u8]) {
        match self {
            Self::Hex(hex) => hex.decode(out),
            Self::Base64(base64) => base64.decode(out),
            Self::Plain(bytes) => out.iter_mut().zip(bytes).for_each(|(out, byte)| *out = *byte),
            Self::Masked(bytes, mask) => {
                for ((out, byte), mask) in out.iter_mut().zip(bytes).zip(mask.iter().cycle()) {
                    *out = byte ^ mask;
                }
            }
        }
    }
}

impl Record<'_> {
    pub(crate) fn entry(&self) -> KeyEntry {
        KeyEntry {
            name: KeyName::parse(&self.id),
            id: self.id.clone(),
            user: self.user.clone(),
            key_type: self.key_type.clone(),
            key_bytes: self.material.and_then(|material| u64::try_from(material.bytes()).ok()),
        }
    }

    /// What is wrong with the key.
    fn judge(&self) -> Option<InvalidReason> {
        if self.is_utf8 { self.entry().judge() } else { Some(InvalidReason::Id) }
    }

    /// The key material, or why it cannot be used.
    pub(crate) fn usable(&self) -> Result<Material<'_>, InvalidReason> {
        match (self.judge(), self.material) {
            (None, Some(material)) => Ok(material),
            (reason, _) => Err(reason.unwrap_or(InvalidReason::Data)),
        }
    }
}

/// A parsed MySQL keyring file.
pub(crate) struct Parsed<'a> {
    pub(crate) records: Vec<Record<'a>>,
    /// Damage to the file as a whole.
    pub(crate) damage: Vec<Damage>,
    /// Whether the checksum matches, if the file has one.
    pub(crate) checksum_ok: Option<bool>,
}

impl Parsed<'_> {
    /// A summary, without key bytes.
    pub(crate) fn summary(self, kind: StoreKind) -> StoreSummary {
        let mut summary = StoreSummary::new(kind, true);
        summary.checksum_ok = self.checksum_ok;
        summary.entries = self.records.iter().map(Record::entry).collect();
        summary.damage = self.damage;
        for (index, record) in (0_u64..).zip(&self.records) {
            if let Some(reason) = record.judge() {
                summary.damage.push(Damage::InvalidElement { index, reason });
            }
        }
        summary
    }
}
