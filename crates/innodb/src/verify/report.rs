//! Result of verifying one file.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    bytes::{as_u64, bump},
    ids::{KeyVersion, MasterKeyId},
};

/// Result of verifying a file with the available keys, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Readable without a key, and every check passes.
    Clear,
    /// Encrypted (at least in part), decrypted with the available keys, and every check passes.
    Ok,
    /// No fault is known, but without a key, or in this version of the format, nothing can be
    /// proven.
    Unverifiable,
    /// Not a known format, although its name or location says it should be one.
    Unidentified,
    /// The keys given do not include the one that the file needs.
    MissingKey,
    /// The key that the file needs was given, but does not decrypt it.
    WrongKey,
    /// Shorter than its header says.
    Truncated,
    /// Some unit fails a check, or is in the wrong place.
    Damaged,
    /// The key information is damaged: no key can decrypt the file.
    BadKeyInfo,
}

impl Verdict {
    /// Whether the file can be read, with the available keys or without any, and has no fault.
    #[must_use]
    pub const fn is_sound(self) -> bool {
        matches!(self, Self::Clear | Self::Ok)
    }

    /// Name in JSON and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Ok => "ok",
            Self::Unverifiable => "unverifiable",
            Self::Unidentified => "unidentified",
            Self::MissingKey => "missing-key",
            Self::WrongKey => "wrong-key",
            Self::Truncated => "truncated",
            Self::Damaged => "damaged",
            Self::BadKeyInfo => "bad-key-info",
        }
    }
}

/// Pages, blocks or events, by state. `bad` units are counted nowhere else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Units {
    /// Whole units in the file; the sum of all others once the file was read.
    pub total: u64,
    /// Encrypted.
    pub encrypted: u64,
    /// Readable without a key.
    pub clear: u64,
    /// Without content.
    pub empty: u64,
    /// Units that fail a check.
    pub bad: u64,
}

impl Units {
    /// Adds the counts of another part of the file.
    pub const fn add(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        self.encrypted = self.encrypted.saturating_add(other.encrypted);
        self.clear = self.clear.saturating_add(other.clear);
        self.empty = self.empty.saturating_add(other.empty);
        self.bad = self.bad.saturating_add(other.bad);
    }
}

/// The check that a finding is about: the layer of the format that is faulty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The file is shorter than page 0 (or an event, or a block) says.
    FileSize,
    /// The last unit is incomplete.
    PartialUnit,
    /// The header of the file (page 0, a magic, a format number).
    Header,
    /// Encryption flag and encryption information agree.
    KeyInfo,
    /// The required key is available.
    Key,
    /// The key unwraps the key information (or, for MariaDB, decrypts the pages).
    KeyOpens,
    /// Checksum of a unit that is readable without a key.
    Checksum,
    /// Checksum over ciphertext, which needs no key.
    CiphertextChecksum,
    /// Checksum of a unit after decryption.
    OpenedChecksum,
    /// The log sequence number repeated in the trailer.
    TrailerLsn,
    /// The unit names its own position.
    Position,
    /// The unit names its own tablespace.
    SpaceId,
    /// The length a unit gives for itself.
    Length,
    /// The first events of a binary log are in an order that does not prevent its server from starting.
    EventOrder,
    /// Compressed content can be decompressed.
    Decompression,
    /// Allocated, but all zero.
    AllocatedZero,
    /// Clear, in a tablespace whose pages are encrypted.
    ClearUnit,
    /// Encrypted, in a tablespace whose pages are clear.
    EncryptedUnit,
    /// Clear and encrypted units mixed where servers allow it: undo, doublewrite, redo, or a
    /// tablespace whose encryption is in progress. Not damage.
    Mixed,
    /// The system could not read the unit: a failing disk.
    Read,
    /// A copy of a page that no longer matters: its tablespace is gone, has another key now, or is
    /// recreated at every start. Not damage.
    Stale,
    /// The newest part of a log is incomplete, as after a crash; recovery cuts it off. Not damage.
    LogEnd,
    /// The file changed while it was read, so the unit could not be judged. Not damage.
    Changing,
    /// Unknown type or version, so the unit could not be judged. Not damage.
    Unknown,
}

impl Check {
    /// Whether a unit with such a finding is damaged.
    #[must_use]
    pub const fn is_damage(self) -> bool {
        !matches!(
            self,
            Self::FileSize
                | Self::PartialUnit
                | Self::Key
                | Self::KeyOpens
                | Self::Mixed
                | Self::Stale
                | Self::LogEnd
                | Self::Changing
                | Self::Unknown
        )
    }
}

/// An observation about a unit or about the whole file: damage, or a state that limits what is proven.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// Number of the page, block or event in the file, from 0.
    #[serde(rename = "page")]
    pub unit: Option<u64>,
    /// Offset in the file in bytes.
    pub offset: Option<u64>,
    /// The check that failed.
    pub check: Check,
    /// Message with expected and found values. Never a key, never row data.
    pub detail: String,
}

/// The key that a file needs. Never the key itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum RequiredKey {
    /// MySQL: a master key of the keyring.
    #[serde(rename = "mysql")]
    MySql {
        /// Its name in the keyring; empty for the public bootstrap key.
        name: String,
        /// Its number.
        master_key_id: MasterKeyId,
        /// The server uuid in its name; 5.7.11 has none.
        server_uuid: Option<String>,
    },
    /// MySQL: the transfer key of a `.cfp` file next to the tablespace.
    ExportFile,
    /// MySQL: a key of the binary log.
    MysqlBinlog {
        /// Its name in the keyring.
        name: String,
    },
    /// MariaDB: a key of the key file.
    #[serde(rename = "mariadb")]
    MariaDb {
        /// Its number.
        key_id: u32,
        /// The key versions that the units need, ascending.
        versions: Vec<KeyVersion>,
    },
}

impl RequiredKey {
    /// Whether a keyring or a key file holds it. The bootstrap key is public, and a transfer key is in a `.cfp` file.
    #[must_use]
    pub const fn is_in_a_store(&self) -> bool {
        match self {
            Self::MySql { name, .. } => !name.is_empty(),
            Self::ExportFile => false,
            Self::MysqlBinlog { .. } | Self::MariaDb { .. } => true,
        }
    }
}

impl fmt::Display for RequiredKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MySql { name, .. } if name.is_empty() => f.write_str("the public bootstrap key"),
            Self::MysqlBinlog { name } if name.is_empty() => f.write_str("a key that it does not name"),
            Self::MySql { name, .. } | Self::MysqlBinlog { name } => write!(f, "key {name}"),
            Self::ExportFile => f.write_str("the key of its .cfp file"),
            Self::MariaDb { key_id, versions } => {
                let listed = versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                match versions.len() {
                    0 => write!(f, "key {key_id}"),
                    1 => write!(f, "key {key_id} version {listed}"),
                    _ => write!(f, "key {key_id} versions {listed}"),
                }
            }
        }
    }
}

/// Result of verifying one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReport {
    /// The worst of all findings.
    pub verdict: Verdict,
    /// Unit counts by state.
    pub units: Units,
    /// The key that the file needs, if it is encrypted and names it.
    pub key: Option<RequiredKey>,
    /// Findings by offset; at most [`MAX_FINDINGS`].
    pub findings: Vec<Finding>,
    /// Number of further findings.
    pub findings_left_out: u64,
}

impl FileReport {
    /// The report on a file of a format that no server encrypts and that has no checksums to verify.
    #[must_use]
    pub fn without_units() -> Self {
        ReportBuilder::default().finish(None)
    }

    /// Records that the file is shorter than other files say.
    pub fn shorten(&mut self, file_bytes: u64, detail: impl Into<String>) {
        self.verdict = self.verdict.max(Verdict::Truncated);
        let finding = Finding { unit: None, offset: Some(file_bytes), check: Check::FileSize, detail: detail.into() };
        self.findings.push(finding);
    }

    /// Records that the file is valid, but is another file than its name says.
    pub fn misplace(&mut self, detail: impl Into<String>) {
        self.verdict = self.verdict.max(Verdict::Damaged);
        let finding = Finding { unit: None, offset: Some(0), check: Check::Header, detail: detail.into() };
        self.findings.push(finding);
    }

    /// The report on a file of an unknown format; `detail` says why it is unknown.
    #[must_use]
    pub fn unidentified(detail: impl Into<String>) -> Self {
        let finding = Finding { unit: None, offset: Some(0), check: Check::Header, detail: detail.into() };
        Self {
            verdict: Verdict::Unidentified,
            units: Units::default(),
            key: None,
            findings: vec![finding],
            findings_left_out: 0,
        }
    }
}

/// Maximum number of findings kept per file; more are only counted.
pub const MAX_FINDINGS: usize = 1000;

/// Collects units and findings, of a whole file or of a part to be [merged](Self::merge).
#[derive(Clone, Debug, Default)]
pub struct ReportBuilder {
    /// Units so far.
    pub units: Units,
    findings: Vec<Finding>,
    left_out: u64,
    damage: bool,
    truncated: bool,
    wrong_key: bool,
    missing_key: bool,
    unproven: bool,
    bad_key_info: bool,
}

impl ReportBuilder {
    /// Adds a finding; its check decides the verdict.
    pub fn find(&mut self, unit: Option<u64>, offset: Option<u64>, check: Check, detail: impl Into<String>) {
        self.push(Finding { unit, offset, check, detail: detail.into() });
    }

    /// Adds a finding.
    pub fn push(&mut self, finding: Finding) {
        match finding.check {
            Check::FileSize | Check::PartialUnit => self.truncated = true,
            Check::Key => self.missing_key = true,
            Check::KeyOpens => self.wrong_key = true,
            Check::Changing | Check::Unknown => self.unproven = true,
            Check::Mixed | Check::Stale | Check::LogEnd => {}
            _ => self.damage = true,
        }
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        } else {
            bump(&mut self.left_out);
        }
    }

    /// Reports that the key information at `offset` is damaged: no key can decrypt the file.
    pub fn bad_key_info(&mut self, offset: Option<u64>, detail: impl Into<String>) {
        self.bad_key_info = true;
        self.find(None, offset, Check::KeyInfo, detail);
    }

    /// Adds findings that were counted but not kept.
    pub const fn leave_out(&mut self, findings: u64) {
        self.left_out = self.left_out.saturating_add(findings);
    }

    /// Records that encrypted units could not be verified for lack of a key.
    pub const fn unproven(&mut self) {
        self.unproven = true;
    }

    /// Whether anything was found so far.
    #[must_use]
    pub const fn has_findings(&self) -> bool {
        !self.findings.is_empty()
    }

    /// Whether any finding so far is damage.
    #[must_use]
    pub const fn is_damaged(&self) -> bool {
        self.damage
    }

    /// Adds another part of the same file.
    pub fn merge(&mut self, other: Self) {
        self.units.add(&other.units);
        self.left_out = self.left_out.saturating_add(other.left_out);
        self.damage |= other.damage;
        self.truncated |= other.truncated;
        self.wrong_key |= other.wrong_key;
        self.missing_key |= other.missing_key;
        self.unproven |= other.unproven;
        self.bad_key_info |= other.bad_key_info;
        self.findings.extend(other.findings);
        if self.findings.len() > MAX_FINDINGS {
            self.findings.sort_by_key(|finding| (finding.offset, finding.unit, finding.check));
            let beyond = as_u64(self.findings.len().saturating_sub(MAX_FINDINGS));
            self.findings.truncate(MAX_FINDINGS);
            self.left_out = self.left_out.saturating_add(beyond);
        }
    }

    /// Makes the report; the verdict is the worst of all findings.
    #[must_use]
    pub fn finish(mut self, key: Option<RequiredKey>) -> FileReport {
        self.findings.sort_by_key(|finding| (finding.offset, finding.unit, finding.check));
        FileReport {
            verdict: self.verdict(),
            units: self.units,
            key,
            findings: self.findings,
            findings_left_out: self.left_out,
        }
    }

    const fn verdict(&self) -> Verdict {
        if self.bad_key_info {
            Verdict::BadKeyInfo
        } else if self.damage {
            Verdict::Damaged
        } else if self.truncated {
            Verdict::Truncated
        } else if self.wrong_key {
            Verdict::WrongKey
        } else if self.missing_key {
            Verdict::MissingKey
        } else if self.unproven {
            Verdict::Unverifiable
        } else if self.units.encrypted > 0 {
            Verdict::Ok
        } else {
            Verdict::Clear
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_named_as_their_store_names_them() {
        let master =
            |name: &str| RequiredKey::MySql { name: name.to_owned(), master_key_id: MasterKeyId(1), server_uuid: None };
        let binlog = |name: &str| RequiredKey::MysqlBinlog { name: name.to_owned() };
        let mariadb = |versions: &[u32]| {
            let versions = versions.iter().copied().map(KeyVersion).collect();
            RequiredKey::MariaDb { key_id: 1, versions }
        };
        for (key, text) in [
            (master("INNODBKey-x-1"), "key INNODBKey-x-1"),
            (master(""), "the public bootstrap key"),
            (binlog("MySQLReplicationKey_x_1"), "key MySQLReplicationKey_x_1"),
            (binlog(""), "a key that it does not name"),
            (RequiredKey::ExportFile, "the key of its .cfp file"),
            (mariadb(&[]), "key 1"),
            (mariadb(&[3]), "key 1 version 3"),
            (mariadb(&[3, 4, 7]), "key 1 versions 3, 4, 7"),
        ] {
            assert_eq!(key.to_string(), text);
        }
    }
}
