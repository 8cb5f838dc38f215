//! The messages of the X Protocol that a probe needs.
//!
//! Source: MySQL's `mysqlx.proto`, `mysqlx_connection.proto` and `mysqlx_datatypes.proto`. A message is its length
//! (u32, little-endian, including the type byte), its type, and a protobuf body.

use crate::bytes::Bytes;

/// `CON_CAPABILITIES_GET` with an empty body.
pub(super) const CAPABILITIES_GET: &[u8] = &[1, 0, 0, 0, 1];

/// `CON_CAPABILITIES_SET` of `tls = true`.
pub(super) const SET_TLS: &[u8] = &[
    20, 0, 0, 0, 2, // message
    0x0a, 17, // Capabilities
    0x0a, 15, // Capability
    0x0a, 3, b't', b'l', b's', // name
    0x12, 8, // value: Any
    0x08, 1, // SCALAR
    0x12, 4, // scalar
    0x08, 7, // V_BOOL
    0x40, 1, // true
];

/// Maximum nesting of values; real messages have two levels.
const MAX_DEPTH: u8 = 8;

/// A server message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum XMessage {
    /// `OK`.
    Ok,
    /// `ERROR`.
    Error {
        /// Error number.
        code: u16,
        /// The message.
        message: String,
    },
    /// `CONN_CAPABILITIES`: names, and the strings in their values.
    Capabilities(Vec<(String, Vec<String>)>),
    /// `NOTICE`, which may arrive at any time.
    Notice,
    /// Another type.
    Other(u8),
}

/// Parses a message; `None` if the body is malformed.
pub fn parse(kind: u8, body: &[u8]) -> Option<XMessage> {
    Some(match kind {
        0 => XMessage::Ok,
        1 => error(body)?,
        2 => XMessage::Capabilities(capabilities(body)?),
        11 => XMessage::Notice,
        other => XMessage::Other(other),
    })
}

/// A field of a protobuf message.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Skipped,
}

fn field<'a>(bytes: &mut Bytes<'a>) -> Option<(u64, Field<'a>)> {
    let key = bytes.varint()?;
    let value = match key & 7 {
        0 => Field::Number(bytes.varint()?),
        1 => {
            bytes.take(8)?;
            Field::Skipped
        }
        2 => {
            let length = usize::try_from(bytes.varint()?).ok()?;
            Field::Bytes(bytes.take(length)?)
        }
        5 => {
            bytes.take(4)?;
            Field::Skipped
        }
        _ => return None,
    };
    Some((key >> 3, value))
}

fn error(body: &[u8]) -> Option<XMessage> {
    let mut bytes = Bytes::new(body);
    let (mut code, mut message) = (0, String::new());
    while !bytes.is_empty() {
        match field(&mut bytes)? {
            (2, Field::Number(number)) => code = u16::try_from(number).unwrap_or(0),
            (3, Field::Bytes(text)) => message = String::from_utf8_lossy(text).into_owned(),
            _ => {}
        }
    }
    Some(XMessage::Error { code, message })
}

fn capabilities(body: &[u8]) -> Option<Vec<(String, Vec<String>)>> {
    let mut bytes = Bytes::new(body);
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (1, Field::Bytes(capability)) = field(&mut bytes)? else {
            continue;
        };
        let mut capability = Bytes::new(capability);
        let (mut name, mut strings) = (String::new(), Vec::new());
        while !capability.is_empty() {
            match field(&mut capability)? {
                (1, Field::Bytes(text)) => name = String::from_utf8_lossy(text).into_owned(),
                (2, Field::Bytes(value)) => any(value, MAX_DEPTH, &mut strings)?,
                _ => {}
            }
        }
        found.push((name, strings));
    }
    Some(found)
}

/// Collects the strings of an `Any`: its scalar (field 2), or its array's values (field 4).
fn any(body: &[u8], depth: u8, strings: &mut Vec<String>) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    let mut bytes = Bytes::new(body);
    while !bytes.is_empty() {
        match field(&mut bytes)? {
            (2, Field::Bytes(scalar)) => strings.extend(scalar_string(scalar)?),
            (4, Field::Bytes(array)) => {
                let mut array = Bytes::new(array);
                while !array.is_empty() {
                    if let (1, Field::Bytes(value)) = field(&mut array)? {
                        any(value, depth, strings)?;
                    }
                }
            }
            _ => {}
        }
    }
    Some(())
}

/// The text of a `Scalar`: field 1 of field 9.
fn scalar_string(body: &[u8]) -> Option<Option<String>> {
    let mut bytes = Bytes::new(body);
    let mut found = None;
    while !bytes.is_empty() {
        let (9, Field::Bytes(string)) = field(&mut bytes)? else {
            continue;
        };
        let mut string = Bytes::new(string);
        while !string.is_empty() {
            if let (1, Field::Bytes(text)) = field(&mut string)? {
                found = Some(String::from_utf8_lossy(text).into_owned());
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn our_capability_is_readable() {
        let (head, body) = SET_TLS.split_at(5);
        assert_eq!(usize::from(head[0]), body.len() + 1);
        // CapabilitiesSet wraps Capabilities in field 1, so unwrap once.
        let XMessage::Capabilities(found) = parse(2, &body[2..]).unwrap() else {
            panic!("not capabilities");
        };
        assert_eq!(found, [("tls".to_owned(), Vec::new())]);
    }

    #[test]
    fn strings_in_arrays_are_found() {
        let text = [0x0a, 5, b'P', b'L', b'A', b'I', b'N'];
        let scalar = [&[0x08, 8, 0x4a, 7], text.as_slice()].concat();
        let value = [&[0x08, 1, 0x12, 11], scalar.as_slice()].concat();
        let array = [&[0x0a, 15], value.as_slice()].concat();
        let anything = [&[0x08, 3, 0x22, 17], array.as_slice()].concat();
        let capability = [&[0x0a, 1, b'm', 0x12, 21], anything.as_slice()].concat();
        let body = [&[0x0a, 26], capability.as_slice()].concat();
        assert_eq!(parse(2, &body), Some(XMessage::Capabilities(vec![("m".into(), vec!["PLAIN".into()])])));
    }

    #[test]
    fn errors_carry_code_and_text() {
        assert_eq!(
            parse(1, &[0x10, 0x89, 0x27, 0x1a, 2, b'n', b'o']),
            Some(XMessage::Error { code: 5001, message: "no".into() })
        );
        assert_eq!(parse(1, &[0x1a, 9, b'n']), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(kind in 0_u8..13, body: Vec<u8>) {
            let _ = parse(kind, &body);
        }
    }
}
