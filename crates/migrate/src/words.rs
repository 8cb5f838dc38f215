//! The words of a statement in MySQL's log: names and keywords, without comments and texts.
//!
//! Source: `sql_lex.cc` of MySQL. A server logs a statement with its comments, in the client's character set. Code in
//! `/*! … */` counts: where a server does not execute it, the log has `/*` alone.

use std::borrow::Cow;

use binlog::event::StatusVariables;

/// Character set of a statement, as far as it changes how names are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Charset {
    #[default]
    Utf8,
    Latin1,
    /// Only ASCII is read: in some sets a letter's second byte is that of a quote or backslash.
    Other,
}

/// How the session of a statement reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Syntax {
    /// Names can be in `"`.
    ansi_quotes: bool,
    /// `\` is a character like others.
    no_escapes: bool,
    charset: Charset,
}

impl Syntax {
    pub(crate) fn of(variables: &StatusVariables<'_>) -> Self {
        // Source: `system_variables.h` of MySQL.
        const ANSI_QUOTES: u64 = 4;
        const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
        let mode = variables.sql_mode.unwrap_or(0);
        Self {
            ansi_quotes: mode & ANSI_QUOTES != 0,
            no_escapes: mode & NO_BACKSLASH_ESCAPES != 0,
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
    /// Whether it was quoted, so that it is no keyword.
    pub(crate) quoted: bool,
    /// The word before the point that precedes it.
    pub(crate) qualifier: Option<String>,
}

impl Word {
    /// The keyword in capitals; empty for a quoted name.
    pub(crate) fn keyword(&self) -> String {
        if self.quoted { String::new() } else { self.text.to_ascii_uppercase() }
    }
}

/// The words of a statement. `None` if it cannot be read: it is not in its character set, or a text or comment does not
/// end, which a server would not have executed.
pub(crate) fn words(statement: &[u8], syntax: Syntax) -> Option<Vec<Word>> {
    let text = decoded(statement, syntax.charset)?;
    let mut lexer = Lexer { rest: &text, syntax };
    let mut words: Vec<Word> = Vec::new();
    let (mut qualifier, mut is_after_word) = (None, false);
    loop {
        match lexer.token()? {
            Token::End => return Some(words),
            Token::Point => {
                qualifier = words.last().filter(|_| is_after_word).map(|word| word.text.clone());
                is_after_word = false;
            }
            Token::Word { text, quoted } => {
                words.push(Word { text, quoted, qualifier: qualifier.take() });
                is_after_word = true;
            }
            Token::Other => (qualifier, is_after_word) = (None, false),
        }
    }
}

fn decoded(statement: &[u8], charset: Charset) -> Option<Cow<'_, str>> {
    match charset {
        // MySQL's latin1 is cp1252, which differs from Unicode below 0xA0, and has a blank there.
        Charset::Latin1 => {
            let letters = statement.iter().map(|byte| Some(char::from(*byte)).filter(|_| !matches!(byte, 0x80..=0xA0)));
            letters.collect::<Option<String>>().map(Cow::Owned)
        }
        Charset::Other if !statement.is_ascii() => None,
        _ => std::str::from_utf8(statement).ok().map(Cow::Borrowed),
    }
}

enum Token {
    Word {
        text: String,
        quoted: bool,
    },
    Point,
    /// A text, an operator, a bracket.
    Other,
    End,
}

struct Lexer<'t> {
    rest: &'t str,
    syntax: Syntax,
}

impl Lexer<'_> {
    fn token(&mut self) -> Option<Token> {
        self.skip_blanks()?;
        let Some(first) = self.rest.chars().next() else { return Some(Token::End) };
        let escapes = !self.syntax.no_escapes;
        Some(match first {
            '`' => Token::Word { text: self.quoted(first, false)?, quoted: true },
            '"' if self.syntax.ansi_quotes => Token::Word { text: self.quoted(first, false)?, quoted: true },
            '"' | '\'' => {
                self.quoted(first, escapes)?;
                Token::Other
            }
            _ if is_of_word(first) => {
                let end = self.rest.find(|c| !is_of_word(c)).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at_checked(end)?;
                self.rest = rest;
                Token::Word { text: word.to_owned(), quoted: false }
            }
            _ => {
                self.rest = self.rest.get(first.len_utf8()..)?;
                if first == '.' { Token::Point } else { Token::Other }
            }
        })
    }

    /// Skips blanks and comments, but of `/*! … */` only the marks.
    fn skip_blanks(&mut self) -> Option<()> {
        loop {
            let text = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
            self.rest = if let Some(code) = text.strip_prefix("/*!") {
                without_version(code)
            } else if let Some(comment) = text.strip_prefix("/*") {
                comment.split_once("*/")?.1
            } else if is_line_comment(text) {
                text.split_once('\n').map_or("", |(_, rest)| rest)
            } else if let Some(code) = text.strip_prefix("*/") {
                code
            } else {
                self.rest = text;
                return Some(());
            };
        }
    }

    /// Takes what is in quotes. A doubled quote is one.
    fn quoted(&mut self, quote: char, escapes: bool) -> Option<String> {
        let mut inside = String::new();
        let mut chars = self.rest.chars();
        chars.next()?;
        loop {
            let c = chars.next()?;
            if c == '\\' && escapes {
                inside.push(chars.next()?);
            } else if c != quote {
                inside.push(c);
            } else if let Some(more) = chars.as_str().strip_prefix(quote) {
                inside.push(quote);
                chars = more.chars();
            } else {
                self.rest = chars.as_str();
                return Some(inside);
            }
        }
    }
}

/// Servers take every character beyond ASCII for a letter.
const fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

/// `#`, or `--` before a blank, a control character or the end.
fn is_line_comment(text: &str) -> bool {
    let after_dashes = text.strip_prefix("--").map(|rest| rest.chars().next());
    text.starts_with('#') || after_dashes.is_some_and(|next| next.is_none_or(|c| c == ' ' || c.is_ascii_control()))
}

/// The code of `/*!50711 … */` without the version, which has five or six digits.
fn without_version(code: &str) -> &str {
    let digits = code.bytes().take(6).take_while(u8::is_ascii_digit).count();
    if digits < 5 { code } else { code.get(digits..).unwrap_or_default() }
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
        // Two minus signs alone are no comment.
        assert_eq!(texts("DEFAULT 5--3, t"), ["DEFAULT", "5", "3", "t"]);
    }

    #[test]
    fn the_session_decides_what_quotes_mean() {
        let of = |sql_mode| Syntax::of(&StatusVariables { sql_mode: Some(sql_mode), ..Default::default() });
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
        let of = |collation| Syntax::of(&StatusVariables { collations: Some([collation; 3]), ..Default::default() });
        let read = |statement: &[u8], collation| {
            words(statement, of(collation)).and_then(|mut words| words.pop()).map(|word| word.text)
        };
        // In UTF-8 these are one letter, in latin1 two.
        assert_eq!(read(b"caf\xC3\xA9", 45).as_deref(), Some("caf\u{E9}"));
        assert_eq!(read(b"caf\xC3\xA9", 8).as_deref(), Some("caf\u{C3}\u{A9}"));
        assert_eq!(read(b"caf\x80", 8), None);
        assert_eq!(read(b"'\x81\x5C' t", 28), None, "gbk");
        assert_eq!(read(b"t", 28).as_deref(), Some("t"));
    }
}
