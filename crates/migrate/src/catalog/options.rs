//! The options of a table, from the statement that `SHOW CREATE TABLE` returns.

use server::sql::{self, Syntax, Token, TokenKind};

/// The tokens of a statement that a server has printed; `None` if a quote is not closed.
pub(super) fn tokens(statement: &str) -> Option<Vec<Token<'_>>> {
    sql::tokens(statement, Syntax::default()).collect::<Result<_, _>>().ok()
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

/// Where the table or one of its partitions is stored, as `tablespace ts` or `directory /srv/`; `None` if it has its
/// own tablespace in the data directory.
#[must_use]
pub fn placement(create: &str) -> Option<String> {
    let tokens = tokens(create)?;
    let after = after_columns(&tokens);
    let tablespace =
        option(after, "TABLESPACE").map(|name| name.unquoted()).filter(|name| name != "innodb_file_per_table");
    let directory = || Some(format!("directory {}", option(after, "DIRECTORY")?.unquoted()));
    tablespace.map(|name| format!("tablespace {name}")).or_else(directory)
}

/// The token with the value of an option such as `ENCRYPTION='Y'`.
pub(super) fn option<'s>(options: &[Token<'s>], name: &str) -> Option<Token<'s>> {
    // MariaDB quotes the names of some options; an equals sign tells them from values in quotes.
    let is_quoted = |at: usize, token: &Token<'_>| {
        token.kind == TokenKind::QuotedName
            && token.unquoted().eq_ignore_ascii_case(name)
            && options.get(at.saturating_add(1)).is_some_and(|next| next.is_symbol("="))
    };
    let position = (options.iter().enumerate()).position(|(at, token)| token.is_word(name) || is_quoted(at, token))?;
    options.iter().skip(position.saturating_add(1)).find(|token| !token.is_symbol("=")).copied()
}

#[cfg(test)]
mod tests {
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
}
