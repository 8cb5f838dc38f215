//! What a header says, the same for LUKS1 and LUKS2.

use crate::kdf::Kdf;

/// The two formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One header, eight slots, PBKDF2.
    Luks1,
    /// Two headers with JSON metadata.
    Luks2,
}

/// A header whose fields agree with each other. A LUKS1 header shows as one segment, one digest and its
/// active slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// The format.
    pub format: Format,
    /// The volume's UUID, as text.
    pub uuid: String,
    /// Label (LUKS2); may be empty.
    pub label: String,
    /// Subsystem label (LUKS2); may be empty.
    pub subsystem: String,
    /// Sequence number, one more with each change; 0 for LUKS1, which has none.
    pub sequence: u64,
    /// Bytes of one copy of the metadata; for LUKS1 those before the first key slot.
    pub metadata_bytes: u64,
    /// Bytes from the start of the device that the header and its key slots use; a header backup has as many.
    pub header_bytes: u64,
    /// The hash of a LUKS1 header, which serves key derivation, splitter and digest.
    pub hash: Option<String>,
    /// Bytes of the volume key, where the header itself says so (LUKS1); LUKS2 says it in its slots.
    pub key_bytes: Option<u32>,
    /// Parts of the device, by number.
    pub segments: Vec<Segment>,
    /// Key slots in use, by number.
    pub slots: Vec<Slot>,
    /// Proofs of volume keys, by number.
    pub digests: Vec<Digest>,
    /// Types of the tokens, by number.
    pub tokens: Vec<String>,
    /// Persistent flags of activation.
    pub flags: Vec<String>,
    /// Mandatory requirements.
    pub requirements: Vec<String>,
}

/// A part of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its number.
    pub id: u32,
    /// `crypt`, `linear`, `hw-opal`, …
    pub kind: String,
    /// The cipher specification, such as `aes-xts-plain64`; empty if it has none.
    pub cipher: String,
    /// Bytes of an encryption sector; 512 if it has none.
    pub sector_bytes: u32,
    /// First byte on the device.
    pub offset: u64,
    /// Bytes; none for all the rest of the device.
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
    /// Bytes of the authentication key, where the header says so.
    pub key_bytes: Option<u32>,
}

/// A key slot in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Its number.
    pub id: u32,
    /// `luks2` for a slot that holds a key (LUKS1 too), `reencrypt`, or something of the future.
    pub kind: String,
    /// Bytes of the key it holds.
    pub key_bytes: u32,
    /// Cipher of the key material; empty for a slot that holds none.
    pub area_cipher: String,
    /// First byte of its area.
    pub area_offset: u64,
    /// Bytes of its area.
    pub area_bytes: u64,
    /// Key derivation, for a slot that holds a key.
    pub kdf: Option<Kdf>,
    /// Salt of the key derivation, which nothing but a new key changes.
    pub salt: Vec<u8>,
    /// Hash of the anti-forensic splitter.
    pub splitter_hash: Option<String>,
    /// Opens only when it is named (priority `ignore`).
    pub ignored: bool,
    /// Is tried before others (priority `prefer`).
    pub preferred: bool,
}

/// Proof of a volume key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Its number.
    pub id: u32,
    /// Its hash.
    pub hash: Option<String>,
    /// Iterations of PBKDF2 that it takes to compare a key with it.
    pub iterations: u64,
    /// Salt and digest, which together name the volume key without giving it away.
    pub proof: (Vec<u8>, Vec<u8>),
    /// Slots that hold this key.
    pub slots: Vec<u32>,
    /// Segments under this key.
    pub segments: Vec<u32>,
}

/// The type of slots that hold a key.
pub(crate) const KEY_SLOT: &str = "luks2";

impl Segment {
    /// Whether dm-crypt encrypts it.
    #[must_use]
    pub fn is_crypt(&self) -> bool {
        self.kind == "crypt" || self.kind == "hw-opal-crypt"
    }

    /// Whether it is only a note of a re-encryption about what was or will be.
    #[must_use]
    pub fn is_backup(&self) -> bool {
        self.flags.iter().any(|flag| flag.starts_with("backup-"))
    }

    /// Whether it carries this flag.
    #[must_use]
    pub fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|current| current == flag)
    }
}

impl Slot {
    /// Whether it holds a key, unlike the notes of a re-encryption.
    #[must_use]
    pub fn holds_key(&self) -> bool {
        self.kind == KEY_SLOT
    }
}

impl Volume {
    /// Segments that hold data now.
    pub fn live(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| !segment.is_backup())
    }

    /// Its UUID as part of a file's name or of a table; none if it is not one, since whoever writes to the disk
    /// writes this too.
    #[must_use]
    pub fn plain_uuid(&self) -> Option<&str> {
        is_plain_uuid(&self.uuid).then_some(self.uuid.as_str())
    }

    /// Whether a re-encryption, encryption or decryption is not finished.
    #[must_use]
    pub fn reencrypting(&self) -> bool {
        self.requirements.iter().any(|requirement| is_reencryption(requirement))
    }

    /// What a slot or a digest asks for that no cryptsetup makes: trying a key may exhaust the machine.
    pub(crate) fn excess(&self) -> Option<String> {
        self.excesses().next()
    }

    /// All of that.
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

    /// Whether a power cut came when all data was rewritten already: one segment at rest that is what was to be, while
    /// the notes of the re-encryption are still there. cryptsetup opens it, but one that is told to go on from here
    /// begins with the first byte once more, and the data is lost (seen with 2.6.1).
    #[must_use]
    pub fn is_rewritten(&self) -> bool {
        let mut live = self.live();
        let (Some(data), None) = (live.next(), live.next()) else { return false };
        let noted = |flag: &str| self.segments.iter().find(|segment| segment.has_flag(flag));
        let (Some(before), Some(after)) = (noted("backup-previous"), noted("backup-final")) else { return false };
        let state = |segment: &Segment| {
            let key = self.digests.iter().find(|digest| digest.segments.contains(&segment.id)).map(|digest| digest.id);
            (key, segment.kind.clone(), segment.cipher.clone(), segment.sector_bytes)
        };
        self.reencrypting() && data.flags.is_empty() && state(data) == state(after) && state(data) != state(before)
    }

    /// Whether the data is elsewhere than the header: it begins where the header itself would be.
    #[must_use]
    pub fn is_detached(&self) -> bool {
        self.live().any(|segment| segment.offset == 0)
    }

    /// Whether a power cut came while a part of the data was written, which has to be recovered before anything else.
    #[must_use]
    pub fn is_at_work(&self) -> bool {
        self.reencrypting() && self.live().any(|segment| segment.has_flag("in-reencryption"))
    }

    /// Digests of the keys that encrypt live data.
    pub fn live_digests(&self) -> impl Iterator<Item = &Digest> {
        self.digests
            .iter()
            .filter(|digest| self.live().any(|segment| segment.is_crypt() && digest.segments.contains(&segment.id)))
    }

    /// Slots that hold the key of this digest.
    pub fn slots_of<'a>(&'a self, digest: &'a Digest) -> impl Iterator<Item = &'a Slot> {
        self.slots.iter().filter(|slot| slot.holds_key() && digest.slots.contains(&slot.id))
    }
}

/// Whether it is a UUID as RFC 9562 writes one.
pub(crate) fn is_plain_uuid(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Names of requirements that a re-encryption leaves; the number at the end is its version.
pub(crate) fn is_reencryption(requirement: &str) -> bool {
    requirement == "offline-reencrypt"
        || requirement.strip_prefix("online-reencrypt").is_some_and(|rest| {
            rest.is_empty()
                || rest.strip_prefix("-v").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        })
}
