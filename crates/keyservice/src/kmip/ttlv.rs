//! TTLV, the encoding of KMIP: tag, type, length, value.
//!
//! An item begins with a tag of 3 bytes, a type of 1 and the length of its value in 4, all big-endian. The value is
//! padded with zeros to a multiple of 8 bytes, which the length does not count. The value of a structure is a sequence
//! of items. Source: "Key Management Interoperability Protocol Specification Version 1.0" (OASIS), section 9.1;
//! confirmed on PyKMIP.

use zeroize::Zeroizing;

use crate::error::Fault;

/// Length of tag, type and length.
pub(crate) const HEADER_BYTES: usize = 8;
/// Values are padded to multiples of this.
const ALIGNMENT: usize = 8;

/// Types of items. Messages that are read or written here contain no other types.
mod kind {
    pub(super) const STRUCTURE: u8 = 1;
    pub(super) const INTEGER: u8 = 2;
    pub(super) const ENUMERATION: u8 = 5;
    pub(super) const TEXT: u8 = 7;
    pub(super) const BYTES: u8 = 8;
}

/// The tag of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(pub(crate) u32);

/// An item of a message; its value is borrowed from the message.
#[derive(Clone, Copy)]
pub(crate) struct Item<'a> {
    pub(crate) tag: Tag,
    kind: u8,
    value: &'a [u8],
}

/// A sequence of items.
#[derive(Clone, Copy)]
pub(crate) struct Items<'a>(&'a [u8]);

/// Length in bytes of the value that follows this header.
///
/// # Errors
/// [`Fault::NotKmip`] if it is not the header of a structure with this tag.
pub(crate) fn value_bytes(header: &[u8; HEADER_BYTES], tag: Tag) -> Result<u32, Fault> {
    let [a, b, c, kind, length @ ..] = *header;
    if Tag(u32::from_be_bytes([0, a, b, c])) != tag || kind != kind::STRUCTURE {
        return Err(Fault::NotKmip);
    }
    Ok(u32::from_be_bytes(length))
}

impl<'a> Items<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The first item with this tag.
    pub(crate) fn find(self, tag: Tag) -> Result<Option<Item<'a>>, Fault> {
        for item in self {
            let item = item?;
            if item.tag == tag {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// The first item with this tag; an error if there is none.
    pub(crate) fn required(self, tag: Tag) -> Result<Item<'a>, Fault> {
        self.find(tag)?.ok_or(Fault::NotKmip)
    }

    /// The first item, and the bytes after it.
    fn split(self) -> Option<(Item<'a>, &'a [u8])> {
        let (header, rest) = self.0.split_first_chunk::<HEADER_BYTES>()?;
        let [a, b, c, kind, length @ ..] = *header;
        let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
        let value = rest.get(..length)?;
        let rest = rest.get(length.checked_next_multiple_of(ALIGNMENT)?..)?;
        Some((Item { tag: Tag(u32::from_be_bytes([0, a, b, c])), kind, value }, rest))
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<Item<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let Some((item, rest)) = self.split() else {
            self.0 = &[];
            return Some(Err(Fault::NotKmip));
        };
        self.0 = rest;
        Some(Ok(item))
    }
}

impl<'a> Item<'a> {
    /// The items of a structure.
    pub(crate) fn items(self) -> Result<Items<'a>, Fault> {
        self.of_kind(kind::STRUCTURE).map(Items)
    }

    pub(crate) fn enumeration(self) -> Result<u32, Fault> {
        let bytes = self.of_kind(kind::ENUMERATION)?;
        bytes.try_into().map(u32::from_be_bytes).map_err(|_| Fault::NotKmip)
    }

    pub(crate) fn integer(self) -> Result<i32, Fault> {
        let bytes = self.of_kind(kind::INTEGER)?;
        bytes.try_into().map(i32::from_be_bytes).map_err(|_| Fault::NotKmip)
    }

    pub(crate) fn text(self) -> Result<&'a str, Fault> {
        str::from_utf8(self.of_kind(kind::TEXT)?).map_err(|_| Fault::NotKmip)
    }

    pub(crate) fn bytes(self) -> Result<&'a [u8], Fault> {
        self.of_kind(kind::BYTES)
    }

    fn of_kind(self, kind: u8) -> Result<&'a [u8], Fault> {
        if self.kind == kind { Ok(self.value) } else { Err(Fault::NotKmip) }
    }
}

/// A message being written. It holds no key, but is wiped like everything else.
#[derive(Default)]
pub(crate) struct Writer(Zeroizing<Vec<u8>>);

impl Writer {
    /// Appends a structure with the items that `fill` writes.
    pub(crate) fn structure(mut self, tag: Tag, fill: impl FnOnce(Self) -> Self) -> Self {
        let inner = fill(Self::default()).into_bytes();
        self.item(tag, kind::STRUCTURE, &inner);
        self
    }

    pub(crate) fn integer(mut self, tag: Tag, value: i32) -> Self {
        self.item(tag, kind::INTEGER, &value.to_be_bytes());
        self
    }

    pub(crate) fn enumeration(mut self, tag: Tag, value: u32) -> Self {
        self.item(tag, kind::ENUMERATION, &value.to_be_bytes());
        self
    }

    pub(crate) fn text(mut self, tag: Tag, value: &str) -> Self {
        self.item(tag, kind::TEXT, value.as_bytes());
        self
    }

    #[cfg(test)]
    pub(crate) fn bytes(mut self, tag: Tag, value: &[u8]) -> Self {
        self.item(tag, kind::BYTES, value);
        self
    }

    pub(crate) fn into_bytes(self) -> Zeroizing<Vec<u8>> {
        self.0
    }

    /// `value` is shorter than 4 GiB: this program writes short requests only.
    fn item(&mut self, tag: Tag, kind: u8, value: &[u8]) {
        let [_, tag @ ..] = tag.0.to_be_bytes();
        self.0.extend(tag);
        self.0.push(kind);
        self.0.extend(u32::try_from(value.len()).unwrap_or(u32::MAX).to_be_bytes());
        self.0.extend(value);
        let padded = self.0.len().next_multiple_of(ALIGNMENT);
        self.0.resize(padded, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification_are_written_and_read() {
        // Section 9.1.2 of the specification.
        let integer = Writer::default().integer(Tag(0x0042_0020), 8).into_bytes();
        assert_eq!(integer.as_slice(), b"\x42\x00\x20\x02\0\0\0\x04\0\0\0\x08\0\0\0\0");
        let text = Writer::default().text(Tag(0x0042_0020), "Hello World").into_bytes();
        assert_eq!(text.as_slice(), b"\x42\x00\x20\x07\0\0\0\x0bHello World\0\0\0\0\0");
        let structure = Writer::default().structure(Tag(0x0042_0020), |inner| {
            inner.enumeration(Tag(0x0042_0004), 254).integer(Tag(0x0042_0005), 255)
        });
        let structure = structure.into_bytes();
        let expected = b"\x42\x00\x20\x01\0\0\0\x20\x42\x00\x04\x05\0\0\0\x04\0\0\0\xfe\0\0\0\0\
            \x42\x00\x05\x02\0\0\0\x04\0\0\0\xff\0\0\0\0";
        assert_eq!(structure.as_slice(), expected);
        let inner = Items::new(&structure).required(Tag(0x0042_0020)).unwrap().items().unwrap();
        assert_eq!(inner.required(Tag(0x0042_0004)).unwrap().enumeration(), Ok(254));
        assert_eq!(inner.required(Tag(0x0042_0005)).unwrap().integer(), Ok(255));
        assert_eq!(inner.required(Tag(0x0042_0005)).unwrap().text(), Err(Fault::NotKmip), "another type");
        assert!(inner.find(Tag(0x0042_0006)).unwrap().is_none());
    }

    #[test]
    fn items_that_are_cut_off_are_an_error() {
        let whole = Writer::default().text(Tag(0x0042_0020), "Hello World").into_bytes();
        for length in 1..whole.len() {
            assert!(Items::new(&whole[..length]).required(Tag(0x0042_0020)).is_err(), "{length}");
        }
        assert!(Items::new(b"\x42\x00\x20\x08\xff\xff\xff\xff").next().unwrap().is_err());
    }
}
