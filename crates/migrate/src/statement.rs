//! Statements in the source's log: which of them concern a table that is moved.
//!
//! A server with `binlog_format=ROW` logs statements only for definitions of tables, accounts and the like. The words of
//! a statement are compared with the names of the tables, so a statement in question is rather taken for one that
//! concerns a table.

use crate::copy::table::MovedTable;

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Begins, ends or divides a transaction.
    Transaction,
    /// Changes rows, which are not in the log.
    Rows,
    /// Begins an XA transaction: its rows become visible later than they are logged.
    Xa,
    /// Ends one, or the part of it with rows.
    XaEnd,
    /// Does not change tables.
    Harmless,
    /// Everything else.
    Definition,
}

/// Number of characters of a statement that errors show. They have no values of rows: the statement is a definition.
const SHOWN: usize = 200;

/// Judges a statement by its first words.
pub(crate) fn kind(words: &[Word]) -> Kind {
    let first = words.first().map(|word| word.text.to_ascii_uppercase()).unwrap_or_default();
    let second = words.get(1).map(|word| word.text.to_ascii_uppercase()).unwrap_or_default();
    match (first.as_str(), second.as_str()) {
        ("BEGIN" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE", _) => Kind::Transaction,
        ("XA", "START" | "BEGIN") => Kind::Xa,
        ("XA", _) => Kind::XaEnd,
        ("INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "LOAD", _) => Kind::Rows,
        ("GRANT" | "REVOKE" | "FLUSH" | "ANALYZE" | "SET", _) => Kind::Harmless,
        ("CREATE" | "ALTER" | "DROP" | "RENAME", "USER" | "ROLE" | "FUNCTION" | "PROCEDURE" | "EVENT") => {
            Kind::Harmless
        }
        _ => Kind::Definition,
    }
}

/// A name or keyword of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    text: String,
    /// Whether a point precedes it.
    qualified: bool,
}

/// The words of a statement, without comments and text literals.
pub(crate) fn words(statement: &[u8]) -> Vec<Word> {
    let text = String::from_utf8_lossy(statement);
    let mut words: Vec<Word> = Vec::new();
    let mut qualified = false;
    let mut rest = text.as_ref();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '`' | '"' => quoted(rest, first),
            '\'' => quoted(rest, first),
            '/' if rest.starts_with("/*") && !rest.starts_with("/*!") => {
                rest.find("*/").map_or(rest.len(), |end| end.saturating_add(2))
            }
            _ if is_of_word(first) => rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        if first == '`' || first == '"' || is_of_word(first) {
            words.push(Word { text: unquoted(token, first), qualified });
        }
        if !first.is_whitespace() {
            qualified = first == '.';
        }
        rest = after;
    }
    words
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Length of the quoted token at the start. A doubled quote is two tokens, which does no harm.
fn quoted(text: &str, quote: char) -> usize {
    let inner = text.get(1..).unwrap_or_default();
    inner.find(quote).map_or(text.len(), |end| end.saturating_add(2))
}

fn unquoted(token: &str, first: char) -> String {
    if is_of_word(first) { token.to_owned() } else { token.trim_matches(first).to_owned() }
}

/// The first table that a statement names, or whose schema it names alone (`DROP DATABASE`).
pub(crate) fn concerned<'m>(words: &[Word], database: &[u8], tables: &'m [MovedTable]) -> Option<&'m MovedTable> {
    let database = String::from_utf8_lossy(database);
    let is = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    let of_schema = matches!(words, [_, second, ..] if is(&second.text, "DATABASE") || is(&second.text, "SCHEMA"));
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| words.get(before)).map(|word| word.text.as_str());
        let schema = if word.qualified { before.unwrap_or_default() } else { &database };
        let found = tables.iter().find(|moved| {
            let (table_schema, name) = (&moved.table.schema, &moved.table.name);
            (is(&word.text, name) && is(schema, table_schema)) || (of_schema && is(&word.text, table_schema))
        });
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The start of a statement, for an error.
pub(crate) fn shown(statement: &[u8]) -> String {
    String::from_utf8_lossy(statement).chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(statement: &str) -> Vec<String> {
        words(statement.as_bytes()).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_are_names_and_keywords() {
        assert_eq!(
            texts("/* c */ ALTER TABLE `my t`.`b` ADD c INT DEFAULT 'x y'"),
            ["ALTER", "TABLE", "my t", "b", "ADD", "c", "INT", "DEFAULT"]
        );
        assert!(words(b"DROP TABLE a.b")[3].qualified);
        assert!(words(b"DROP TABLE a . `b`")[3].qualified);
    }

    #[test]
    fn statements_are_told_by_their_first_words() {
        let kind_of = |statement: &str| kind(&words(statement.as_bytes()));
        assert_eq!(kind_of("BEGIN"), Kind::Transaction);
        assert_eq!(kind_of("XA START x'31'"), Kind::Xa);
        assert_eq!(kind_of("truncate t"), Kind::Definition);
        assert_eq!(kind_of("CREATE USER 'a'@'%'"), Kind::Harmless);
        assert_eq!(kind_of("/*!40000 ALTER TABLE t DISABLE KEYS */"), Kind::Definition);
        assert_eq!(kind_of("INSERT INTO t VALUES (1)"), Kind::Rows);
    }
}
