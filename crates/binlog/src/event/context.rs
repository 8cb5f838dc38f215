//! Context of the next statement: numbers, seeds and user variables.

use crate::{Fault, bytes::Bytes};

/// Meaning of an [`Intvar`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntvarKind {
    /// The result of `LAST_INSERT_ID()`.
    LastInsertId,
    /// The first AUTO_INCREMENT value.
    InsertId,
}

/// A number for the next statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intvar {
    /// Meaning of the number.
    pub kind: IntvarKind,
    /// The number, unsigned.
    pub value: u64,
}

impl Intvar {
    pub(crate) fn parse(mut bytes: Bytes<'_>) -> Result<Self, Fault> {
        let kind = match bytes.u8()? {
            1 => IntvarKind::LastInsertId,
            2 => IntvarKind::InsertId,
            _ => return Err(bytes.malformed()),
        };
        Ok(Self { kind, value: bytes.u64()? })
    }
}

/// The seeds of `RAND()` for the next statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rand {
    /// `rand_seed1` and `rand_seed2`.
    pub seeds: [u64; 2],
}

impl Rand {
    pub(crate) fn parse(mut bytes: Bytes<'_>) -> Result<Self, Fault> {
        Ok(Self { seeds: [bytes.u64()?, bytes.u64()?] })
    }
}

/// A user variable for the next statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserVar<'e> {
    /// Its name, without `@`.
    pub name: &'e [u8],
    /// Its value; `None` for NULL.
    pub value: Option<UserVarValue<'e>>,
}

/// Value of a user variable, as the server stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserVarValue<'e> {
    /// `Item_result`: 0 text, 1 double, 2 integer, 4 decimal.
    pub kind: u8,
    /// Collation of the text.
    pub collation: u32,
    /// The value as the server stores it: text, 8 bytes little-endian, or a packed decimal.
    pub bytes: &'e [u8],
    /// Whether an integer is unsigned.
    pub unsigned: bool,
}

impl<'e> UserVar<'e> {
    pub(crate) fn parse(mut bytes: Bytes<'e>) -> Result<Self, Fault> {
        let name = bytes.prefixed(4)?;
        if bytes.u8()? != 0 {
            return Ok(Self { name, value: None });
        }
        let (kind, collation, value) = (bytes.u8()?, bytes.u32()?, bytes.prefixed(4)?);
        // Missing in logs of MySQL 5.5 and older.
        let unsigned = !bytes.is_empty() && bytes.u8()? & 1 != 0;
        Ok(Self { name, value: Some(UserVarValue { kind, collation, bytes: value, unsigned }) })
    }
}
