//! The encryption information of page 0.
//!
//! Source: docs/formats, "Encryption info on page 0" (MySQL; `lCA`, `lCB`, `lCC`) and "Crypt data on page 0" (MariaDB).
//! `lCC` and MariaDB's record confirmed on testdata, `lCB` and `lCA` on synthetic files made from the description only.

use serde::{Deserialize, Serialize};

use crate::{
    bytes::{Bytes, all_zero},
    ids::{KeyVersion, MasterKeyId},
    page::{Family, flags::SpaceFlags},
};

/// Encryption information on page 0, without the wrapped key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Encryption {
    /// No encryption information.
    None,
    /// MySQL: the tablespace key is wrapped by a master key.
    #[serde(rename = "mysql")]
    MySql {
        /// Version of the information.
        magic: MySqlMagic,
        /// Number of the master key; 0 is the public bootstrap key.
        master_key_id: MasterKeyId,
        /// Server uuid in the master key's name; `lCA` has none.
        server_uuid: Option<String>,
        /// Whether the ENCRYPTION flag is set.
        flag_set: bool,
    },
    /// MariaDB: pages are encrypted with a key of the key management plug-in.
    #[serde(rename = "mariadb")]
    MariaDb {
        /// 0: pages must not be encrypted, 1: they must.
        scheme: u8,
        /// Number of the key.
        key_id: u32,
        /// Lower bound of the pages' key versions.
        min_key_version: KeyVersion,
        /// The table's ENCRYPTED option.
        mode: MariaDbMode,
    },
    /// Percona's "keyring encryption" (magics PSA, PSB, PSC; removed in 8.0.31): recognised, not
    /// supported. A table with ENCRYPTION='N' has the record too, with scheme 0.
    PerconaKeyring {
        /// Magic of the record.
        magic: String,
        /// 0: pages are not encrypted; 1: they are.
        #[serde(default = "encrypting")]
        scheme: u8,
    },
}

/// Version of MySQL's encryption information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MySqlMagic {
    /// `lCA`: 5.7.11.
    V1,
    /// `lCB`: 5.7.12 to 8.0.4.
    V2,
    /// `lCC`: 8.0.5 and newer.
    V3,
}

/// MariaDB's table option ENCRYPTED.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MariaDbMode {
    /// Follows `innodb_encrypt_tables`.
    Default,
    /// ENCRYPTED=YES.
    On,
    /// ENCRYPTED=NO.
    Off,
    /// Not a known value: damaged.
    Unknown,
}

/// Flags and encryption information of page 0 contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disagreement {
    /// The ENCRYPTION flag is set, but there is no encryption information.
    FlagWithoutInfo,
    /// There is encryption information, but the flag is not set.
    InfoWithoutFlag,
    /// There are bytes in place of the information, but they are not valid information.
    UnknownInfo,
    /// MariaDB: ENCRYPTED=YES or NO contradicts the scheme.
    SchemeAgainstMode,
}

/// Beginning of MariaDB's encryption information on page 0.
pub(crate) const MARIADB_MAGIC: &[u8] = b"s\x0e\x0cREt";

/// Scheme of records that were saved before this field existed: encrypting.
const fn encrypting() -> u8 {
    1
}

impl Encryption {
    /// Parses the information at offset `at` of page 0, in the format of the family.
    pub(crate) fn parse(page: &[u8], flags: SpaceFlags, at: usize, family: Family) -> (Self, Option<Disagreement>) {
        let info = page.range(at, page.len());
        let mariadb = page.range(at.saturating_add(MARIADB_SHIFT), page.len());
        if !matches!(family, Family::MariaDbFullCrc32 | Family::MariaDbLegacy) {
            if let Some(found) = Self::mysql(info, flags) {
                let disagreement = (!flags.mysql_encryption()).then_some(Disagreement::InfoWithoutFlag);
                return (found, disagreement);
            }
            if let Some(found) = Self::percona(info) {
                let unknown = matches!(found, Self::PerconaKeyring { scheme: 2.., .. });
                return (found, unknown.then_some(Disagreement::UnknownInfo));
            }
        }
        if let Some(found) = Self::mariadb(mariadb) {
            let disagreement = found.scheme_against_mode();
            return (found, disagreement);
        }
        (Self::None, nothing_found(info, mariadb, flags))
    }

    /// Parses MySQL's information, also from a redo log's header.
    pub(crate) fn mysql(info: &[u8], flags: SpaceFlags) -> Option<Self> {
        let (magic, master_key_id, server_uuid) = Self::mysql_names(info)?;
        Some(Self::MySql { magic, master_key_id, server_uuid, flag_set: flags.mysql_encryption() })
    }

    /// What MySQL's information names: its version, and the number and server of the master key.
    pub(crate) fn mysql_names(info: &[u8]) -> Option<(MySqlMagic, MasterKeyId, Option<String>)> {
        let magic = MySqlMagic::parse(info)?;
        let master_key_id = MasterKeyId(info.be32(3)?);
        let uuid_at = match (magic, info.be32(7)?) {
            // Some versions stored the id of the master key in 8 bytes.
            (MySqlMagic::V2, 0) => 11,
            _ => 7,
        };
        let server_uuid = match magic {
            MySqlMagic::V1 => None,
            _ => uuid(&info.array_at::<36>(uuid_at)?),
        };
        Some((magic, master_key_id, server_uuid))
    }

    fn mariadb(info: &[u8]) -> Option<Self> {
        if !info.starts_with(MARIADB_MAGIC) {
            return None;
        }
        let [scheme] = info.array_at(6)?;
        let [mode] = info.array_at(32)?;
        Some(Self::MariaDb {
            scheme,
            min_key_version: KeyVersion(info.be32(24)?),
            key_id: info.be32(28)?,
            mode: match mode {
                0 => MariaDbMode::Default,
                1 => MariaDbMode::On,
                2 => MariaDbMode::Off,
                _ => MariaDbMode::Unknown,
            },
        })
    }

    /// The record of Percona Server. The scheme follows the magic; in `PSA` (5.7) the length of the
    /// vector (2 bytes), the space id (4) and an offset (2) stand between.
    ///
    /// Source: `fil0crypt.cc` of Percona Server 8.0 (`fil_space_read_crypt_data_v1` to `_v3`); `PSC`
    /// with scheme 0 confirmed on Percona Server 8.0.27.
    fn percona(info: &[u8]) -> Option<Self> {
        let magic = info.get(..3).filter(|magic| is_percona(magic))?;
        let [scheme] = info.array_at(if magic == b"PSA" { 11 } else { 3 })?;
        Some(Self::PerconaKeyring { magic: String::from_utf8_lossy(magic).into_owned(), scheme })
    }

    const fn scheme_against_mode(&self) -> Option<Disagreement> {
        match self {
            Self::MariaDb { scheme: 0, mode: MariaDbMode::On, .. }
            | Self::MariaDb { scheme: 1, mode: MariaDbMode::Off, .. } => Some(Disagreement::SchemeAgainstMode),
            Self::MariaDb { scheme: 2.., .. } => Some(Disagreement::UnknownInfo),
            _ => None,
        }
    }

    /// Whether page 0 declares that the other pages are encrypted. MySQL: by flag or information;
    /// MariaDB and Percona's keyring encryption: by scheme.
    #[must_use]
    pub const fn is_declared(&self) -> bool {
        match self {
            Self::None => false,
            Self::MySql { .. } => true,
            Self::MariaDb { scheme, .. } | Self::PerconaKeyring { scheme, .. } => *scheme != 0,
        }
    }
}

impl MySqlMagic {
    fn parse(info: &[u8]) -> Option<Self> {
        let magic = info.get(..3)?;
        [Self::V1, Self::V2, Self::V3].into_iter().find(|known| known.as_bytes() == magic)
    }

    /// The bytes at the beginning of the information.
    #[must_use]
    pub const fn as_bytes(self) -> &'static [u8; 3] {
        match self {
            Self::V1 => b"lCA",
            Self::V2 => b"lCB",
            Self::V3 => b"lCC",
        }
    }
}

/// Offset of MariaDB's record, relative to MySQL's information.
const MARIADB_SHIFT: usize = 38;

/// Whether this page 0 has MariaDB's crypt data.
pub(crate) fn has_mariadb_magic(page: &[u8], at: usize) -> bool {
    page.range(at.saturating_add(MARIADB_SHIFT), page.len()).starts_with(MARIADB_MAGIC)
}

/// Whether this page 0 has MySQL's or Percona's information.
pub(crate) fn has_mysql_magic(page: &[u8], at: usize) -> bool {
    let info = page.range(at, page.len());
    MySqlMagic::parse(info).is_some() || info.get(..3).is_some_and(is_percona)
}

fn is_percona(magic: &[u8]) -> bool {
    matches!(magic, b"PSA" | b"PSB" | b"PSC")
}

fn nothing_found(info: &[u8], mariadb: &[u8], flags: SpaceFlags) -> Option<Disagreement> {
    let area = if flags.is_full_crc32() { mariadb.get(..6) } else { info.get(..111) };
    let written = area.is_some_and(|area| !all_zero(area));
    match (written, !flags.is_full_crc32() && flags.mysql_encryption()) {
        (true, _) => Some(Disagreement::UnknownInfo),
        (false, true) => Some(Disagreement::FlagWithoutInfo),
        (false, false) => None,
    }
}

/// A uuid in its usual text form; anything else is damage and ignored.
fn uuid(bytes: &[u8; 36]) -> Option<String> {
    is_uuid(bytes).then(|| bytes.iter().map(|byte| char::from(*byte)).collect())
}

/// Whether text is a uuid in its usual form.
pub(crate) fn is_uuid(text: &[u8]) -> bool {
    let fits = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.iter().enumerate().all(fits)
}
