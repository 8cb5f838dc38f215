//! Receipts: signed, in clear text, each with the hash of its predecessor.
//!
//! Writing the receipt commits the backup. It names every object by its SHA-256, so that each can be verified, and
//! unreferenced ones found, without any key.

use agefile::Recipient;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Digest, Error, document, names};

/// Schema that this version writes.
pub const SCHEMA: &str = "sealant.receipt/1";
/// Namespace of the signatures.
pub const NAMESPACE: &str = "sealant-receipt";
/// Maximum length of a receipt: 100 bytes a pack, for the packs of 1000 TB.
pub const MAX_BYTES: u64 = 1 << 30;

/// Describes a backup: its time, its source, and the objects that it stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// [`SCHEMA`].
    pub schema: String,
    /// Id of the repository.
    pub repo: String,
    /// Name of the host.
    pub host: String,
    /// Number of the backup.
    pub number: names::Number,
    /// What the receipt is for.
    pub kind: Kind,
    /// SHA-256 of the previous receipt's stored bytes; `None` in the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub previous: Option<Digest>,
    /// Start of the run, by the host's clock.
    pub began: Timestamp,
    /// Time when everything except the receipt was stored.
    pub ended: Timestamp,
    /// Durations of the parts of the run; absent in receipts of older releases.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phases: Option<Phases>,
    /// Whether the backup uses no page of an earlier one.
    pub full: bool,
    /// `server_uuid`, of a MySQL server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_uuid: Option<String>,
    /// The snapshot provider that took the copy.
    pub provider: String,
    /// Hash and length of the manifest.
    pub manifest: Object,
    /// Hash and length of the keys of its files, if it has them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub keys: Option<Object>,
    /// All packs that the backup needs.
    pub packs: Vec<Pack>,
    /// Amounts of data.
    pub bytes: Bytes,
    /// Numbers of pages, and of other units of files.
    pub pages: Pages,
    /// Recipients of the objects: the first 16 digits of the SHA-256 of each one's text.
    pub recipients: Vec<String>,
    /// Recipients of the keys, in the same form.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub key_recipients: Vec<String>,
    /// Recipients for which nobody has proven to have the identity that opens the objects.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unproven_recipients: Vec<String>,
    /// Problems that the run found.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Program and version that wrote it.
    pub tool: String,
}

/// A receipt without its list of packs, which is most of a receipt's length: a host's backups each name the same
/// hundreds of thousands of packs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Id of the repository.
    pub repo: String,
    /// Name of the host.
    pub host: String,
    /// Number of the backup.
    pub number: names::Number,
    /// SHA-256 of the previous receipt's stored bytes; `None` in the first.
    pub previous: Option<Digest>,
    /// Start of the run, by the host's clock.
    pub began: Timestamp,
    /// Time when everything except the receipt was stored.
    pub ended: Timestamp,
    /// Durations of the parts of the run.
    pub phases: Option<Phases>,
    /// Whether the backup uses no page of an earlier one.
    pub full: bool,
    /// `server_uuid`, of a MySQL server.
    pub server_uuid: Option<String>,
    /// Number of the packs that the backup needs.
    pub packs: usize,
    /// Amounts of data.
    pub bytes: Bytes,
    /// Numbers of pages, and of other units of files.
    pub pages: Pages,
    /// Recipients for whom nobody has proven to have the identity that opens the objects.
    pub unproven_recipients: Vec<String>,
    /// Problems that the run found.
    pub findings: Vec<Finding>,
}

impl Summary {
    /// As [`Receipt::is_good`].
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.pages.are_proven()
    }
}

/// Durations of the parts of a run, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Taking the copy.
    pub copy_ms: u64,
    /// Reading all files, and storing what changed.
    pub store_ms: u64,
}

/// What a receipt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A backup of a data directory.
    Backup,
}

/// A stored object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// SHA-256 of the stored bytes.
    pub sha256: Digest,
    /// Length in bytes.
    pub bytes: u64,
}

/// A pack that a backup uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pack {
    /// SHA-256 of the stored bytes, which is also its name.
    pub sha256: Digest,
    /// Length in bytes.
    pub bytes: u64,
    /// Bytes of files in it that this backup uses, uncompressed.
    pub live_bytes: u64,
    /// Whether this run wrote it.
    pub new: bool,
}

/// Amounts of data, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Length of all files, holes included.
    pub data: u64,
    /// Bytes read from files.
    pub read: u64,
    /// Bytes of files that were packed, uncompressed.
    pub changed: u64,
    /// Length of the objects that this run stored, without the receipt.
    pub stored: u64,
}

/// Results of verification, in pages of tablespaces and units of other files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pages {
    /// Number of all pages and units.
    pub seen: u64,
    /// Number packed by this run.
    pub changed: u64,
    /// Number that fail a check.
    pub damaged: u64,
    /// Number that could not be checked for lack of a key.
    pub unproven: u64,
}

impl Pages {
    /// Whether every page was checked and is sound.
    #[must_use]
    pub const fn are_proven(&self) -> bool {
        self.damaged == 0 && self.unproven == 0
    }
}

/// A problem that a run found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Identifier of its kind, for scripts.
    pub id: String,
    /// Human-readable description.
    pub text: String,
}

/// A recipient's name in receipts: the first 16 digits of the SHA-256 of its text.
#[must_use]
pub fn fingerprint(recipient: &Recipient) -> String {
    let digits = Digest::compute(recipient.to_string().as_bytes()).to_string();
    digits.get(..16).unwrap_or_default().to_owned()
}

impl Receipt {
    /// The bytes to sign and store.
    ///
    /// # Errors
    /// [`Error::Receipt`] if serialization fails; a receipt from [`parse`](Self::parse) always serializes.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        document::encode(self, Error::Receipt)
    }

    /// Parses a receipt.
    ///
    /// # Errors
    /// [`Error::Version`], [`Error::Receipt`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let receipt: Self = document::parse(bytes, SCHEMA, Error::Receipt)?;
        if !names::is_host(&receipt.host) || receipt.number == 0 {
            return Err(Error::Receipt("its host or number is not valid".to_owned()));
        }
        Ok(receipt)
    }

    /// Whether all pages are proven, so that retention and age checks may count the backup.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.pages.are_proven()
    }

    /// The receipt without its list of packs.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary {
            repo: self.repo.clone(),
            host: self.host.clone(),
            number: self.number,
            previous: self.previous,
            began: self.began,
            ended: self.ended,
            phases: self.phases,
            full: self.full,
            server_uuid: self.server_uuid.clone(),
            packs: self.packs.len(),
            bytes: self.bytes,
            pages: self.pages,
            unproven_recipients: self.unproven_recipients.clone(),
            findings: self.findings.clone(),
        }
    }

    /// Name of the manifest.
    #[must_use]
    pub fn manifest_name(&self) -> String {
        names::manifest(&self.host, self.number)
    }

    /// Every object that the backup needs: name, hash and length.
    pub fn objects(&self) -> impl Iterator<Item = (String, Object)> {
        let pack = |pack: &Pack| Object { sha256: pack.sha256, bytes: pack.bytes };
        let packs = self.packs.iter().map(move |of| (names::pack(&self.host, &of.sha256), pack(of)));
        self.own_objects().chain(packs)
    }

    /// The objects that no other backup needs: name, hash and length.
    pub fn own_objects(&self) -> impl Iterator<Item = (String, Object)> {
        let keys = self.keys.map(|keys| (names::keys(&self.host, self.number), keys));
        std::iter::once((self.manifest_name(), self.manifest)).chain(keys)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn receipt(number: names::Number, previous: Option<Digest>) -> Receipt {
        let object = |text: &str| Object { sha256: Digest::compute(text.as_bytes()), bytes: text.len() as u64 };
        let of = object("pack");
        Receipt {
            schema: SCHEMA.to_owned(),
            repo: "00112233445566778899aabbccddeeff".to_owned(),
            host: "db1".to_owned(),
            number,
            kind: Kind::Backup,
            previous,
            began: "2026-11-23T01:00:00Z".parse().unwrap(),
            ended: "2026-11-23T01:02:03Z".parse().unwrap(),
            phases: Some(Phases { copy_ms: 1200, store_ms: 120_000 }),
            full: previous.is_none(),
            server_uuid: None,
            provider: "stopped".to_owned(),
            manifest: object("manifest"),
            keys: None,
            packs: vec![Pack { sha256: of.sha256, bytes: of.bytes, live_bytes: 16384, new: true }],
            bytes: Bytes { data: 16384, read: 16384, changed: 16384, stored: 12 },
            pages: Pages { seen: 1, changed: 1, damaged: 0, unproven: 0 },
            recipients: vec!["0011223344556677".to_owned()],
            key_recipients: Vec::new(),
            unproven_recipients: Vec::new(),
            findings: Vec::new(),
            tool: "sealant 0.1.0".to_owned(),
        }
    }

    #[test]
    fn a_receipt_reads_back_and_may_have_more_fields() {
        let receipt = receipt(7, Some(Digest::compute(b"before")));
        let bytes = receipt.encode().unwrap();
        assert_eq!(Receipt::parse(&bytes).unwrap(), receipt);
        let more = String::from_utf8(bytes).unwrap().replacen('{', "{\"more\":[1],", 1);
        assert_eq!(Receipt::parse(more.as_bytes()).unwrap(), receipt);
    }

    #[test]
    fn what_is_no_receipt_is_refused() {
        let text = String::from_utf8(receipt(7, None).encode().unwrap()).unwrap();
        let later = text.replace("receipt/1", "receipt/2");
        assert!(matches!(Receipt::parse(later.as_bytes()), Err(Error::Version { .. })));
        for (from, to) in [("\"db1\"", "\"../x\""), ("\"number\":7", "\"number\":0"), ("\"number\":7", "\"number\":-7")]
        {
            let changed = text.replace(from, to);
            assert_ne!(changed, text);
            assert!(matches!(Receipt::parse(changed.as_bytes()), Err(Error::Receipt(_))), "{to}");
        }
    }
}
