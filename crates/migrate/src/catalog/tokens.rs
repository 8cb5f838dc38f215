//! Tokens of the statements that a server shows for its tables.
//!
//! Only as much of SQL as `SHOW CREATE TABLE` writes: names in backquotes, texts with backslash escapes, comments for
//! versions (`/*!80016 … */`), whose contents are read as if there were no comment. A clause is never looked for in the
//! text itself: a comment on a column may say anything.

/// A token, and where it is in the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind,
    /// As the statement has it, quotes included.
    pub(super) text: &'s str,
    /// Byte offset in the statement.
    pub(super) at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A keyword, a number or a name without quotes.
    Word,
    /// A name in backquotes.
    Name,
    /// A text in single or double quotes.
    Text,
    /// `/*!80016`.
    VersionStart,
    /// `*/`.
    VersionEnd,
    /// Any other character.
    Symbol,
}

impl Token<'_> {
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.text == symbol
    }

    /// Byte offset of the end.
    pub(super) fn end(&self) -> usize {
        self.at.saturating_add(self.text.len())
    }

    /// The name or text without its quotes.
    pub(super) fn unquoted(&self) -> String {
        let inner = self.text.get(1..self.text.len().saturating_sub(1)).unwrap_or_default();
        match self.kind {
            Kind::Name => inner.replace("``", "`"),
            Kind::Text => inner.to_owned(),
            _ => self.text.to_owned(),
        }
    }
}

/// The tokens of a statement; `None` if a quote is not closed.
pub(super) fn tokens(statement: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut at = 0_usize;
    while let Some(rest) = statement.get(at..).filter(|rest| !rest.is_empty()) {
        let blank = rest.len().saturating_sub(rest.trim_start().len());
        if blank > 0 {
            at = at.saturating_add(blank);
            continue;
        }
        let (kind, length) = first(rest)?;
        tokens.push(Token { kind, text: rest.get(..length)?, at });
        at = at.saturating_add(length);
    }
    Some(tokens)
}

/// Kind and length of the first token.
fn first(rest: &str) -> Option<(Kind, usize)> {
    if let Some(version) = rest.strip_prefix("/*!") {
        let digits = version.bytes().take_while(u8::is_ascii_digit).count();
        return Some((Kind::VersionStart, digits.saturating_add(3)));
    }
    if rest.starts_with("*/") {
        return Some((Kind::VersionEnd, 2));
    }
    let character = rest.chars().next()?;
    match character {
        '`' => Some((Kind::Name, quoted(rest, '`', false)?)),
        '\'' | '"' => Some((Kind::Text, quoted(rest, character, true)?)),
        _ if is_word(character) => {
            let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
            Some((Kind::Word, end))
        }
        _ => Some((Kind::Symbol, character.len_utf8())),
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$' | '@')
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

/// The tokens of the table's options: after the list of columns, before the partitions.
pub(super) fn options<'t, 's>(tokens: &'t [Token<'s>]) -> &'t [Token<'s>] {
    let after = after_columns(tokens);
    let partitions = after
        .windows(2)
        .position(|pair| matches!(pair, [partition, by] if partition.is_word("PARTITION") && by.is_word("BY")));
    after.get(..partitions.unwrap_or(after.len())).unwrap_or_default()
}

/// The tokens after the list of columns: options and partitions.
fn after_columns<'t, 's>(tokens: &'t [Token<'s>]) -> &'t [Token<'s>] {
    let mut depth = 0_usize;
    for (position, token) in tokens.iter().enumerate() {
        if token.is_symbol("(") {
            depth = depth.saturating_add(1);
        } else if token.is_symbol(")") {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return tokens.get(position.saturating_add(1)..).unwrap_or_default();
            }
        }
    }
    &[]
}

/// Where the table or one of its partitions is, if not in a tablespace of its own in the data directory: `tablespace
/// ts`, `directory /srv/`.
#[must_use]
pub fn placement(create: &str) -> Option<String> {
    let tokens = tokens(create)?;
    let after = after_columns(&tokens);
    let tablespace =
        option(after, "TABLESPACE").map(|name| name.unquoted()).filter(|name| name != "innodb_file_per_table");
    let directory = || Some(format!("directory {}", option(after, "DIRECTORY")?.unquoted()));
    tablespace.map(|name| format!("tablespace {name}")).or_else(directory)
}

/// The value of an option such as `ENCRYPTION='Y'`: its token.
pub(super) fn option<'s>(options: &[Token<'s>], name: &str) -> Option<Token<'s>> {
    let position = options.iter().position(|token| token.is_word(name))?;
    options.iter().skip(position.saturating_add(1)).find(|token| !token.is_symbol("=")).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_hide_what_they_contain() {
        let statement = "CREATE TABLE `a``) b` (\n `c` char(1) DEFAULT '\\') ENCRYPTION=''x' COMMENT 'ENCRYPTION=''Y''',\n \
                         CHECK ((`c` <> _utf8mb4'('))\n) ENGINE=InnoDB /*!80016 ENCRYPTION='N' */ COMMENT='ENCRYPTION'\n\
                         /*!50100 PARTITION BY HASH (`c`) */";
        let all = tokens(statement).unwrap();
        let options = options(&all);
        assert_eq!(option(options, "ENCRYPTION").unwrap().text, "'N'");
        assert_eq!(option(options, "engine").unwrap().text, "InnoDB");
        assert!(option(options, "HASH").is_none());
        assert_eq!(all.get(2).unwrap().unquoted(), "a`) b");
    }

    #[test]
    fn an_open_quote_is_an_error() {
        for statement in ["CREATE TABLE `a", "'b\\'", "\"c\"\""] {
            assert_eq!(tokens(statement), None, "{statement}");
        }
    }

    proptest! {
        #[test]
        fn tokens_cover_the_statement(statement: String) {
            if let Some(tokens) = tokens(&statement) {
                let mut end = 0;
                for token in tokens {
                    prop_assert!(token.at >= end);
                    prop_assert_eq!(&statement[token.at..token.end()], token.text);
                    end = token.end();
                }
            }
        }
    }
}
