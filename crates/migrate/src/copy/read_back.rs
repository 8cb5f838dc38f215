//! Compares the rows that the target returns for a chunk with those that it was sent.

use zeroize::Zeroizing;

use crate::{load_file::append_escaped, moved_table::MovedTable};

/// How the texts of a column are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    /// Byte for byte.
    Bytes,
    /// As a FLOAT: forks print different numbers of digits.
    Float,
    /// Only whether it is NULL: the texts of JSON differ between versions.
    Null,
}

impl Comparison {
    fn of(data_type: &str) -> Self {
        match data_type {
            "json" => Self::Null,
            "float" => Self::Float,
            _ => Self::Bytes,
        }
    }
}

/// The bits of the FLOAT that a text is read as.
#[expect(clippy::cast_possible_truncation, reason = "the servers narrow the number, too")]
fn bits(text: &[u8]) -> Option<u32> {
    let number: f64 = str::from_utf8(text).ok()?.parse().ok()?;
    Some((number as f32).to_bits())
}

/// The lines that were sent, in the order in which the target returns them.
pub(crate) struct SentRows<'c> {
    rest: &'c [u8],
    /// How each column is compared.
    columns: Vec<Comparison>,
    /// A field as it is sent; kept to reuse its memory.
    field: Zeroizing<Vec<u8>>,
}

impl<'c> SentRows<'c> {
    pub(crate) fn new(table: &MovedTable, file: &'c [u8]) -> Self {
        let columns = table.stored().map(|column| Comparison::of(&column.data_type)).collect();
        Self { rest: file, columns, field: Zeroizing::default() }
    }

    /// Whether this is the next row.
    pub(crate) fn is_next(&mut self, fields: &[Option<&[u8]>]) -> bool {
        let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') else { return false };
        let (line, after) = self.rest.split_at(end);
        self.rest = after.get(1..).unwrap_or_default();
        // Within values, tabs and newlines are escaped.
        let mut sent = line.split(|byte| *byte == b'\t');
        let all = fields.iter().zip(&self.columns).all(|(field, comparison)| {
            let Some(sent) = sent.next() else { return false };
            self.field.clear();
            match (field, comparison) {
                (None, _) => return sent == b"\\N",
                (Some(_), Comparison::Null) => return sent != b"\\N",
                (Some(bytes), Comparison::Float) => return bits(bytes).is_some_and(|float| bits(sent) == Some(float)),
                (Some(bytes), Comparison::Bytes) => append_escaped(&mut self.field, bytes),
            }
            *self.field == sent
        });
        all && fields.len() == self.columns.len() && sent.next().is_none()
    }

    /// Whether every row that was sent has been returned.
    pub(crate) const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(file: &[u8]) -> SentRows<'_> {
        SentRows { rest: file, columns: vec![Comparison::Bytes, Comparison::Null], field: Zeroizing::default() }
    }

    #[test]
    fn each_difference_is_seen() {
        let file = b"a\\t\t{}\n\\N\t\\N\n";
        let mut sent = rows(file);
        assert!(sent.is_next(&[Some(b"a\t"), Some(b"{ }")]) && !sent.is_at_end());
        assert!(sent.is_next(&[None, None]) && sent.is_at_end());
        assert!(!sent.is_next(&[None, None]), "one row too many");
        for other in
            [[Some(&b"a"[..]), Some(b"{}")], [None, Some(b"{}")], [Some(b"a\t"), None], [Some(b"A\t"), Some(b"{}")]]
        {
            assert!(!rows(file).is_next(&other), "{other:?}");
        }
        assert!(!rows(b"\\\\N\tx\n").is_next(&[None, Some(b"x")]));
        assert!(!rows(file).is_next(&[Some(b"a\t")]), "a field too few");
    }

    #[test]
    fn floats_are_compared_by_their_bits() {
        let float = |sent: &[u8], stored: &[u8]| {
            SentRows { rest: sent, columns: vec![Comparison::Float], field: Zeroizing::default() }
                .is_next(&[Some(stored)])
        };
        assert!(float(b"-1.1754943508222875e-38\n", b"-1.175494350822288e-38"));
        assert!(!float(b"0.10000000149011612\n", b"0.10000000894069672") && !float(b"0\n", b"-0"));
        assert!(!float(b"\\N\n", b"0") && !float(b"1\n", b"x"));
    }
}
