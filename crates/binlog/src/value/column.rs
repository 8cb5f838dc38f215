//! Columns of a table and their types.
//!
//! Source: `enum_field_types` in `field_types.h`, `Field_*::do_save_field_metadata` of MySQL.

use crate::{Fault, bytes::Bytes};

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its type.
    pub kind: ColumnType,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether a number is unsigned; `None` if the log does not state it.
    pub unsigned: Option<bool>,
    /// Its name; `None` unless `binlog_row_metadata=FULL`.
    pub name: Option<String>,
    /// Number of the collation of text, ENUM and SET; 63 is `binary`.
    pub collation: Option<u64>,
    /// Labels of ENUM and SET, in the character set of the collation; empty unless `binlog_row_metadata=FULL`.
    pub labels: Vec<Vec<u8>>,
    /// Subtype of GEOMETRY; `None` unless `binlog_row_metadata=FULL`.
    pub geometry: Option<u64>,
    /// Dimensions of VECTOR.
    pub dimensions: Option<u64>,
    /// Whether the column is visible; `None` unless `binlog_row_metadata=FULL`.
    pub visible: Option<bool>,
}

impl Column {
    pub(crate) const fn new(kind: ColumnType) -> Self {
        Self {
            kind,
            nullable: false,
            unsigned: None,
            name: None,
            collation: None,
            labels: Vec::new(),
            geometry: None,
            dimensions: None,
            visible: None,
        }
    }
}

/// Type of a column, as the log describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnType {
    /// No value but NULL.
    Null,
    /// TINYINT to BIGINT.
    Integer {
        /// 1, 2, 3, 4 or 8.
        bytes: u8,
    },
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// DECIMAL.
    Decimal {
        /// Digits, 1 to 65.
        precision: u8,
        /// Fractional digits.
        scale: u8,
    },
    /// YEAR.
    Year,
    /// DATE.
    Date,
    /// TIME from before MySQL 5.6.
    OldTime,
    /// DATETIME from before MySQL 5.6.
    OldDateTime,
    /// TIMESTAMP from before MySQL 5.6.
    OldTimestamp,
    /// TIME.
    Time {
        /// Digits of the fraction, 0 to 6.
        decimals: u8,
    },
    /// DATETIME.
    DateTime {
        /// Digits of the fraction, 0 to 6.
        decimals: u8,
    },
    /// TIMESTAMP.
    Timestamp {
        /// Digits of the fraction, 0 to 6.
        decimals: u8,
    },
    /// BIT.
    Bit {
        /// Number of bits, 1 to 64.
        bits: u8,
    },
    /// ENUM.
    Enum {
        /// 1 or 2.
        bytes: u8,
    },
    /// SET.
    Set {
        /// 1 to 8.
        bytes: u8,
    },
    /// CHAR, BINARY.
    String {
        /// Maximum length of a value.
        max_bytes: u16,
    },
    /// VARCHAR, VARBINARY.
    VarChar {
        /// Maximum length of a value.
        max_bytes: u16,
    },
    /// TEXT, BLOB.
    Blob {
        /// Bytes of the length, 1 to 4.
        length_bytes: u8,
    },
    /// GEOMETRY.
    Geometry {
        /// Bytes of the length, 1 to 4.
        length_bytes: u8,
    },
    /// MySQL's JSON.
    Json {
        /// Bytes of the length, 1 to 4.
        length_bytes: u8,
    },
    /// MySQL's VECTOR.
    Vector {
        /// Bytes of the length, 1 to 4.
        length_bytes: u8,
    },
    /// MariaDB's `VARCHAR … COMPRESSED`.
    CompressedVarChar {
        /// Maximum length of a value.
        max_bytes: u16,
    },
    /// MariaDB's `BLOB COMPRESSED`.
    CompressedBlob {
        /// Bytes of the length, 1 to 4.
        length_bytes: u8,
    },
    /// A type whose values cannot be decoded.
    Unknown(u8),
}

impl ColumnType {
    /// Reads the metadata of a column of type `code`.
    pub(crate) fn parse(code: u8, metadata: &mut Bytes<'_>) -> Result<Self, Fault> {
        Ok(match code {
            1 => Self::Integer { bytes: 1 },
            2 => Self::Integer { bytes: 2 },
            9 => Self::Integer { bytes: 3 },
            3 => Self::Integer { bytes: 4 },
            8 => Self::Integer { bytes: 8 },
            4 => {
                metadata.u8()?;
                Self::Float
            }
            5 => {
                metadata.u8()?;
                Self::Double
            }
            6 => Self::Null,
            7 => Self::OldTimestamp,
            10 | 14 => Self::Date,
            11 => Self::OldTime,
            12 => Self::OldDateTime,
            13 => Self::Year,
            15 | 253 => Self::VarChar { max_bytes: metadata.u16()? },
            16 => bits(metadata)?,
            17 => Self::Timestamp { decimals: decimals(metadata)? },
            18 => Self::DateTime { decimals: decimals(metadata)? },
            19 => Self::Time { decimals: decimals(metadata)? },
            140 => Self::CompressedBlob { length_bytes: length_bytes(metadata)? },
            141 => Self::CompressedVarChar { max_bytes: metadata.u16()? },
            242 => Self::Vector { length_bytes: length_bytes(metadata)? },
            245 => Self::Json { length_bytes: length_bytes(metadata)? },
            246 => decimal(metadata)?,
            247 | 248 | 254 => string(metadata)?,
            249..=252 => Self::Blob { length_bytes: length_bytes(metadata)? },
            255 => Self::Geometry { length_bytes: length_bytes(metadata)? },
            // 0 is DECIMAL of MySQL 4.1, whose values are not documented; 20 is an index on an array.
            other => Self::Unknown(other),
        })
    }

    /// Whether the metadata states the signedness. Servers count YEAR as a number.
    pub(crate) const fn is_number(&self) -> bool {
        matches!(self, Self::Integer { .. } | Self::Float | Self::Double | Self::Decimal { .. } | Self::Year)
    }

    /// Whether the metadata has a collation for the column; ENUM and SET have theirs in another field. MySQL counts
    /// VECTOR as text, MariaDB GEOMETRY.
    pub(crate) const fn has_collation(&self, mariadb: bool) -> bool {
        match self {
            Self::String { .. }
            | Self::VarChar { .. }
            | Self::Blob { .. }
            | Self::CompressedVarChar { .. }
            | Self::CompressedBlob { .. } => true,
            Self::Vector { .. } => !mariadb,
            Self::Geometry { .. } => mariadb,
            _ => false,
        }
    }

    /// Whether the column has labels.
    pub(crate) const fn has_labels(&self) -> bool {
        matches!(self, Self::Enum { .. } | Self::Set { .. })
    }
}

/// Reads the metadata of a string: CHAR or BINARY, ENUM, or SET. For lengths above 255, the two high bits are in the
/// type, inverted.
fn string(metadata: &mut Bytes<'_>) -> Result<ColumnType, Fault> {
    const ENUM: u8 = 247;
    const SET: u8 = 248;
    const STRING: u8 = 254;
    const HIGH_BITS: u8 = 0x30;
    let [kind, length] = metadata.array()?;
    let (kind, high) = (kind | HIGH_BITS, (kind & HIGH_BITS) ^ HIGH_BITS);
    match kind {
        ENUM if matches!(length, 1 | 2) => Ok(ColumnType::Enum { bytes: length }),
        SET if (1..=8).contains(&length) => Ok(ColumnType::Set { bytes: length }),
        STRING => Ok(ColumnType::String { max_bytes: (u16::from(high) << 4) | u16::from(length) }),
        _ => Err(metadata.malformed()),
    }
}

fn bits(metadata: &mut Bytes<'_>) -> Result<ColumnType, Fault> {
    let [rest, bytes] = metadata.array()?;
    let bits = u16::from(bytes).saturating_mul(8).saturating_add(u16::from(rest));
    match u8::try_from(bits) {
        Ok(bits @ 1..=64) if rest < 8 => Ok(ColumnType::Bit { bits }),
        _ => Err(metadata.malformed()),
    }
}

fn decimal(metadata: &mut Bytes<'_>) -> Result<ColumnType, Fault> {
    const MAX_PRECISION: u8 = 65;
    const MAX_SCALE: u8 = 38;
    let [precision, scale] = metadata.array()?;
    let fits = (1..=MAX_PRECISION).contains(&precision) && scale <= precision && scale <= MAX_SCALE;
    if fits { Ok(ColumnType::Decimal { precision, scale }) } else { Err(metadata.malformed()) }
}

fn decimals(metadata: &mut Bytes<'_>) -> Result<u8, Fault> {
    let decimals = metadata.u8()?;
    if decimals <= 6 { Ok(decimals) } else { Err(metadata.malformed()) }
}

fn length_bytes(metadata: &mut Bytes<'_>) -> Result<u8, Fault> {
    let bytes = metadata.u8()?;
    if (1..=4).contains(&bytes) { Ok(bytes) } else { Err(metadata.malformed()) }
}
