//! MariaDB's types UUID, INET4 and INET6: servers send their values as texts, and log them as bytes in the order of the
//! text, without zeros at the end.
//!
//! Source: `Type_handler_fbt` in `sql_type_fixedbin.h` and `UUID::pack` in `sql_type_uuid.h` of MariaDB. Tables and
//! indexes have the bytes of most UUIDs in another order, so that only servers can compare them.

use crate::{Column, literal};

/// Bytes of a value of such a column; `None` for other types.
pub(crate) fn length(column: &Column) -> Option<usize> {
    match column.data_type.as_str() {
        "uuid" | "inet6" => Some(16),
        "inet4" => Some(4),
        _ => None,
    }
}

/// A value of the log as a literal. The server takes bytes of the right number for a value, in whatever session.
pub(crate) fn literal(logged: &[u8], length: usize) -> String {
    let mut bytes = logged.to_vec();
    bytes.resize(bytes.len().max(length), 0);
    literal::hexadecimal(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_end_come_back() {
        assert_eq!(literal(&[10, 1], 4), "x'0a010000'");
        assert_eq!(literal(&[], 4), "x'00000000'");
        assert_eq!(literal(&[1; 16], 16), format!("x'{}'", "01".repeat(16)));
    }
}
