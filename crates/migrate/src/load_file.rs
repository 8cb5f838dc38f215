//! Rows as lines of a file for `LOAD DATA … FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n'`.

/// Appends a row.
pub(crate) fn append_line(file: &mut Vec<u8>, fields: &[Option<&[u8]>]) {
    for (number, field) in fields.iter().enumerate() {
        if number > 0 {
            file.push(b'\t');
        }
        append_field(file, *field);
    }
    file.push(b'\n');
}

/// Appends a field; `None` for NULL.
pub(crate) fn append_field(file: &mut Vec<u8>, field: Option<&[u8]>) {
    match field {
        None => file.extend_from_slice(b"\\N"),
        Some(bytes) => append_escaped(file, bytes),
    }
}

/// Appends the bytes of a field.
pub(crate) fn append_escaped(file: &mut Vec<u8>, bytes: &[u8]) {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\t' | b'\n' | b'\\')) {
        let (plain, special) = rest.split_at(at);
        file.extend_from_slice(plain);
        let Some((byte, after)) = special.split_first() else { return };
        file.extend_from_slice(match byte {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            _ => b"\\\\",
        });
        rest = after;
    }
    file.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_escaped() {
        let mut file = Vec::new();
        append_line(&mut file, &[Some(b"a\tb\n\\"), None, Some(b""), Some(b"\\N")]);
        assert_eq!(file, b"a\\tb\\n\\\\\t\\N\t\t\\\\N\n");
    }
}
