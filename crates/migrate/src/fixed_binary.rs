//! MariaDB's types UUID, INET4 and INET6: servers send their values as texts, and log them as bytes in the order of the
//! text, without zeros at the end.
//!
//! Source: `Type_handler_fbt` in `sql_type_fixedbin.h` and `UUID::pack` in `sql_type_uuid.h` of MariaDB. Tables and
//! indexes have the bytes of most UUIDs in another order, so that only servers can compare them.

use std::net::{Ipv4Addr, Ipv6Addr};

use data_encoding::HEXLOWER;

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
    literal::hexadecimal(&whole(logged, length))
}

/// A value of the log as a text that the server reads as this value. A UUID is one without hyphens, too.
pub(crate) fn text(logged: &[u8], length: usize, data_type: &str) -> String {
    let bytes = whole(logged, length);
    match (data_type, <[u8; 4]>::try_from(bytes.as_slice()), <[u8; 16]>::try_from(bytes.as_slice())) {
        ("inet4", Ok(address), _) => Ipv4Addr::from(address).to_string(),
        ("inet6", _, Ok(address)) => Ipv6Addr::from(address).to_string(),
        _ => HEXLOWER.encode(&bytes),
    }
}

/// The bytes with the zeros that the log leaves out.
fn whole(logged: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = logged.to_vec();
    bytes.resize(bytes.len().max(length), 0);
    bytes
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

    #[test]
    fn a_line_of_load_data_has_texts() {
        assert_eq!(text(&[10, 1], 4, "inet4"), "10.1.0.0");
        assert_eq!(text(&[0x20, 1, 0xd, 0xb8], 16, "inet6"), "2001:db8::");
        assert_eq!(text(&[0xab], 16, "uuid"), format!("ab{}", "00".repeat(15)));
    }
}
