//! Findings about a header, and the table of their codes.

use std::fmt;

use serde::{Serialize, Serializer};

/// How serious a finding is, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// There is no LUKS header to judge. Written as `-`.
    None,
    /// For information: nothing has to be done.
    Info,
    /// A weakness that matters only in combination with another.
    Low,
    /// Weaker than current practice.
    Medium,
    /// Data can be read, changed or lost under conditions that occur in practice.
    High,
    /// Data is readable, inaccessible or about to be destroyed.
    Critical,
}

impl Severity {
    /// Name in reports and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "-",
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl Serialize for Severity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $severity:ident $(, $damage:ident)?;)*) => {
        /// Kinds of findings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Name in reports and JSON; it never changes.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Severity of this code.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            /// Whether the volume is damaged, unfinished, or may soon not open, rather than weak.
            #[must_use]
            pub const fn is_damage(self) -> bool {
                match self { $(Self::$name => codes!(@is_damage $($damage)?),)* }
            }
        }
    };
    (@is_damage) => { false };
    (@is_damage Damage) => { true };
}

codes! {
    /// The data is not encrypted.
    CipherNull = "cipher-null", Critical;
    /// A key slot's area is not encrypted.
    KeyslotNull = "keyslot-null", Critical;
    /// ECB mode: equal blocks encrypt to equal blocks.
    CipherEcb = "cipher-ecb", Critical;
    /// CTR mode: rewriting a sector reuses the key stream.
    CipherCtr = "cipher-ctr", Critical;
    /// CBC mode with a predictable IV.
    CipherCbcPredictableIv = "cipher-cbc-predictable-iv", High;
    /// LRW mode.
    CipherLrw = "cipher-lrw", High;
    /// CBC mode with ESSIV: ciphertext can be modified to flip chosen bits.
    CipherCbc = "cipher-cbc", Medium;
    /// 32-bit IVs that repeat: there are more than 2 TiB of data.
    Iv32BitWrap = "iv-32bit-wrap", High;
    /// 32-bit IVs: the data must not grow beyond 2 TiB.
    Iv32Bit = "iv-32bit", Low;
    /// A cipher other than AES, or a cascade with AES.
    CipherUnusual = "cipher-unusual", Info;
    /// 128-bit key.
    Key128 = "key-128", Info;
    /// Authenticated sectors.
    Integrity = "integrity", Info;
    /// The older format, LUKS1.
    Luks1 = "luks1", Medium;
    /// SHA-1 in a key derivation, anti-forensic splitter or digest.
    HashSha1 = "hash-sha1", Medium;
    /// RIPEMD-160 or Whirlpool in one of these places.
    HashLegacy = "hash-legacy", Medium;
    /// The key derivation is too cheap to protect a passphrase.
    KdfWeak = "kdf-weak", High;
    /// LUKS2 with PBKDF2.
    KdfPbkdf2 = "kdf-pbkdf2", Low;
    /// 512-byte encryption sectors on 4096-byte blocks.
    Sector512 = "sector-512", Low;
    /// No key slot opens the data.
    NoSlot = "no-slot", Critical, Damage;
    /// Only one key slot opens the data.
    OneSlot = "one-slot", Info;
    /// All slots of a LUKS1 header are taken.
    SlotsFull = "slots-full", Low;
    /// A slot that opens only when it is selected explicitly.
    SlotIgnored = "slot-ignored", Info;
    /// A slot whose key encrypts no segment.
    UnboundSlot = "unbound-slot", Info;
    /// The header has tokens.
    Tokens = "tokens", Info;
    /// TRIM is passed to the disk.
    FlagDiscards = "flag-discards", Low;
    /// Integrity protection without a journal.
    FlagNoJournal = "flag-no-journal", High;
    /// Detached header: the data segment starts at 0.
    DetachedHeader = "detached-header", Info;
    /// A re-encryption is unfinished and can be resumed.
    ReencryptUnfinished = "reencrypt-unfinished", High, Damage;
    /// A re-encryption is unfinished and cannot be resumed.
    ReencryptStuck = "reencrypt-stuck", Critical, Damage;
    /// An unknown mandatory requirement.
    RequirementUnknown = "requirement-unknown", High, Damage;
    /// The primary header copy is damaged.
    HeaderPrimaryBad = "header-primary-bad", High, Damage;
    /// The secondary header copy is damaged or missing.
    HeaderSecondaryBad = "header-secondary-bad", High, Damage;
    /// The primary header copy was overwritten.
    HeaderPrimaryMissing = "header-primary-missing", Critical, Damage;
    /// Both copies are damaged.
    HeaderBothBad = "header-both-bad", Critical, Damage;
    /// Both copies are valid and differ.
    HeaderDiffers = "header-differs", High, Damage;
    /// Fields have impossible values.
    HeaderInvalid = "header-invalid", Critical, Damage;
    /// The version is neither LUKS1 nor LUKS2.
    HeaderUnknownVersion = "header-unknown-version", Critical, Damage;
    /// Key material that does not look random.
    KeyslotAreaDamaged = "keyslot-area-damaged", Critical, Damage;
    /// Not a LUKS header.
    NotLuks = "not-luks", None;
    /// The backup belongs to another volume.
    BackupOtherVolume = "backup-other-volume", Critical;
    /// The backup has another volume key.
    BackupOtherVolumeKey = "backup-other-volume-key", Critical;
    /// The backup has other key slots.
    BackupStale = "backup-stale", High;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A finding. A report has at most one for each code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The kind of finding.
    pub code: Code,
    /// How serious it is.
    pub severity: Severity,
    /// Where it was found, and what to do.
    pub detail: String,
}

impl Finding {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, severity: code.severity(), detail: detail.into() }
    }
}
