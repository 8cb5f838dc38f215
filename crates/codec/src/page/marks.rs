//! Marks: how each unit of a chunk is sent, and their encoding.

use innodb::{crypt::mysql::PageEncryption, page::types::PageType};
use serde::{Deserialize, Serialize};

use crate::{Fields, Malformed};

/// How one unit is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// As stored in the file.
    Unchanged,
    /// Decrypted.
    Decrypted,
    /// Decrypted; the page was encrypted with these parameters.
    MySql(PageEncryption),
    /// Only a part of the unit is decrypted.
    Part(Part),
}

impl Mark {
    /// Whether the mark fits a unit of this length.
    pub(super) const fn is_part_of(self, unit_bytes: usize) -> bool {
        match self {
            Self::Unchanged => true,
            Self::Part(part) => part.end as usize <= unit_bytes,
            Self::Decrypted | Self::MySql(_) => false,
        }
    }
}

/// The decrypted range of a unit; not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    from: u32,
    end: u32,
}

impl Part {
    /// `None` if the range is empty.
    pub(super) fn new(from: usize, end: usize) -> Option<Self> {
        let part = Self { from: u32::try_from(from).ok()?, end: u32::try_from(end).ok()? };
        (part.from < part.end).then_some(part)
    }

    /// The range in a unit; `None` if it does not fit.
    pub(super) fn slice_mut(self, unit: &mut [u8]) -> Option<&mut [u8]> {
        unit.get_mut(self.from()..usize::try_from(self.end).ok()?)
    }

    pub(super) const fn from(self) -> usize {
        self.from as usize
    }
}

/// Encoding of the marks of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkEncoding {
    /// One byte for the kind and four bytes for the end, per unit.
    Pages,
    /// One bit per unit.
    Bits,
    /// Start and end of the decrypted range in the unit, four bytes each; 0 and 0 if there is none.
    Parts,
}

const UNCHANGED: u8 = 0;
const DECRYPTED: u8 = 4;
/// MySQL page types in the order of their numbers, from 1.
const MYSQL_TYPES: [PageType; 3] = [PageType::ENCRYPTED, PageType::COMPRESSED_ENCRYPTED, PageType::ENCRYPTED_RTREE];

impl MarkEncoding {
    /// Bytes of the marks of this many units.
    pub(super) const fn bytes(self, units: usize) -> usize {
        match self {
            Self::Pages => 5 * units,
            Self::Bits => units.div_ceil(8),
            Self::Parts => 8 * units,
        }
    }

    /// Writes marks to `out`, which has the right length and is all zero.
    pub(super) fn write(self, marks: &[Mark], out: &mut [u8]) {
        match self {
            Self::Pages => {
                for (mark, location) in marks.iter().zip(out.chunks_exact_mut(5)) {
                    let (kind, end) = fields_of(*mark);
                    let [one, four @ ..] = location else { continue };
                    *one = kind;
                    four.copy_from_slice(&end.to_be_bytes());
                }
            }
            Self::Bits => {
                for (eight, byte) in marks.chunks(8).zip(out) {
                    let bits = eight.iter().enumerate().map(|(location, mark)| bit(*mark != Mark::Unchanged, location));
                    *byte = bits.fold(0, |all, bit| all | bit);
                }
            }
            Self::Parts => {
                let parts = marks.iter().flat_map(|mark| match mark {
                    Mark::Part(part) => [part.from, part.end],
                    _ => [0, 0],
                });
                for (number, location) in parts.zip(out.chunks_exact_mut(4)) {
                    location.copy_from_slice(&number.to_be_bytes());
                }
            }
        }
    }

    /// Reads the marks of this many units.
    ///
    /// # Errors
    /// [`Malformed`] for unknown numbers, and for set bits beyond the last unit.
    pub(super) fn read(self, fields: &mut Fields<'_>, units: usize) -> Result<Vec<Mark>, Malformed> {
        let bytes = fields.bytes(self.bytes(units))?;
        match self {
            Self::Pages => {
                let mut fields = Fields(bytes);
                (0..units).map(|_| mark_of(fields.u8()?, fields.u32()?)).collect()
            }
            Self::Bits => {
                let is_set = |unit: usize| bytes.get(unit / 8).is_some_and(|byte| byte & bit(true, unit % 8) != 0);
                if (units..8 * bytes.len()).any(is_set) {
                    return Err(Malformed);
                }
                Ok((0..units).map(|unit| if is_set(unit) { Mark::Decrypted } else { Mark::Unchanged }).collect())
            }
            Self::Parts => {
                let mut fields = Fields(bytes);
                (0..units).map(|_| part_of(fields.u32()?, fields.u32()?)).collect()
            }
        }
    }
}

const fn bit(set: bool, location: usize) -> u8 {
    if set { 0x80 >> location } else { 0 }
}

fn fields_of(mark: Mark) -> (u8, u32) {
    match mark {
        Mark::Unchanged => (UNCHANGED, 0),
        Mark::Decrypted | Mark::Part(_) => (DECRYPTED, 0),
        Mark::MySql(encrypted) => {
            let location = MYSQL_TYPES.iter().position(|kind| *kind == encrypted.page_type).unwrap_or_default();
            (u8::try_from(location + 1).unwrap_or_default(), u32::try_from(encrypted.end).unwrap_or_default())
        }
    }
}

fn mark_of(kind: u8, end: u32) -> Result<Mark, Malformed> {
    match kind {
        UNCHANGED => Ok(Mark::Unchanged),
        DECRYPTED => Ok(Mark::Decrypted),
        kind => {
            let location = usize::from(kind).checked_sub(1).ok_or(Malformed)?;
            let page_type = *MYSQL_TYPES.get(location).ok_or(Malformed)?;
            Ok(Mark::MySql(PageEncryption { page_type, end: usize::try_from(end).map_err(|_| Malformed)? }))
        }
    }
}

fn part_of(from: u32, end: u32) -> Result<Mark, Malformed> {
    match (from, end) {
        (0, 0) => Ok(Mark::Unchanged),
        _ if from < end => Ok(Mark::Part(Part { from, end })),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_read_back() {
        let encrypted = |page_type, end| Mark::MySql(PageEncryption { page_type, end });
        let types = MYSQL_TYPES.into_iter().enumerate().map(|(at, page_type)| encrypted(page_type, 70 + at));
        let pages: Vec<Mark> = types.chain([Mark::Unchanged, Mark::Decrypted]).collect();
        let bits: Vec<Mark> =
            (0..19).map(|unit| if unit % 3 == 0 { Mark::Decrypted } else { Mark::Unchanged }).collect();
        let parts =
            vec![Mark::Part(Part { from: 0, end: 7 }), Mark::Unchanged, Mark::Part(Part { from: 9, end: 1 << 20 })];
        for (form, marks) in [(MarkEncoding::Pages, pages), (MarkEncoding::Bits, bits), (MarkEncoding::Parts, parts)] {
            let mut out = vec![0; form.bytes(marks.len())];
            form.write(&marks, &mut out);
            let mut fields = Fields(&out);
            assert_eq!(form.read(&mut fields, marks.len()), Ok(marks.clone()), "{form:?}");
            fields.end().unwrap();
            let mut cut = Fields(&out[..out.len() - 1]);
            assert_eq!(form.read(&mut cut, marks.len()), Err(Malformed), "{form:?}");
        }
    }

    #[test]
    fn the_first_unit_is_the_highest_bit() {
        let marks = [Mark::Decrypted, Mark::Unchanged, Mark::Decrypted];
        let mut out = [0];
        MarkEncoding::Bits.write(&marks, &mut out);
        assert_eq!(out, [0b1010_0000]);
    }

    #[test]
    fn invalid_marks_are_refused() {
        assert_eq!(MarkEncoding::Pages.read(&mut Fields(&[5, 0, 0, 0, 0]), 1), Err(Malformed));
        assert_eq!(MarkEncoding::Bits.read(&mut Fields(&[0b1000_1000]), 4), Err(Malformed));
        assert_eq!(MarkEncoding::Bits.read(&mut Fields(&[0b1000_1000]), 5).unwrap().len(), 5);
        for (from, end) in [(5_u32, 5_u32), (6, 5), (1, 0)] {
            let part = [from.to_be_bytes(), end.to_be_bytes()].concat();
            assert_eq!(MarkEncoding::Parts.read(&mut Fields(&part), 1), Err(Malformed), "{from} to {end}");
        }
    }
}
