//! Values as bytes in statements, for sessions with `SET NAMES binary` and without `NO_BACKSLASH_ESCAPES`.

use data_encoding::HEXLOWER;

/// Bytes as a hexadecimal literal.
#[must_use]
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    format!("x'{}'", HEXLOWER.encode(bytes))
}

/// Appends bytes as a text literal. NUL is not escaped, because that would double the length of runs of zeros.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_what_they_are() {
        let mut quoted = Vec::new();
        quote_into(&mut quoted, b"it's \\ \0");
        assert_eq!(quoted, b"'it\\'s \\\\ \0'");
        assert_eq!(hexadecimal(b""), "x''");
    }
}
