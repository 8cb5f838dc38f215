//! Names and values in statements, for sessions with `SET NAMES binary` and without `NO_BACKSLASH_ESCAPES`.

use data_encoding::HEXLOWER;

pub(crate) use server::quote::identifier as name;

/// Bytes as a hexadecimal literal.
#[must_use]
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    format!("x'{}'", HEXLOWER.encode(bytes))
}

/// Appends bytes as a text literal. NUL needs no escape, which would double the length of zeros.
pub(crate) fn quote_into(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'\'');
    for byte in bytes {
        match byte {
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            other => out.push(*other),
        }
    }
    out.push(b'\'');
}

/// A text literal.
#[must_use]
pub(crate) fn text(text: &str) -> String {
    let mut quoted = Vec::with_capacity(text.len().saturating_add(2));
    quote_into(&mut quoted, text.as_bytes());
    String::from_utf8_lossy(&quoted).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_what_they_are() {
        assert_eq!(text("it's \\ \0"), "'it\\'s \\\\ \0'");
        assert_eq!(hexadecimal(b""), "x''");
    }
}
