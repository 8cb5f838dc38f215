//! Quotes identifiers and texts in statements.

use data_encoding::HEXLOWER;

/// An identifier in backquotes. It may contain any character except NUL.
#[must_use]
pub fn name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text in quotes. `NO_BACKSLASH_ESCAPES` may be on or off, so neither quotes nor backslashes occur unencoded.
#[must_use]
pub fn text(text: &str) -> String {
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
        assert_eq!(name("a`; DROP TABLE b; --"), "`a``; DROP TABLE b; --`");
    }

    #[test]
    fn texts_stay_texts() {
        assert_eq!(text("plain"), "'plain'");
        assert_eq!(text("it's"), "CONVERT(0x69742773 USING utf8mb4)");
    }
}
