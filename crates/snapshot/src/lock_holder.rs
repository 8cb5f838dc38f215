//! Sessions that hold up a backup lock.

use std::fmt;

use server::{
    Rows,
    sql::{Syntax, summary},
};

/// A session that holds up a backup lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its connection id, for `KILL`.
    pub id: u64,
    /// User of the account.
    pub user: String,
    /// Summary of its statement without any values; empty between two statements.
    pub statement: String,
    /// Seconds for which the statement has run, or the session has been idle.
    pub seconds: u64,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, user, statement, seconds } = self;
        match statement.as_str() {
            "" => write!(f, "session {id} of {user}, idle for {seconds} s"),
            statement => write!(f, "session {id} of {user} with {statement}, for {seconds} s"),
        }
    }
}

impl Holder {
    /// The sessions of a result with the columns `id`, `user`, `statement` and `seconds`. Statements are cut to what
    /// they define or change: they may contain values.
    pub(crate) fn from_rows(rows: &Rows) -> Vec<Self> {
        let row = |row: usize| {
            let text = |column| rows.value(row, column).unwrap_or_default();
            // The SQL mode of another session is not known. A name in double quotes counts as a text, and is left out.
            let (what, name) = summary(text("statement"), Syntax::default());
            Some(Self {
                id: text("id").parse().ok()?,
                user: text("user").to_owned(),
                statement: [Some(what), name].into_iter().flatten().collect::<Vec<_>>().join(" "),
                seconds: text("seconds").parse().unwrap_or_default(),
            })
        };
        (0..rows.rows.len()).filter_map(row).collect()
    }

    /// Whether its statement may hold up a stage of MariaDB's backups: it changes something.
    pub(crate) fn changes(&self) -> bool {
        const READS: [&str; 7] = ["", "SELECT", "SHOW", "SET", "EXPLAIN", "WITH", "BINLOG"];
        !READS.contains(&self.statement.split(' ').next().unwrap_or_default())
    }
}

/// The sessions as text to append to an error message, with a colon in front; empty if there are none.
pub(crate) fn list(found: Option<&[Holder]>) -> String {
    let all = found.unwrap_or_default().iter().map(Holder::to_string).collect::<Vec<_>>().join("; ");
    if all.is_empty() { all } else { format!(": {all}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_named_without_the_values_of_its_statement() {
        let row = |id: &str, statement: Option<&str>| {
            vec![Some(id.to_owned()), Some("app".to_owned()), statement.map(str::to_owned), Some("61".to_owned())]
        };
        let rows = Rows {
            columns: ["id", "user", "statement", "seconds"].map(str::to_owned).to_vec(),
            rows: vec![
                row("12", Some("ALTER TABLE `shop`.orders ADD pin INT DEFAULT 4711")),
                row("13", Some("UPDATE t SET name = 'secret'")),
                row("14", None),
                row("15", Some("SELECT 'secret'")),
            ],
        };
        let found = Holder::from_rows(&rows);
        let expected = ": session 12 of app with ALTER TABLE shop.orders, for 61 s; session 13 of app with UPDATE, for 61 s; \
                        session 14 of app, idle for 61 s; session 15 of app with SELECT, for 61 s";
        assert_eq!(list(Some(&found)), expected);
        assert_eq!(found.iter().map(Holder::changes).collect::<Vec<_>>(), [true, true, false, false]);
        assert_eq!((list(None), list(Some(&[]))), (String::new(), String::new()));
    }
}
