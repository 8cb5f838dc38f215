//! Quotes identifiers and texts in statements.

use data_encoding::HEXLOWER;

/// An identifier in backquotes. It may contain any character except NUL.
#[must_use]
pub fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A table in its schema.
#[must_use]
pub fn table(schema: &str, name: &str) -> String {
    format!("{}.{}", identifier(schema), identifier(name))
}

/// A text in quotes, for sessions in which backslashes escape, as they do by default.
#[must_use]
pub fn text(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', "''"))
}

/// A text for a session that may have `NO_BACKSLASH_ESCAPES` in its `sql_mode`. A text with quotes or backslashes is
/// written in hexadecimal.
#[must_use]
pub fn text_in_any_mode(text: &str) -> String {
    if text.contains(['\'', '\\']) {
        format!("CONVERT(0x{} USING utf8mb4)", HEXLOWER.encode_display(text.as_bytes()))
    } else {
        format!("'{text}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_names() {
        assert_eq!(identifier("a`; DROP TABLE b; --"), "`a``; DROP TABLE b; --`");
        assert_eq!(table("s", "t`"), "`s`.`t```");
    }

    #[test]
    fn texts_stay_texts() {
        assert_eq!(text(r"it's \"), r"'it''s \\'");
        assert_eq!(text_in_any_mode("plain"), "'plain'");
        assert_eq!(text_in_any_mode("it's"), "CONVERT(0x69742773 USING utf8mb4)");
    }
}
