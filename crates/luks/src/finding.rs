//! What can be said of a header: one table of codes.

use std::fmt;

use serde::{Serialize, Serializer};

/// How much a finding matters. Ordered: `Info` is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing of LUKS is there to be judged. Written as `-`.
    None,
    /// Worth knowing.
    Info,
    /// A weakness that needs another one to matter.
    Low,
    /// Weaker than it should be today.
    Medium,
    /// Data can be read, changed or lost under conditions that happen.
    High,
    /// Data is readable, out of reach or about to be destroyed.
    Critical,
}

impl Severity {
    /// The word that reports and JSON use.
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
    ($($(#[$doc:meta])* $name:ident = $text:literal, $severity:ident;)*) => {
        /// A kind of finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name that reports and JSON use; names never change.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// How much it matters.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }
        }
    };
}

codes! {
    /// The data is not encrypted.
    CipherNull = "cipher-null", Critical;
    /// A key slot's area is not encrypted.
    KeyslotNull = "keyslot-null", Critical;
    /// ECB: equal blocks stay equal.
    CipherEcb = "cipher-ecb", Critical;
    /// CTR: rewriting a sector reuses the key stream.
    CipherCtr = "cipher-ctr", Critical;
    /// CBC with an IV that can be guessed.
    CipherCbcPredictableIv = "cipher-cbc-predictable-iv", High;
    /// LRW.
    CipherLrw = "cipher-lrw", High;
    /// CBC with ESSIV: can be changed at will bit by bit.
    CipherCbc = "cipher-cbc", Medium;
    /// IVs of 32 bits repeat: more than 2 TiB of data.
    Iv32BitWrap = "iv-32bit-wrap", High;
    /// IVs of 32 bits: must not grow beyond 2 TiB.
    Iv32Bit = "iv-32bit", Low;
    /// Not AES alone.
    CipherUnusual = "cipher-unusual", Info;
    /// 128 key bits.
    Key128 = "key-128", Info;
    /// Authenticated sectors.
    Integrity = "integrity", Info;
    /// The older format.
    Luks1 = "luks1", Medium;
    /// SHA-1 in a key derivation, splitter or digest.
    HashSha1 = "hash-sha1", Medium;
    /// RIPEMD-160 or Whirlpool in one of these.
    HashLegacy = "hash-legacy", Medium;
    /// Too cheap to guess for a passphrase.
    KdfWeak = "kdf-weak", High;
    /// LUKS2 with PBKDF2.
    KdfPbkdf2 = "kdf-pbkdf2", Low;
    /// 512-byte encryption sectors on 4096-byte blocks.
    Sector512 = "sector-512", Low;
    /// No key slot opens the data.
    NoSlot = "no-slot", Critical;
    /// Only one does.
    OneSlot = "one-slot", Info;
    /// All slots of a LUKS1 header are taken.
    SlotsFull = "slots-full", Low;
    /// A slot that opens only when it is named.
    SlotIgnored = "slot-ignored", Info;
    /// A slot that no segment uses.
    UnboundSlot = "unbound-slot", Info;
    /// Tokens.
    Tokens = "tokens", Info;
    /// TRIM passes through.
    FlagDiscards = "flag-discards", Low;
    /// Integrity without journal.
    FlagNoJournal = "flag-no-journal", High;
    /// A data segment starts at 0.
    DetachedHeader = "detached-header", Info;
    /// A re-encryption is not finished and can go on.
    ReencryptUnfinished = "reencrypt-unfinished", High;
    /// A re-encryption is not finished and cannot go on.
    ReencryptStuck = "reencrypt-stuck", Critical;
    /// A requirement beyond re-encryption.
    RequirementUnknown = "requirement-unknown", High;
    /// The first copy is damaged.
    HeaderPrimaryBad = "header-primary-bad", High;
    /// The second copy is damaged or gone.
    HeaderSecondaryBad = "header-secondary-bad", High;
    /// The start of the device was overwritten.
    HeaderPrimaryMissing = "header-primary-missing", Critical;
    /// Both copies are damaged.
    HeaderBothBad = "header-both-bad", Critical;
    /// Both copies are whole and differ.
    HeaderDiffers = "header-differs", High;
    /// Fields that cannot be.
    HeaderInvalid = "header-invalid", Critical;
    /// Neither LUKS1 nor LUKS2.
    HeaderUnknownVersion = "header-unknown-version", Critical;
    /// Key material that is no noise.
    KeyslotAreaDamaged = "keyslot-area-damaged", Critical;
    /// Nothing of LUKS.
    NotLuks = "not-luks", None;
    /// A backup of another volume.
    BackupOtherVolume = "backup-other-volume", Critical;
    /// A backup with another volume key.
    BackupOtherVolumeKey = "backup-other-volume-key", Critical;
    /// A backup with other slots.
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

/// One thing found; a code stands at most once in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// Where, and what to do.
    pub detail: String,
}

impl Finding {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, severity: code.severity(), detail: detail.into() }
    }
}
