//! The words of a statement in MySQL's log: names and keywords, without comments and string literals.
//!
//! A server logs a statement with its comments, in the client's character set.

use std::borrow::Cow;

use binlog::event::StatusVariables;
use server::sql::{self, Token, TokenKind, tokens};

/// Character set of a statement, which decides how names are decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Charset {
    #[default]
    Utf8,
    Latin1,
    /// Any other: only ASCII is read, because in some character sets the second byte of a letter looks like a quote or
    /// a backslash.
    Other,
}

/// How the session that executed a statement parses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Syntax {
    quotes: sql::Syntax,
    charset: Charset,
}

impl Syntax {
    pub(crate) fn from_variables(variables: &StatusVariables<'_>) -> Self {
        Self {
            quotes: sql::Syntax::from_sql_mode(variables.sql_mode.unwrap_or(0)),
            charset: variables.collations.map_or(Charset::Utf8, |[client, ..]| charset(client)),
        }
    }
}

/// The character set of a collation, by `ID` of `information_schema.collations`.
const fn charset(collation: u16) -> Charset {
    match collation {
        // utf8mb3, utf8mb4, and binary, which is not converted.
        33 | 76 | 83 | 192..=215 | 223 | 45 | 46 | 224..=247 | 255..=323 | 63 => Charset::Utf8,
        5 | 8 | 15 | 31 | 47 | 48 | 49 | 94 => Charset::Latin1,
        _ => Charset::Other,
    }
}

/// A name or keyword of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Without quotes.
    pub(crate) text: String,
    /// Whether it was quoted, and so is not a keyword.
    pub(crate) quoted: bool,
    /// The word before the dot, if a dot precedes this word.
    pub(crate) qualifier: Option<String>,
}

impl Word {
    /// The keyword in capitals; empty for a quoted name.
    pub(crate) fn keyword(&self) -> String {
        if self.quoted { String::new() } else { self.text.to_ascii_uppercase() }
    }
}

/// The words of a statement; `None` if it cannot be read: it is not valid in its character set, or a string or comment
/// is not closed. A server would not have executed such a statement.
pub(crate) fn words(statement: &[u8], syntax: Syntax) -> Option<Vec<Word>> {
    let text = decoded(statement, syntax.charset)?;
    let tokens: Vec<_> = tokens(&text, syntax.quotes).collect::<Result<_, _>>().ok()?;
    Some(words_of(tokens))
}

/// The words of a statement before the first one that is not ASCII. In the character sets of clients no byte of another
/// letter looks like the end of a comment, so that these words are also right if the whole statement cannot be read.
pub(crate) fn first_words(statement: &[u8], syntax: Syntax) -> Vec<Word> {
    let letter = |byte: &u8| if byte.is_ascii() { char::from(*byte) } else { char::REPLACEMENT_CHARACTER };
    let text: String = statement.iter().map(letter).collect();
    words_of(tokens(&text, syntax.quotes).map_while(Result::ok).take_while(|token| token.text.is_ascii()))
}

/// Whether a statement that cannot be read may contain this name. All character sets of clients have the bytes of ASCII,
/// so that a name in ASCII is there only if its bytes are, in capitals or not. Any other name may be there.
pub(crate) fn may_contain(statement: &[u8], name: &str) -> bool {
    // Quotes within a name are doubled.
    if name.is_empty() || !name.is_ascii() || name.contains(['`', '"']) {
        return true;
    }
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$');
    statement.windows(name.len()).enumerate().any(|(at, found)| {
        // The digits of a version can precede a name: `/*!50700name*/`.
        let begins = at.checked_sub(1).and_then(|before| statement.get(before)).is_none_or(|byte| !is_letter(byte));
        let after = statement.get(at.saturating_add(name.len()));
        let ends = after.is_none_or(|byte| !is_letter(byte) && !byte.is_ascii_digit());
        begins && ends && found.eq_ignore_ascii_case(name.as_bytes())
    })
}

fn words_of<'t>(tokens: impl IntoIterator<Item = Token<'t>>) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut qualifier, mut is_after_word) = (None, false);
    for token in tokens {
        match token.kind {
            TokenKind::VersionStart | TokenKind::VersionEnd => {}
            TokenKind::Word | TokenKind::QuotedName => {
                let quoted = token.kind == TokenKind::QuotedName;
                words.push(Word { text: token.unquoted(), quoted, qualifier: qualifier.take() });
                is_after_word = true;
            }
            TokenKind::Symbol if token.is_symbol(".") => {
                qualifier = words.last().filter(|_| is_after_word).map(|word| word.text.clone());
                is_after_word = false;
            }
            TokenKind::Symbol | TokenKind::Text => (qualifier, is_after_word) = (None, false),
        }
    }
    words
}

fn decoded(statement: &[u8], charset: Charset) -> Option<Cow<'_, str>> {
    match charset {
        // MySQL's latin1 is cp1252, which differs from Unicode from 0x80 to 0x9F, and has a blank at 0xA0. Statements
        // with these bytes are not read.
        Charset::Latin1 => {
            let letters = statement.iter().map(|byte| Some(char::from(*byte)).filter(|_| !matches!(byte, 0x80..=0xA0)));
            letters.collect::<Option<String>>().map(Cow::Owned)
        }
        Charset::Other if !statement.is_ascii() => None,
        _ => std::str::from_utf8(statement).ok().map(Cow::Borrowed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(statement: &str) -> Vec<String> {
        let found = words(statement.as_bytes(), Syntax::default());
        found.unwrap_or_else(|| panic!("{statement}")).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_are_names_and_keywords() {
        assert_eq!(
            texts("/* c */ ALTER TABLE `my t`.`b` ADD c INT DEFAULT 'x y'"),
            ["ALTER", "TABLE", "my t", "b", "ADD", "c", "INT", "DEFAULT"]
        );
        let qualifier = |statement: &str| words(statement.as_bytes(), Syntax::default()).unwrap()[3].qualifier.clone();
        for statement in ["DROP TABLE a.b", "DROP TABLE a . `b`", "DROP TABLE a/* c */. -- d\nb"] {
            assert_eq!(qualifier(statement).as_deref(), Some("a"), "{statement}");
        }
        assert_eq!(qualifier("DROP TABLE a, b"), None);
    }

    #[test]
    fn comments_and_texts_hide_nothing() {
        for statement in [
            "-- Create user table\nDROP TABLE t",
            "-- don't\nDROP TABLE t",
            "# don't\nDROP TABLE t -- at last",
            "--\nDROP TABLE t --",
            "/* it's */ DROP/*+ `hint */TABLE/**/t",
            "/*!40000 DROP TABLE t*/",
            "/*!DROP*/ /*!080000 TABLE */ t",
            "/*! DROP /* it's */ TABLE */ t",
        ] {
            assert_eq!(texts(statement), ["DROP", "TABLE", "t"], "{statement}");
        }
        assert_eq!(texts(r"COMMENT 'it\'s \\' RENAME a"), ["COMMENT", "RENAME", "a"]);
        assert_eq!(texts(r#"COMMENT 'it''s' "`" RENAME `a``'b`"#), ["COMMENT", "RENAME", "a`'b"]);
        // Two minus signs start a comment only before a blank.
        assert_eq!(texts("DEFAULT 5--3, t"), ["DEFAULT", "5", "3", "t"]);
    }

    #[test]
    fn the_session_decides_what_quotes_mean() {
        let of = |sql_mode| Syntax::from_variables(&StatusVariables { sql_mode: Some(sql_mode), ..Default::default() });
        let read = |statement: &str, sql_mode| {
            let found = words(statement.as_bytes(), of(sql_mode))?;
            Some(found.into_iter().map(|word| word.text).collect::<Vec<_>>())
        };
        assert_eq!(read(r#"DROP TABLE "t""#, 4).unwrap(), ["DROP", "TABLE", "t"]);
        assert_eq!(read(r#"DROP TABLE "t""#, 0).unwrap(), ["DROP", "TABLE"]);
        assert_eq!(read(r"COMMENT 'a\' DROP b", 1 << 20).unwrap(), ["COMMENT", "DROP", "b"]);
        assert_eq!(read(r"COMMENT 'a\' DROP b", 0), None);
    }

    #[test]
    fn what_cannot_be_read_has_no_words() {
        for statement in [&b"DROP TABLE `t"[..], b"/* DROP TABLE t", b"DROP TABLE '", b"DROP TABLE caf\xE9"] {
            assert_eq!(words(statement, Syntax::default()), None);
        }
        let of = |collation| {
            Syntax::from_variables(&StatusVariables { collations: Some([collation; 3]), ..Default::default() })
        };
        let read = |statement: &[u8], collation| {
            words(statement, of(collation)).and_then(|mut words| words.pop()).map(|word| word.text)
        };
        // These bytes are one letter in UTF-8 and two letters in latin1.
        assert_eq!(read(b"caf\xC3\xA9", 45).as_deref(), Some("caf\u{E9}"));
        assert_eq!(read(b"caf\xC3\xA9", 8).as_deref(), Some("caf\u{C3}\u{A9}"));
        assert_eq!(read(b"caf\x80", 8), None);
        assert_eq!(read(b"'\x81\x5C' t", 28), None, "gbk");
        assert_eq!(read(b"t", 28).as_deref(), Some("t"));
    }

    #[test]
    fn first_words_end_before_what_cannot_be_read() {
        let first = |statement: &[u8]| {
            let words = first_words(statement, Syntax::default());
            words.into_iter().map(|word| word.text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(first(b"CREATE TABLE s.t (a INT COMMENT '5 \x80', b INT)"), "CREATE TABLE s t a INT COMMENT");
        // The second byte of this letter of sjis is a backslash.
        assert_eq!(first(b"/* \x95\\ */ DROP /* caf\xE9 */ TABLE `\x95\\`, orders"), "DROP TABLE");
        assert_eq!(first(b"-- \xE6\xF3\xEA\nALTER TABLE t COMMENT 'open"), "ALTER TABLE t COMMENT");
        assert_eq!(first(b"\xE6 DROP TABLE t"), "");
    }

    #[test]
    fn a_name_is_found_in_any_character_set() {
        for statement in [
            &b"DROP TABLE shop.orders"[..],
            b"DROP TABLE `Orders`",
            b"DROP TABLE\xA0orders\xA0",
            b"/*!50700orders*/",
            b"orders",
        ] {
            assert!(may_contain(statement, "orders"), "{statement:?}");
        }
        for statement in [&b"DROP TABLE orders_old"[..], b"DROP TABLE reorders, orders2, _orders", b""] {
            assert!(!may_contain(statement, "orders"), "{statement:?}");
        }
        for name in ["gr\u{F6}\u{DF}e", "a`b", ""] {
            assert!(may_contain(b"DROP TABLE t", name), "{name}");
        }
    }
}
