//! Receipts: what was stored, in clear text, signed, and each with the hash of the one before.
//!
//! A receipt is the commit of a backup. It names every object by its SHA-256, so that with receipts alone, and without any
//! key, each object can be verified, and it can be told what may be removed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{ArchiveError, Digest, names};

/// Schema of this version's receipts.
pub const SCHEMA: &str = "sealant.receipt/1";
/// Namespace of their signatures.
pub const NAMESPACE: &str = "sealant-receipt";
/// The longest receipt that is read: 100 bytes a pack, for the packs of 1000 TB.
pub const MAX_BYTES: u64 = 1 << 30;

/// A receipt.
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
    /// What it is a receipt of.
    pub kind: Kind,
    /// SHA-256 of the receipt before, of its bytes as they are stored; none of the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub previous: Option<Digest>,
    /// When the run began, by the clock of the host.
    pub began: Timestamp,
    /// When all but the receipt was stored.
    pub ended: Timestamp,
    /// Whether no page of an earlier backup is used.
    pub full: bool,
    /// `server_uuid` of a MySQL server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_uuid: Option<String>,
    /// How the copy was taken.
    pub provider: String,
    /// The manifest.
    pub manifest: Object,
    /// All packs that the backup needs.
    pub packs: Vec<Pack>,
    /// Sizes.
    pub bytes: Bytes,
    /// Pages, and other units of files.
    pub pages: Pages,
    /// Whom it is encrypted to: of each recipient the first 16 digits of SHA-256 over its text.
    pub recipients: Vec<String>,
    /// Those of them that nobody has shown to have the identity of.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unproven_recipients: Vec<String>,
    /// What the run found.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Program and version that wrote it.
    pub tool: String,
}

/// What a receipt is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A backup.
    Backup,
}

/// An object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// Of its bytes as they are stored.
    pub sha256: Digest,
    /// How many there are.
    pub bytes: u64,
}

/// A pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pack {
    /// Of its bytes as they are stored; its name, too.
    pub sha256: Digest,
    /// How many there are.
    pub bytes: u64,
    /// How many bytes of files in it this backup uses, as they are in the files.
    pub live_bytes: u64,
    /// Whether this run made it.
    pub new: bool,
}

/// Sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Of all files, holes included.
    pub data: u64,
    /// That were read.
    pub read: u64,
    /// That were packed, as they are in the files.
    pub changed: u64,
    /// Of the objects that this run stored, the receipt left out.
    pub stored: u64,
}

/// Pages of tablespaces, and units of other files, by what verification found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pages {
    /// All.
    pub seen: u64,
    /// Packed by this run.
    pub changed: u64,
    /// Some check fails.
    pub damaged: u64,
    /// Nothing is known to be wrong, but no key at hand opens them.
    pub unproven: u64,
}

/// What a run found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Which kind, for scripts.
    pub id: String,
    /// What about, for people.
    pub text: String,
}

impl Receipt {
    /// The bytes that are stored and signed.
    ///
    /// # Errors
    /// [`ArchiveError::Receipt`] if it cannot be written as JSON, which none is that was made by [`parse`](Self::parse).
    pub fn encode(&self) -> Result<Vec<u8>, ArchiveError> {
        let mut bytes = serde_json::to_vec(self).map_err(|error| ArchiveError::Receipt(error.to_string()))?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`ArchiveError::Version`], [`ArchiveError::Receipt`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ArchiveError> {
        #[derive(Deserialize)]
        struct Schema {
            schema: String,
        }
        let wrong = |reason: serde_json::Error| ArchiveError::Receipt(reason.to_string());
        let Schema { schema } = serde_json::from_slice(bytes).map_err(wrong)?;
        if schema != SCHEMA {
            return Err(ArchiveError::Version { found: schema, known: SCHEMA });
        }
        let receipt: Self = serde_json::from_slice(bytes).map_err(wrong)?;
        if !names::is_host(&receipt.host) || receipt.number == 0 {
            return Err(ArchiveError::Receipt("its host or number is none".to_owned()));
        }
        Ok(receipt)
    }

    /// Whether all of it is proven, so that retention and age may count it.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.pages.damaged == 0 && self.pages.unproven == 0
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
        std::iter::once((self.manifest_name(), self.manifest)).chain(packs)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn receipt(number: names::Number, previous: Option<Digest>) -> Receipt {
        let object = |text: &str| Object { sha256: Digest::of(text.as_bytes()), bytes: text.len() as u64 };
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
            full: previous.is_none(),
            server_uuid: None,
            provider: "stopped".to_owned(),
            manifest: object("manifest"),
            packs: vec![Pack { sha256: of.sha256, bytes: of.bytes, live_bytes: 16384, new: true }],
            bytes: Bytes { data: 16384, read: 16384, changed: 16384, stored: 12 },
            pages: Pages { seen: 1, changed: 1, damaged: 0, unproven: 0 },
            recipients: vec!["0011223344556677".to_owned()],
            unproven_recipients: Vec::new(),
            findings: Vec::new(),
            tool: "sealant 0.1.0".to_owned(),
        }
    }

    #[test]
    fn a_receipt_reads_back_and_may_have_more_fields() {
        let receipt = receipt(7, Some(Digest::of(b"before")));
        let bytes = receipt.encode().unwrap();
        assert_eq!(Receipt::parse(&bytes).unwrap(), receipt);
        let more = String::from_utf8(bytes).unwrap().replacen('{', "{\"more\":[1],", 1);
        assert_eq!(Receipt::parse(more.as_bytes()).unwrap(), receipt);
    }

    #[test]
    fn what_is_no_receipt_is_refused() {
        let text = String::from_utf8(receipt(7, None).encode().unwrap()).unwrap();
        let later = text.replace("receipt/1", "receipt/2");
        assert!(matches!(Receipt::parse(later.as_bytes()), Err(ArchiveError::Version { .. })));
        for (from, to) in [("\"db1\"", "\"../x\""), ("\"number\":7", "\"number\":0"), ("\"number\":7", "\"number\":-7")]
        {
            let changed = text.replace(from, to);
            assert_ne!(changed, text);
            assert!(matches!(Receipt::parse(changed.as_bytes()), Err(ArchiveError::Receipt(_))), "{to}");
        }
    }
}
