//! Prints documents as the server does.
//!
//! Source: `wrapper_to_string` in `json_dom.cc` of MySQL.

use data_encoding::BASE64;

use super::{
    document::{Container, MAX_DEPTH, Node, WHAT, WholeDoubles},
    number,
};
use crate::{
    Fault,
    bytes::Bytes,
    value::{DateTime, Decimal, Time},
};

/// Types of opaque values that are printed in a special form.
const TIMESTAMP: u8 = 7;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const DECIMAL: u8 = 246;
const VAR_STRING: u8 = 253;

/// A document's text.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) text: Vec<u8>,
    /// Whether it has a value that only the binary form can hold, such as a DECIMAL or a date.
    pub(super) opaque: bool,
}

pub(super) fn write(document: &[u8], doubles: WholeDoubles) -> Result<Text, Fault> {
    let mut writer = Writer { doubles, out: Vec::new(), budget: document.len(), opaque: false };
    writer.value(Node::parse(document)?, 0)?;
    Ok(Text { text: writer.out, opaque: writer.opaque })
}

struct Writer {
    doubles: WholeDoubles,
    out: Vec<u8>,
    /// Bytes of the document that may still be visited: in a valid document no two values share bytes.
    budget: usize,
    opaque: bool,
}

impl Writer {
    fn spend(&mut self, bytes: usize) -> Result<(), Fault> {
        self.budget = self.budget.checked_sub(bytes).ok_or(Fault::Malformed { what: WHAT })?;
        Ok(())
    }

    fn value(&mut self, node: Node<'_>, depth: usize) -> Result<(), Fault> {
        match node {
            Node::Object(object) => self.object(&object, depth)?,
            Node::Array(array) => self.array(&array, depth)?,
            Node::Null => self.out.extend_from_slice(b"null"),
            Node::Bool(true) => self.out.extend_from_slice(b"true"),
            Node::Bool(false) => self.out.extend_from_slice(b"false"),
            Node::Signed(number) => self.out.extend_from_slice(number.to_string().as_bytes()),
            Node::Unsigned(number) => self.out.extend_from_slice(number.to_string().as_bytes()),
            Node::Double(double) => self.out.extend_from_slice(number::text(double, self.doubles).as_bytes()),
            Node::String(text) => self.string(text)?,
            Node::Opaque(kind, bytes) => {
                self.opaque = true;
                self.opaque(kind, bytes)?;
            }
        }
        Ok(())
    }

    fn object(&mut self, object: &Container<'_>, depth: usize) -> Result<(), Fault> {
        self.elements(object, b"{}", depth, |writer, index| {
            writer.string(object.key(index)?)?;
            writer.out.extend_from_slice(b": ");
            Ok(())
        })
    }

    fn array(&mut self, array: &Container<'_>, depth: usize) -> Result<(), Fault> {
        self.elements(array, b"[]", depth, |_, _| Ok(()))
    }

    fn elements(
        &mut self,
        container: &Container<'_>,
        brackets: &[u8; 2],
        depth: usize,
        mut key: impl FnMut(&mut Self, usize) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if depth >= MAX_DEPTH {
            return Err(Fault::Malformed { what: WHAT });
        }
        let [open, close] = *brackets;
        self.out.push(open);
        for index in 0..container.count {
            // Every element has an entry of at least three bytes.
            self.spend(3)?;
            if index > 0 {
                self.out.extend_from_slice(b", ");
            }
            key(self, index)?;
            self.value(container.value(index)?, depth.saturating_add(1))?;
        }
        self.out.push(close);
        Ok(())
    }

    fn string(&mut self, text: &[u8]) -> Result<(), Fault> {
        self.spend(text.len())?;
        self.quote(text);
        Ok(())
    }

    fn quote(&mut self, text: &[u8]) {
        self.out.push(b'"');
        for byte in text {
            match byte {
                b'"' | b'\\' => self.out.extend_from_slice(&[b'\\', *byte]),
                8 => self.out.extend_from_slice(b"\\b"),
                9 => self.out.extend_from_slice(b"\\t"),
                10 => self.out.extend_from_slice(b"\\n"),
                12 => self.out.extend_from_slice(b"\\f"),
                13 => self.out.extend_from_slice(b"\\r"),
                0..=0x1f => self.out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => self.out.push(*byte),
            }
        }
        self.out.push(b'"');
    }

    fn opaque(&mut self, kind: u8, bytes: &[u8]) -> Result<(), Fault> {
        self.spend(bytes.len())?;
        let text = match kind {
            DECIMAL => return self.decimal(bytes),
            DATE => date_time(bytes)?.date.to_string(),
            DATETIME | TIMESTAMP => date_time(bytes)?.to_string(),
            TIME => time(bytes)?.to_string(),
            VAR_STRING => {
                self.quote(bytes);
                return Ok(());
            }
            _ => format!("base64:type{kind}:{}", in_lines(bytes)),
        };
        self.quote(text.as_bytes());
        Ok(())
    }

    fn decimal(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let mut bytes = Bytes::new(bytes, WHAT);
        let [precision, scale] = bytes.array()?;
        if precision == 0 || precision > 65 || scale > precision {
            return Err(bytes.malformed());
        }
        let decimal = Decimal::read(&mut bytes, precision, scale)?;
        self.out.extend_from_slice(decimal.to_string().as_bytes());
        Ok(())
    }
}

/// Decodes eight bytes: 24 bits of microseconds, then the integer part as in a column.
fn packed(bytes: &[u8]) -> Result<(bool, u64, u32), Fault> {
    let number = Bytes::new(bytes, WHAT).u64()?.cast_signed();
    let magnitude = number.unsigned_abs();
    let microseconds = u32::try_from(magnitude & 0xff_ffff).unwrap_or(0);
    Ok((number < 0, magnitude >> 24, microseconds))
}

fn date_time(bytes: &[u8]) -> Result<DateTime, Fault> {
    let (_, whole, microseconds) = packed(bytes)?;
    DateTime::from_packed(whole, microseconds, 6)
}

fn time(bytes: &[u8]) -> Result<Time, Fault> {
    let (negative, whole, microseconds) = packed(bytes)?;
    Time::from_packed(negative, whole, microseconds, 6)
}

/// Base64 with a line break after every 76 characters, as MySQL's encoder writes it.
fn in_lines(bytes: &[u8]) -> String {
    /// Bytes of a line of 76 characters.
    const LINE_BYTES: usize = 57;
    let lines: Vec<String> = bytes.chunks(LINE_BYTES).map(|line| BASE64.encode(line)).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(document: &[u8]) -> String {
        String::from_utf8(write(document, WholeDoubles::WithPoint).unwrap().text).unwrap()
    }

    #[test]
    fn scalars_are_printed() {
        assert_eq!(text(&[]), "null");
        assert_eq!(text(&[4, 1]), "true");
        assert_eq!(text(&[5, 0xff, 0xff]), "-1");
        assert_eq!(text(&[12, 3, b'a', b'"', 1]), r#""a\"\u0001""#);
    }

    #[test]
    fn what_text_cannot_hold_is_noted() {
        // The DECIMAL 7 within an array: precision 1, scale 0.
        let decimal = [2, 1, 0, 12, 0, 15, 7, 0, DECIMAL, 3, 1, 0, 0x87];
        let written = write(&decimal, WholeDoubles::WithPoint).unwrap();
        assert_eq!((written.text.as_slice(), written.opaque), (b"[7]".as_slice(), true));
        assert!(!write(&[5, 7, 0], WholeDoubles::WithPoint).unwrap().opaque);
    }

    #[test]
    fn an_object_with_an_array_is_printed() {
        // {"a": [1, true]}
        let array = [2, 0, 10, 0, 5, 1, 0, 4, 1, 0];
        let mut document = vec![0, 1, 0, 22, 0, 11, 0, 1, 0, 2, 12, 0, b'a'];
        document.extend(array);
        assert_eq!(text(&document), r#"{"a": [1, true]}"#);
    }

    #[test]
    fn values_that_share_bytes_are_refused() {
        // Arrays whose elements all refer to the array that follows, 20 deep: 2^20 values in 400 bytes.
        let mut document = vec![2];
        for depth in 0..20_u8 {
            let last = depth == 19;
            let child = if last { [4, 0, 0] } else { [2, 10, 0] };
            document.extend([2, 0]);
            let rest = u16::from(20 - depth) * 10;
            document.extend(rest.to_le_bytes());
            document.extend(child);
            document.extend(child);
        }
        assert_eq!(
            write(&document, WholeDoubles::WithPoint).map(|written| written.text),
            Err(Fault::Malformed { what: WHAT })
        );
    }
}
