//! Results of statements.

use crate::bytes::Bytes;

/// A result set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Column names as sent by the server.
    pub columns: Vec<String>,
    /// Values as text, `None` for NULL; bytes that are not UTF-8 are replaced.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Rows {
    /// Index of a column. Case is ignored, because MySQL's varies.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }

    /// A value; `None` for NULL, or if the row or column does not exist.
    pub fn value(&self, row: usize, column: &str) -> Option<&str> {
        let column = self.column(column)?;
        self.rows.get(row)?.get(column)?.as_deref()
    }

    /// The first value of the first row.
    pub fn scalar(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }

    /// The value in the row of this name, if the first two columns are names and values, as in `SHOW VARIABLES`. Case is
    /// ignored.
    pub fn of_name(&self, name: &str) -> Option<&str> {
        self.rows.iter().find_map(|row| match row.as_slice() {
            [Some(key), Some(value), ..] if key.eq_ignore_ascii_case(name) => Some(value.as_str()),
            _ => None,
        })
    }

    /// Selects and renames columns: pairs `(source, name)`. The source `#1` is the first column; a missing source
    /// yields NULL.
    pub(crate) fn renamed(self, map: &[(&str, &str)]) -> Self {
        let position = |source: &str| if source == "#1" { Some(0) } else { self.column(source) };
        let positions: Vec<Option<usize>> = map.iter().map(|(source, _)| position(source)).collect();
        let rows = self
            .rows
            .iter()
            .map(|row| positions.iter().map(|position| row.get((*position)?).cloned().flatten()).collect())
            .collect();
        Self { columns: map.iter().map(|(_, name)| (*name).to_owned()).collect(), rows }
    }
}

pub(super) fn is_end(packet: &[u8]) -> bool {
    // A row may also begin with 0xfe, but then eight bytes of length follow.
    packet.first() == Some(&0xfe) && packet.len() < 9
}

/// Whether an OK packet, or the packet that ends a result, has `SERVER_STATUS_IN_TRANS`; true if it cannot be read.
pub(super) fn says_in_transaction(packet: &[u8]) -> bool {
    const IN_TRANSACTION: u16 = 1;
    let mut bytes = Bytes::new(packet);
    let status = match bytes.u8() {
        // Affected rows and last insert id come first.
        Some(0) => bytes.length_encoded().and_then(|_| bytes.length_encoded()).and_then(|_| bytes.u16_le()),
        // The number of warnings comes first.
        _ => bytes.u16_le().and_then(|_| bytes.u16_le()),
    };
    status.is_none_or(|status| status & IN_TRANSACTION != 0)
}

/// The name in a column definition. Source: MySQL's "Protocol::ColumnDefinition41": catalog, schema, table, original
/// table, name.
pub(super) fn column_name(packet: &[u8]) -> Option<String> {
    let mut bytes = Bytes::new(packet);
    for _ in 0..4 {
        bytes.length_encoded_string()?;
    }
    let name = bytes.length_encoded_string()?;
    Some(String::from_utf8_lossy(name).into_owned())
}

pub(super) fn text_row(packet: &[u8], columns: usize) -> Option<Vec<Option<String>>> {
    let mut bytes = Bytes::new(packet);
    let mut row = Vec::with_capacity(columns);
    for _ in 0..columns {
        if bytes.peek() == Some(0xfb) {
            bytes.take(1)?;
            row.push(None);
        } else {
            let text = bytes.length_encoded_string()?;
            row.push(Some(String::from_utf8_lossy(text).into_owned()));
        }
    }
    bytes.is_empty().then_some(row)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::packet;

    #[test]
    fn rows_are_renamed_and_missing_columns_are_null() {
        let rows = Rows {
            columns: vec!["Log_name".into(), "File_size".into()],
            rows: vec![vec![Some("b.1".into()), Some("9".into())]],
        };
        let renamed = rows.renamed(&[("log_name", "name"), ("file_size", "size"), ("Encrypted", "encrypted")]);
        assert_eq!(renamed.value(0, "NAME"), Some("b.1"));
        assert_eq!(renamed.rows[0], [Some("b.1".into()), Some("9".into()), None]);
    }

    #[test]
    fn the_end_of_an_answer_tells_whether_a_transaction_is_open() {
        for (packet, open) in [
            (&[0, 1, 0, 2, 0, 0, 0][..], false),
            (&[0, 1, 0, 3, 0, 0, 0], true),
            (&[0xfe, 0, 0, 0x22, 0], false),
            (&[0xfe, 0, 0, 0x23, 0], true),
            (&[0xfe, 0], true),
            (&[], true),
        ] {
            assert_eq!(says_in_transaction(packet), open, "{packet:?}");
        }
    }

    #[test]
    fn a_row_must_end_with_its_columns() {
        assert_eq!(text_row(&[1, b'a', 0xfb], 2), Some(vec![Some("a".into()), None]));
        assert_eq!(text_row(&[1, b'a'], 2), None);
        assert_eq!(text_row(&[1, b'a', 1, b'b'], 1), None);
    }

    proptest! {
        #[test]
        fn hostile_rows_and_columns_never_panic(data: Vec<u8>, columns in 0_usize..8) {
            let _ = text_row(&data, columns);
            let _ = column_name(&data);
            let _ = packet::server_error(&data);
        }
    }
}
