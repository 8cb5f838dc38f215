//! Compares the rows that the target returns for a chunk with those that it was sent.

use zeroize::Zeroizing;

use super::read::append_escaped;
use crate::moved_table::MovedTable;

/// The lines that were sent, in the order in which the target returns them.
pub(crate) struct SentRows<'c> {
    rest: &'c [u8],
    /// Whether a column is compared byte for byte. The texts of JSON differ between versions.
    exact: Vec<bool>,
    /// A field as it is sent; kept to reuse its memory.
    field: Zeroizing<Vec<u8>>,
}

impl<'c> SentRows<'c> {
    pub(crate) fn new(table: &MovedTable, file: &'c [u8]) -> Self {
        let exact = table.stored().map(|column| column.data_type != "json").collect();
        Self { rest: file, exact, field: Zeroizing::default() }
    }

    /// Whether this is the next row.
    pub(crate) fn is_next(&mut self, fields: &[Option<&[u8]>]) -> bool {
        let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') else { return false };
        let (line, after) = self.rest.split_at(end);
        self.rest = after.get(1..).unwrap_or_default();
        // Within values, tabs and newlines are escaped.
        let mut sent = line.split(|byte| *byte == b'\t');
        let all = fields.iter().zip(&self.exact).all(|(field, exact)| {
            let Some(sent) = sent.next() else { return false };
            self.field.clear();
            match field {
                None => return sent == b"\\N",
                Some(_) if !exact => return sent != b"\\N",
                Some(bytes) => append_escaped(&mut self.field, bytes),
            }
            *self.field == sent
        });
        all && fields.len() == self.exact.len() && sent.next().is_none()
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
        SentRows { rest: file, exact: vec![true, false], field: Zeroizing::default() }
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
}
