//! Content of a header, in one form for LUKS1 and LUKS2.

use crate::kdf::Kdf;

/// The two formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One header, eight slots, PBKDF2.
    Luks1,
    /// Two headers with JSON metadata.
    Luks2,
}

/// A header whose fields are consistent. A LUKS1 header appears as one segment, one digest and its active slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// Whether the header is LUKS1 or LUKS2.
    pub format: Format,
    /// The volume's UUID, as text.
    pub uuid: String,
    /// Label (LUKS2); may be empty.
    pub label: String,
    /// Subsystem label (LUKS2); may be empty.
    pub subsystem: String,
    /// Sequence number, incremented with each change; 0 for LUKS1, which has none.
    pub sequence: u64,
    /// Size of one metadata copy; for LUKS1, the bytes before the first key slot.
    pub metadata_bytes: u64,
    /// Bytes that header and key slots take from the start of the device; also the size of a header backup.
    pub header_bytes: u64,
    /// Hash of a LUKS1 header, used for key derivation, splitter and digest.
    pub hash: Option<String>,
    /// Size of the volume key, where the header itself states it (LUKS1); in LUKS2 the slots do.
    pub key_bytes: Option<u32>,
    /// Segments of the data, by number.
    pub segments: Vec<Segment>,
    /// Key slots in use, by number.
    pub slots: Vec<Slot>,
    /// Digests of volume keys, by number.
    pub digests: Vec<Digest>,
    /// Types of the tokens, by number.
    pub tokens: Vec<String>,
    /// Persistent flags of activation.
    pub flags: Vec<String>,
    /// Mandatory requirements, by name.
    pub requirements: Vec<String>,
}

/// A part of the data area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Number of the segment.
    pub id: u32,
    /// `crypt`, `linear`, `hw-opal`, …
    pub kind: String,
    /// The cipher specification, such as `aes-xts-plain64`; empty if it has none.
    pub cipher: String,
    /// Size of an encryption sector; 512 if the segment has none.
    pub sector_bytes: u32,
    /// Offset on the device, in bytes.
    pub offset: u64,
    /// Size; `None` for the rest of the device.
    pub size: Option<u64>,
    /// Authentication of sectors.
    pub integrity: Option<Integrity>,
    /// `in-reencryption`, `backup-previous`, `backup-final`, `backup-moved-segment`.
    pub flags: Vec<String>,
}

/// How sectors are authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integrity {
    /// `aead`, `hmac(sha256)`, …
    pub kind: String,
    /// Size of the authentication key, if the header states it.
    pub key_bytes: Option<u32>,
}

/// A key slot in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Number of the slot.
    pub id: u32,
    /// `luks2` for a slot that holds a key (also for LUKS1), `reencrypt`, or a type that we do not know.
    pub kind: String,
    /// Size of the stored key.
    pub key_bytes: u32,
    /// Cipher of the key material; empty for a slot without any.
    pub area_cipher: String,
    /// Offset of its key material on the device, in bytes.
    pub area_offset: u64,
    /// Size of its key material in bytes.
    pub area_bytes: u64,
    /// Key derivation, for a slot that holds a key.
    pub kdf: Option<Kdf>,
    /// Salt of the key derivation; only a new key changes it.
    pub salt: Vec<u8>,
    /// Hash of the anti-forensic splitter.
    pub splitter_hash: Option<String>,
    /// Opens only if it is selected (priority `ignore`).
    pub ignored: bool,
    /// Is tried before other slots (priority `prefer`).
    pub preferred: bool,
}

/// Digest of a volume key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Number of the digest.
    pub id: u32,
    /// Its hash function.
    pub hash: Option<String>,
    /// PBKDF2 iterations to compare a key with it.
    pub iterations: u64,
    /// Salt and digest, which together identify the volume key without revealing it.
    pub proof: (Vec<u8>, Vec<u8>),
    /// Slots that hold this key.
    pub slots: Vec<u32>,
    /// Segments that this key encrypts.
    pub segments: Vec<u32>,
}

/// Type of slots that hold a key.
pub(crate) const KEY_SLOT: &str = "luks2";

impl Segment {
    /// Whether dm-crypt encrypts the segment.
    #[must_use]
    pub(crate) fn is_crypt(&self) -> bool {
        self.kind == "crypt" || self.kind == "hw-opal-crypt"
    }

    /// Whether the segment only describes data before or after a re-encryption.
    #[must_use]
    pub(crate) fn is_backup(&self) -> bool {
        self.flags.iter().any(|flag| flag.starts_with("backup-"))
    }

    /// Whether the segment has this flag.
    #[must_use]
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|current| current == flag)
    }
}

impl Slot {
    /// Whether the slot holds a key, unlike the slot of a re-encryption.
    #[must_use]
    pub(crate) fn holds_key(&self) -> bool {
        self.kind == KEY_SLOT
    }
}

impl Volume {
    /// Segments that hold data now.
    pub fn live(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| !segment.is_backup())
    }

    /// The UUID, safe to use in file names and tables. `None` if it is malformed: whoever can write to the disk can
    /// change it.
    #[must_use]
    pub(crate) fn plain_uuid(&self) -> Option<&str> {
        is_plain_uuid(&self.uuid).then_some(self.uuid.as_str())
    }

    /// Whether a re-encryption, encryption or decryption is unfinished.
    #[must_use]
    pub(crate) fn reencrypting(&self) -> bool {
        self.requirements.iter().any(|requirement| is_reencryption(requirement))
    }

    /// The first excessive demand of a slot or digest, which no cryptsetup makes: trying a key could exhaust the
    /// machine.
    pub(crate) fn excess(&self) -> Option<String> {
        self.excesses().next()
    }

    /// All such demands.
    pub(crate) fn excesses(&self) -> impl Iterator<Item = String> {
        let slots = self.slots.iter().filter_map(|slot| Some((slot.id, slot.kdf.as_ref()?.excess()?)));
        let slots = slots.map(|(id, what)| format!("slot {id} asks for {what}"));
        let digest = |digest: &Digest| {
            let hash = digest.hash.clone().unwrap_or_default();
            let what = Kdf::Pbkdf2 { hash, iterations: digest.iterations }.excess()?;
            Some(format!("digest {} asks for {what}", digest.id))
        };
        slots.chain(self.digests.iter().filter_map(digest))
    }

    /// Whether power failed when all data was rewritten already: there is one segment at rest, equal to the planned
    /// one, while the re-encryption metadata still exists. cryptsetup opens such a volume, but when told to resume it
    /// starts again at the first byte, and the data is lost (seen with 2.6.1).
    #[must_use]
    pub(crate) fn is_rewritten(&self) -> bool {
        let mut live = self.live();
        let (Some(data), None) = (live.next(), live.next()) else { return false };
        let reencryption_digests = |flag: &str| self.segments.iter().find(|segment| segment.has_flag(flag));
        let (Some(before), Some(after)) =
            (reencryption_digests("backup-previous"), reencryption_digests("backup-final"))
        else {
            return false;
        };
        let state = |segment: &Segment| {
            let key = self.digests.iter().find(|digest| digest.segments.contains(&segment.id)).map(|digest| digest.id);
            (key, segment.kind.clone(), segment.cipher.clone(), segment.sector_bytes)
        };
        self.reencrypting() && data.flags.is_empty() && state(data) == state(after) && state(data) != state(before)
    }

    /// Whether the header is detached: its data begins where the header itself would be.
    #[must_use]
    pub(crate) fn is_detached(&self) -> bool {
        self.live().any(|segment| segment.offset == 0)
    }

    /// Whether power failed while a part of the data was being written. That part must be recovered first.
    #[must_use]
    pub(crate) fn is_at_work(&self) -> bool {
        self.reencrypting() && self.live().any(|segment| segment.has_flag("in-reencryption"))
    }

    /// Digests of the keys that encrypt live data.
    pub(crate) fn current_digests(&self) -> impl Iterator<Item = &Digest> {
        self.digests
            .iter()
            .filter(|digest| self.live().any(|segment| segment.is_crypt() && digest.segments.contains(&segment.id)))
    }

    /// Slots that hold the key of this digest.
    pub fn slots_of<'a>(&'a self, digest: &'a Digest) -> impl Iterator<Item = &'a Slot> {
        self.slots.iter().filter(|slot| slot.holds_key() && digest.slots.contains(&slot.id))
    }
}

/// Whether the text is a UUID in the form of RFC 9562.
pub(crate) fn is_plain_uuid(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Whether the requirement is that of a re-encryption. The number at its end is a version.
pub(crate) fn is_reencryption(requirement: &str) -> bool {
    requirement == "offline-reencrypt"
        || requirement.strip_prefix("online-reencrypt").is_some_and(|rest| {
            rest.is_empty()
                || rest.strip_prefix("-v").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        })
}
