//! The binary form of JSON: values refer to others by offsets.

use crate::{Fault, bytes::Bytes};

use super::text;

/// Depth from which on MySQL rejects documents.
pub(super) const MAX_DEPTH: usize = 100;
pub(super) const WHAT: &str = "JSON";

/// How a DOUBLE without fractional digits is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WholeDoubles {
    /// `1.0`: MySQL 8.0 and newer.
    #[default]
    WithPoint,
    /// `1`, which is read as an integer: MySQL 5.7.
    AsIntegers,
}

/// A JSON value of MySQL, as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<'r> {
    stored: &'r [u8],
}

impl<'r> Json<'r> {
    pub(crate) const fn new(stored: &'r [u8]) -> Self {
        Self { stored }
    }

    /// The bytes, as stored: the type of the value and the value. Empty for a value that was NULL when the column
    /// became NOT NULL, which counts as `null`.
    #[must_use]
    pub const fn stored(&self) -> &'r [u8] {
        self.stored
    }

    /// The text as the server prints it, in UTF-8 if the document is.
    ///
    /// # Errors
    /// [`Fault`] if the document is damaged.
    pub fn text(&self) -> Result<Vec<u8>, Fault> {
        text::write(self.stored, WholeDoubles::WithPoint).map(|written| written.text)
    }

    /// The text, if a server reads the same value from it; `None` if a part is a DECIMAL, a date, a time or bytes, which
    /// it would read as a DOUBLE or a string.
    ///
    /// With [`WholeDoubles::AsIntegers`] it is also read from the integers that MySQL 5.7 prints.
    ///
    /// # Errors
    /// [`Fault`] if the document is damaged.
    pub fn exact_text(&self, doubles: WholeDoubles) -> Result<Option<Vec<u8>>, Fault> {
        text::write(self.stored, doubles).map(|written| (!written.opaque).then_some(written.text))
    }
}

/// A value, with the bytes that its offsets refer to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node<'r> {
    Object(Container<'r>),
    Array(Container<'r>),
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Double(f64),
    String(&'r [u8]),
    /// A value of another type: its number in `enum_field_types`, and its bytes.
    Opaque(u8, &'r [u8]),
}

/// An object or array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Container<'r> {
    bytes: &'r [u8],
    /// Number of elements.
    pub(super) count: usize,
    /// Width of an offset in bytes: 2, or 4 in large containers.
    width: usize,
    keys: bool,
}

impl<'r> Node<'r> {
    pub(super) fn parse(document: &'r [u8]) -> Result<Self, Fault> {
        match document.split_first() {
            Some((kind, bytes)) => Self::read(*kind, bytes),
            None => Ok(Self::Null),
        }
    }

    fn read(kind: u8, value: &'r [u8]) -> Result<Self, Fault> {
        let mut bytes = Bytes::new(value, WHAT);
        Ok(match kind {
            0 => Self::Object(Container::parse(value, 2, true)?),
            1 => Self::Object(Container::parse(value, 4, true)?),
            2 => Self::Array(Container::parse(value, 2, false)?),
            3 => Self::Array(Container::parse(value, 4, false)?),
            4 => literal(bytes.u8()?)?,
            5 => Self::Signed(i64::from(bytes.u16()?.cast_signed())),
            6 => Self::Unsigned(u64::from(bytes.u16()?)),
            7 => Self::Signed(i64::from(bytes.u32()?.cast_signed())),
            8 => Self::Unsigned(u64::from(bytes.u32()?)),
            9 => Self::Signed(bytes.u64()?.cast_signed()),
            10 => Self::Unsigned(bytes.u64()?),
            11 => Self::Double(f64::from_bits(bytes.u64()?)),
            12 => Self::String(text(&mut bytes)?),
            15 => Self::Opaque(bytes.u8()?, text(&mut bytes)?),
            _ => return Err(bytes.malformed()),
        })
    }
}

fn literal<'r>(value: u8) -> Result<Node<'r>, Fault> {
    match value {
        0 => Ok(Node::Null),
        1 => Ok(Node::Bool(true)),
        2 => Ok(Node::Bool(false)),
        _ => Err(Fault::Malformed { what: WHAT }),
    }
}

/// Text preceded by its length: seven bits in each byte, low bits first; the highest bit marks that another byte
/// follows.
fn text<'r>(bytes: &mut Bytes<'r>) -> Result<&'r [u8], Fault> {
    let mut length = 0_u64;
    for shift in [0, 7, 14, 21, 28] {
        let byte = bytes.u8()?;
        length |= (u64::from(byte) & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return bytes.take(usize::try_from(length).map_err(|_| bytes.malformed())?);
        }
    }
    Err(bytes.malformed())
}

impl<'r> Container<'r> {
    /// Parses a container: count, length in bytes, entries of keys (offset, length), entries of values (type, and
    /// offset or the value itself).
    fn parse(value: &'r [u8], width: usize, keys: bool) -> Result<Self, Fault> {
        let mut bytes = Bytes::new(value, WHAT);
        let number = |bytes: &mut Bytes<'r>| bytes.little(width).map(crate::bytes::as_usize);
        let (count, length) = (number(&mut bytes)?, number(&mut bytes)?);
        let bytes = value.get(..length).ok_or(Fault::Short { what: WHAT })?;
        let container = Self { bytes, count, width, keys };
        let entries = count.saturating_mul(container.entry_bytes());
        if entries > length { Err(Fault::Short { what: WHAT }) } else { Ok(container) }
    }

    const fn key_entry_bytes(&self) -> usize {
        if self.keys { self.width.saturating_add(2) } else { 0 }
    }

    const fn value_entry_bytes(&self) -> usize {
        self.width.saturating_add(1)
    }

    const fn entry_bytes(&self) -> usize {
        self.key_entry_bytes().saturating_add(self.value_entry_bytes())
    }

    fn at(&self, offset: usize) -> Result<Bytes<'r>, Fault> {
        Ok(Bytes::new(self.bytes.get(offset..).ok_or(Fault::Short { what: WHAT })?, WHAT))
    }

    fn head_bytes(&self) -> usize {
        self.width.saturating_mul(2)
    }

    /// Key of element `index` of an object.
    pub(super) fn key(&self, index: usize) -> Result<&'r [u8], Fault> {
        let mut entry = self.at(self.head_bytes().saturating_add(index.saturating_mul(self.key_entry_bytes())))?;
        let offset = crate::bytes::as_usize(entry.little(self.width)?);
        let length = usize::from(entry.u16()?);
        self.at(offset)?.take(length)
    }

    /// Element `index`.
    pub(super) fn value(&self, index: usize) -> Result<Node<'r>, Fault> {
        let keys = self.count.saturating_mul(self.key_entry_bytes());
        let values = index.saturating_mul(self.value_entry_bytes());
        let mut entry = self.at(self.head_bytes().saturating_add(keys).saturating_add(values))?;
        let kind = entry.u8()?;
        let inlined = matches!(kind, 4..=6) || (self.width == 4 && matches!(kind, 7 | 8));
        if inlined {
            return Node::read(kind, entry.take(self.width)?);
        }
        let offset = crate::bytes::as_usize(entry.little(self.width)?);
        Node::read(kind, self.at(offset)?.rest())
    }
}
