//! Tokens of SQL statements, as servers show them and write them to their logs.
//!
//! Code must look for clauses and names in these tokens, never in the text: comments and quoted texts may contain
//! anything. Code in `/*! … */` counts as code: a server that does not execute it writes `/* … */` to its log. Source:
//! `sql_lex.cc` of MySQL and MariaDB.

mod summary;

pub use self::summary::summary;

/// How a session reads a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Syntax {
    /// `"` quotes names, not texts.
    pub ansi_quotes: bool,
    /// `\` is an ordinary character.
    pub no_backslash_escapes: bool,
}

impl Syntax {
    /// Syntax of a session by the bits of its `sql_mode`, as binary logs have them.
    #[must_use]
    pub const fn from_sql_mode(mode: u64) -> Self {
        // Source: `system_variables.h` of MySQL.
        const ANSI_QUOTES: u64 = 4;
        const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
        Self { ansi_quotes: mode & ANSI_QUOTES != 0, no_backslash_escapes: mode & NO_BACKSLASH_ESCAPES != 0 }
    }
}

/// A token, and where it is in the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'s> {
    /// Kind of the token.
    pub kind: TokenKind,
    /// The text of the token in the statement, including quotes.
    pub text: &'s str,
    /// Byte offset in the statement.
    pub start: usize,
}

/// Kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A keyword, a number or a name without quotes.
    Word,
    /// A name in quotes.
    QuotedName,
    /// A text in quotes.
    Text,
    /// `/*!80016`.
    VersionStart,
    /// `*/`.
    VersionEnd,
    /// Any other character.
    Symbol,
}

impl Token<'_> {
    /// Whether the token is this keyword, ignoring case.
    #[must_use]
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether the token is this character.
    #[must_use]
    pub fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == TokenKind::Symbol && self.text == symbol
    }

    /// Byte offset of the token's end in the statement.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.start.saturating_add(self.text.len())
    }

    /// The token without quotes. Doubled quotes in a name become one; the escapes of a text stay.
    #[must_use]
    pub fn unquoted(&self) -> String {
        let inner = self.text.get(1..self.text.len().saturating_sub(1)).unwrap_or_default();
        match self.kind {
            TokenKind::QuotedName if self.text.starts_with('"') => inner.replace("\"\"", "\""),
            TokenKind::QuotedName => inner.replace("``", "`"),
            TokenKind::Text => inner.to_owned(),
            _ => self.text.to_owned(),
        }
    }
}

/// A quote or comment that does not end. A server does not execute such a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a quote or comment does not end")]
pub struct Unclosed;

/// The tokens of a statement, without blanks and comments.
#[must_use]
pub const fn tokens(statement: &str, syntax: Syntax) -> Tokens<'_> {
    Tokens { statement, at: 0, syntax }
}

/// Iterates over the tokens of a statement. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Tokens<'s> {
    statement: &'s str,
    at: usize,
    syntax: Syntax,
}

impl<'s> Iterator for Tokens<'s> {
    type Item = Result<Token<'s>, Unclosed>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(rest) = self.skip_blanks() else { return Some(Err(self.fail())) };
        let start = self.statement.len().saturating_sub(rest.len());
        let (kind, length) = match self.first(rest) {
            Ok(found) => found?,
            Err(Unclosed) => return Some(Err(self.fail())),
        };
        let (text, _) = rest.split_at_checked(length)?;
        self.at = start.saturating_add(length);
        Some(Ok(Token { kind, text, start }))
    }
}

impl<'s> Tokens<'s> {
    const fn fail(&mut self) -> Unclosed {
        self.at = self.statement.len();
        Unclosed
    }

    /// The rest of the statement after blanks and comments; `None` if a comment does not end.
    fn skip_blanks(&self) -> Option<&'s str> {
        let mut rest = self.statement.get(self.at..).unwrap_or_default();
        loop {
            let text = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
            rest = if version_start(text).is_some() {
                return Some(text);
            } else if let Some(comment) = text.strip_prefix("/*") {
                comment.split_once("*/")?.1
            } else if is_line_comment(text) {
                text.split_once('\n').map_or("", |(_, rest)| rest)
            } else {
                return Some(text);
            };
        }
    }

    /// Kind and length of the first token; `None` at the end.
    fn first(&self, rest: &str) -> Result<Option<(TokenKind, usize)>, Unclosed> {
        if let Some(length) = version_start(rest) {
            return Ok(Some((TokenKind::VersionStart, length)));
        }
        if rest.starts_with("*/") {
            return Ok(Some((TokenKind::VersionEnd, 2)));
        }
        let Some(character) = rest.chars().next() else { return Ok(None) };
        let escapes = !self.syntax.no_backslash_escapes;
        let (kind, length) = match character {
            '`' => (TokenKind::QuotedName, quoted(rest, '`', false)),
            '"' if self.syntax.ansi_quotes => (TokenKind::QuotedName, quoted(rest, '"', false)),
            '\'' | '"' => (TokenKind::Text, quoted(rest, character, escapes)),
            _ if is_of_word(character) => (TokenKind::Word, Some(rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()))),
            _ => (TokenKind::Symbol, Some(character.len_utf8())),
        };
        Ok(Some((kind, length.ok_or(Unclosed)?)))
    }
}

/// Length of `/*!` or `/*M!` (MariaDB only) with the version after it, which has five or six digits.
fn version_start(text: &str) -> Option<usize> {
    let (code, mark) = match text.strip_prefix("/*!") {
        Some(code) => (code, 3_usize),
        None => (text.strip_prefix("/*M!")?, 4),
    };
    let digits = code.bytes().take(6).take_while(u8::is_ascii_digit).count();
    Some(if digits < 5 { mark } else { mark.saturating_add(digits) })
}

/// `#`, or `--` before a blank, a control character or the end.
fn is_line_comment(text: &str) -> bool {
    let after_dashes = text.strip_prefix("--").map(|rest| rest.chars().next());
    text.starts_with('#') || after_dashes.is_some_and(|next| next.is_none_or(|c| c == ' ' || c.is_ascii_control()))
}

/// Servers treat every non-ASCII character as a letter.
const fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

/// Length of a quoted token. A doubled quote is one of its characters.
fn quoted(rest: &str, quote: char, escapes: bool) -> Option<usize> {
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if escapes && character == '\\' {
            characters.next();
        } else if character == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at.saturating_add(1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(statement: &str, syntax: Syntax) -> Option<Vec<Token<'_>>> {
        tokens(statement, syntax).collect::<Result<_, _>>().ok()
    }

    fn texts(statement: &str) -> Vec<&str> {
        let found = all(statement, Syntax::default()).unwrap_or_else(|| panic!("{statement}"));
        found.iter().map(|token| token.text).collect()
    }

    #[test]
    fn quotes_and_comments_hide_what_they_contain() {
        assert_eq!(
            texts("/* c */ ALTER TABLE `my``t`.b # don't\n ADD c CHAR DEFAULT 'it''s \\' x' -- end"),
            ["ALTER", "TABLE", "`my``t`", ".", "b", "ADD", "c", "CHAR", "DEFAULT", "'it''s \\' x'"]
        );
        // Two minus signs alone are no comment.
        assert_eq!(texts("5--3"), ["5", "-", "-", "3"]);
        let name = all("`a``) b`", Syntax::default()).unwrap();
        assert_eq!((name[0].kind, name[0].unquoted()), (TokenKind::QuotedName, "a`) b".to_owned()));
    }

    #[test]
    fn code_in_comments_for_versions_counts() {
        assert_eq!(texts("/*!40000 DROP*/"), ["/*!40000", "DROP", "*/"]);
        assert_eq!(texts("/*!080000 DROP*/"), ["/*!080000", "DROP", "*/"]);
        assert_eq!(texts("/*M!100100 DROP */ /*!DROP*/"), ["/*M!100100", "DROP", "*/", "/*!", "DROP", "*/"]);
        assert_eq!(texts("/*! DROP /* it's */ TABLE */"), ["/*!", "DROP", "TABLE", "*/"]);
    }

    #[test]
    fn the_session_decides_what_quotes_mean() {
        let kinds = |statement, mode| {
            let found = all(statement, Syntax::from_sql_mode(mode))?;
            Some(found.iter().map(|token| token.kind).collect::<Vec<_>>())
        };
        assert_eq!(kinds(r#""a""b""#, 4).unwrap(), [TokenKind::QuotedName]);
        assert_eq!(kinds(r#""a\"b""#, 0).unwrap(), [TokenKind::Text]);
        assert_eq!(kinds(r"'a\' b", 1 << 20).unwrap(), [TokenKind::Text, TokenKind::Word]);
        assert_eq!(kinds(r"'a\' b", 0), None);
    }

    #[test]
    fn an_open_quote_or_comment_is_an_error() {
        for statement in ["CREATE TABLE `a", "'b\\'", "\"c\"\"", "DROP /* t"] {
            let mut found = tokens(statement, Syntax::default());
            assert!(found.any(|token| token.is_err()), "{statement}");
            assert_eq!(found.next(), None, "{statement}");
        }
    }

    proptest! {
        #[test]
        fn tokens_are_parts_of_the_statement_in_order(statement: String) {
            let mut end = 0;
            for token in tokens(&statement, Syntax::default()).flatten() {
                prop_assert!(token.start >= end && !token.text.is_empty());
                prop_assert_eq!(&statement[token.start..token.end()], token.text);
                end = token.end();
            }
        }
    }
}
