//! The words of a statement in MySQL's log: names and keywords, without comments and string literals.
//!
//! A server logs a statement with its comments, in the client's character set.

use std::borrow::Cow;

use binlog::event::StatusVariables;
use server::sql::{self, TokenKind, tokens};

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
    let mut words: Vec<Word> = Vec::new();
    let (mut qualifier, mut is_after_word) = (None, false);
    for token in tokens(&text, syntax.quotes) {
        let token = token.ok()?;
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
    Some(words)
}

fn decoded(statement: &[u8], charset: Charset) -> Option<Cow<'_, str>> {
    match charset {
        // MySQL's latin1 is cp1252, which differs from Unicode from 0x80 to 0x9F, and has a blank at 0xA0. Statements
        // with these bytes are refused.
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
}
