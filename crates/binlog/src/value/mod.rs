//! The values of rows, decoded without loss.
//!
//! Source: `Field_*::pack` and `unpack` of MySQL and MariaDB, which write the row images.

mod column;
mod compressed;
mod decimal;
mod json;
mod temporal;

pub use self::{
    column::{Column, ColumnType},
    compressed::CompressedColumn,
    decimal::Decimal,
    json::{Json, JsonChange, JsonChanges, JsonOperation, WholeDoubles},
    temporal::{Date, DateTime, Time, Timestamp},
};
use crate::{Fault, bytes::Bytes};

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'r> {
    /// NULL.
    Null,
    /// TINYINT to BIGINT.
    Integer(Integer),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal<'r>),
    /// YEAR; 0 or 1901 to 2155.
    Year(u16),
    /// DATE.
    Date(Date),
    /// TIME.
    Time(Time),
    /// DATETIME.
    DateTime(DateTime),
    /// TIMESTAMP.
    Timestamp(Timestamp),
    /// BIT.
    Bit {
        /// The bits as a number.
        value: u64,
        /// Number of bits, 1 to 64.
        bits: u8,
    },
    /// ENUM: index of the label from 1; 0 is the empty text of an invalid value.
    Enum(u16),
    /// SET: a bit for each label.
    Set {
        /// The bits; the lowest is the first label.
        value: u64,
        /// Bytes of the value.
        bytes: u8,
    },
    /// CHAR, VARCHAR, BINARY, VARBINARY, and types of MariaDB that are stored in one of them (UUID, INET4, INET6,
    /// VECTOR). [`ColumnType::String`] (CHAR, BINARY, UUID, INET) lacks its trailing spaces or zero bytes: the log does
    /// not distinguish these types, unless it has collations.
    String(&'r [u8]),
    /// TEXT and BLOB of every length.
    Blob(&'r [u8]),
    /// GEOMETRY and its subtypes: SRID and WKB.
    Geometry(&'r [u8]),
    /// MySQL's VECTOR: floats, little-endian.
    Vector(&'r [u8]),
    /// MySQL's JSON.
    Json(Json<'r>),
    /// Changes of a JSON value relative to the one before.
    JsonChanges(JsonChanges<'r>),
    /// A column that MariaDB compresses (`COMPRESSED`).
    Compressed(CompressedColumn<'r>),
}

/// An integer. Its signedness is known only if the table map states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// The bytes as an unsigned number.
    bits: u64,
    /// Bytes of the type: 1, 2, 3, 4 or 8.
    bytes: u8,
    unsigned: Option<bool>,
}

impl Integer {
    /// Whether the column is unsigned; `None` if the log does not state it.
    #[must_use]
    pub const fn is_unsigned(&self) -> Option<bool> {
        self.unsigned
    }

    /// The value if the column is unsigned.
    #[must_use]
    pub const fn as_unsigned(&self) -> u64 {
        self.bits
    }

    /// The value if the column is signed.
    #[must_use]
    pub fn as_signed(&self) -> i64 {
        let unused = 64_u32.saturating_sub(u32::from(self.bytes).saturating_mul(8));
        self.bits.checked_shl(unused).unwrap_or(0).cast_signed().checked_shr(unused).unwrap_or(0)
    }
}

impl<'r> Value<'r> {
    /// Reads a value that is not NULL.
    pub(crate) fn read(bytes: &mut Bytes<'r>, column: &Column) -> Result<Self, Fault> {
        Ok(match column.kind {
            ColumnType::Null => Self::Null,
            ColumnType::Integer { bytes: width } => Self::Integer(Integer {
                bits: bytes.little(usize::from(width))?,
                bytes: width,
                unsigned: column.unsigned,
            }),
            ColumnType::Float => Self::Float(f32::from_bits(bytes.u32()?)),
            ColumnType::Double => Self::Double(f64::from_bits(bytes.u64()?)),
            ColumnType::Decimal { precision, scale } => Self::Decimal(Decimal::read(bytes, precision, scale)?),
            ColumnType::Year => Self::Year(year(bytes.u8()?)),
            ColumnType::Date => Self::Date(Date::read(bytes)?),
            ColumnType::OldTime => Self::Time(Time::read_old(bytes)?),
            ColumnType::OldDateTime => Self::DateTime(DateTime::read_old(bytes)?),
            ColumnType::OldTimestamp => {
                Self::Timestamp(Timestamp { seconds: bytes.u32()?, microseconds: 0, decimals: 0 })
            }
            ColumnType::Time { decimals } => Self::Time(Time::read(bytes, decimals)?),
            ColumnType::DateTime { decimals } => Self::DateTime(DateTime::read(bytes, decimals)?),
            ColumnType::Timestamp { decimals } => Self::Timestamp(Timestamp::read(bytes, decimals)?),
            ColumnType::Bit { bits } => Self::Bit { value: bytes.big(usize::from(bits).div_ceil(8))?, bits },
            ColumnType::Enum { bytes: width } => {
                Self::Enum(u16::try_from(bytes.little(usize::from(width))?).unwrap_or(u16::MAX))
            }
            ColumnType::Set { bytes: width } => Self::Set { value: bytes.little(usize::from(width))?, bytes: width },
            ColumnType::String { max_bytes } | ColumnType::VarChar { max_bytes } => {
                Self::String(bytes.prefixed(if max_bytes < 256 { 1 } else { 2 })?)
            }
            ColumnType::Blob { length_bytes } => Self::Blob(bytes.prefixed(usize::from(length_bytes))?),
            ColumnType::Geometry { length_bytes } => Self::Geometry(bytes.prefixed(usize::from(length_bytes))?),
            ColumnType::Vector { length_bytes } => Self::Vector(bytes.prefixed(usize::from(length_bytes))?),
            ColumnType::Json { length_bytes } => Self::Json(Json::new(bytes.prefixed(usize::from(length_bytes))?)),
            ColumnType::CompressedVarChar { max_bytes } => {
                Self::Compressed(CompressedColumn::new(bytes.prefixed(if max_bytes < 256 { 1 } else { 2 })?))
            }
            ColumnType::CompressedBlob { length_bytes } => {
                Self::Compressed(CompressedColumn::new(bytes.prefixed(usize::from(length_bytes))?))
            }
            ColumnType::Unknown(code) => return Err(Fault::ColumnType(code)),
        })
    }
}

/// Converts a YEAR: 0 is year 0, other numbers count from 1900.
fn year(number: u8) -> u16 {
    if number == 0 { 0 } else { u16::from(number).saturating_add(1900) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_width_keep_their_sign() {
        for (bits, bytes, signed) in [
            (0xff, 1, -1),
            (0x7f, 1, 127),
            (0x80_0000, 3, -8_388_608),
            (0xffff_ffff, 4, -1),
            (u64::MAX, 8, -1),
            (1 << 63, 8, i64::MIN),
        ] {
            let integer = Integer { bits, bytes, unsigned: None };
            assert_eq!((integer.as_signed(), integer.as_unsigned()), (signed, bits));
        }
    }
}
