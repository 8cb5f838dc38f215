//! Statements in the source's log: which of them concern a table that is moved.
//!
//! A server with `binlog_format=ROW` logs statements only for definitions of tables, accounts and the like. The words
//! of a statement are compared with the names of the tables. In doubt, a statement counts as one that concerns a moved
//! table.

use crate::{
    lexer::{Word, may_contain},
    moved_table::MovedTable,
};

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Begins, ends or divides a transaction.
    Transaction,
    /// Rolls back earlier changes in the log: the whole transaction, or its last changes.
    Rollback,
    /// May change rows that the log does not contain.
    Rows,
    /// Begins an XA transaction, whose rows are logged before they become visible.
    Xa,
    /// Makes the rows of a prepared XA transaction visible.
    XaCommit,
    /// Any other `XA` statement, such as `XA END` or `XA ROLLBACK`: makes no rows visible.
    XaEnd,
    /// Does not change tables, even if it names them.
    Harmless,
    /// Everything else.
    Definition,
}

/// Number of characters of a statement that errors show. It contains no values of rows, because the statement is a
/// definition.
const SHOWN: usize = 200;
/// The schema of accounts and the like, whose tables are not moved.
const SYSTEM_SCHEMA: &str = "mysql";

/// The statement after `SET STATEMENT … FOR`, of MariaDB. The values of the settings are not words, unless they are names
/// or keywords.
fn without_settings(words: &[Word]) -> &[Word] {
    let is = |at: usize, keyword: &str| words.get(at).is_some_and(|word| word.keyword() == keyword);
    if !(is(0, "SET") && is(1, "STATEMENT")) {
        return words;
    }
    let end = words.iter().position(|word| word.keyword() == "FOR");
    end.and_then(|at| words.get(at.saturating_add(1)..)).unwrap_or(words)
}

/// The words after `DATABASE` or `SCHEMA` of a statement that makes, changes or removes a schema; else none.
fn of_schema(words: &[Word]) -> &[Word] {
    let is =
        |at: usize, keywords: &[&str]| words.get(at).is_some_and(|word| keywords.contains(&word.keyword().as_str()));
    let object = if is(1, &["OR"]) && is(2, &["REPLACE"]) { 3 } else { 1 };
    let is_schema = is(0, &["CREATE", "ALTER", "DROP"]) && is(object, &["DATABASE", "SCHEMA"]);
    words.get(object.saturating_add(1)..).filter(|_| is_schema).unwrap_or_default()
}

/// Judges a statement by its first words.
pub(crate) fn kind(words: &[Word]) -> Kind {
    let words = without_settings(words);
    let keyword = |at: usize| words.get(at).map(Word::keyword).unwrap_or_default();
    match (keyword(0).as_str(), keyword(1).as_str()) {
        ("BEGIN" | "COMMIT" | "SAVEPOINT" | "RELEASE", _) => Kind::Transaction,
        ("ROLLBACK", _) => Kind::Rollback,
        ("XA", "START" | "BEGIN") => Kind::Xa,
        ("XA", "COMMIT") => Kind::XaCommit,
        ("XA", _) => Kind::XaEnd,
        ("INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "LOAD" | "WITH", _) => Kind::Rows,
        // These statements can call functions that change rows.
        ("SELECT" | "CALL" | "DO" | "TABLE" | "VALUES", _) => Kind::Rows,
        // Without its end; see `without_settings`.
        ("SET", "STATEMENT") => Kind::Definition,
        ("ANALYZE", "TABLE" | "TABLES" | "LOCAL" | "NO_WRITE_TO_BINLOG") => Kind::Harmless,
        // MariaDB executes the statement that it analyzes.
        ("ANALYZE", _) => Kind::Rows,
        ("GRANT" | "REVOKE" | "FLUSH" | "SET", _) => Kind::Harmless,
        ("CREATE" | "ALTER" | "DROP" | "RENAME", "USER" | "ROLE") => Kind::Harmless,
        // `TEMPORARY` keeps a server from dropping a table that is not temporary.
        ("CREATE" | "DROP", "TEMPORARY") => Kind::Harmless,
        _ => Kind::Definition,
    }
}

/// Whether a statement leaves the rows and columns of tables as they are: it makes, changes or removes code or a view, or
/// maintains tables. Rows that triggers change are in the log of the statement that fires them.
pub(crate) fn keeps_rows(words: &[Word]) -> bool {
    const CODE: [&str; 5] = ["VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"];
    const OTHERS: [&str; 6] = ["TABLE", "TABLES", "DATABASE", "SCHEMA", "INDEX", "TABLESPACE"];
    let mut keywords = without_settings(words).iter().map(Word::keyword);
    // There is a table of each moved name, so that a new table has another one.
    if keywords.clone().take(2).eq(["CREATE", "TABLE"]) {
        return true;
    }
    match keywords.next().as_deref() {
        Some("OPTIMIZE" | "CHECK") => true,
        // Other words can precede, such as the definer; the first of these tells the kind of object.
        Some("CREATE" | "ALTER" | "DROP") => keywords
            .find(|word| CODE.contains(&word.as_str()) || OTHERS.contains(&word.as_str()))
            .is_some_and(|word| CODE.contains(&word.as_str())),
        _ => false,
    }
}

/// Whether a statement that cannot be read as a whole leaves the moved tables as they are. `first` are its words that
/// can be read. The names of the tables are looked for in all of it, in comments and texts, too.
pub(crate) fn is_elsewhere(first: &[Word], statement: &[u8], tables: &[MovedTable]) -> bool {
    const DEFINITIONS: [&str; 7] = ["ALTER", "CREATE", "DROP", "OPTIMIZE", "RENAME", "REPAIR", "TRUNCATE"];
    match kind(first) {
        Kind::Transaction | Kind::Harmless => true,
        Kind::Definition => {
            // What follows `SET STATEMENT … FOR` may be one of the words that cannot be read.
            let verb = without_settings(first).first().map(Word::keyword).unwrap_or_default();
            let is_named = || tables.iter().any(|moved| may_name(statement, moved));
            DEFINITIONS.contains(&verb.as_str()) && (keeps_rows(first) || !is_named())
        }
        Kind::Rollback | Kind::Rows | Kind::Xa | Kind::XaCommit | Kind::XaEnd => false,
    }
}

/// Whether a statement that cannot be read may name a table, or its schema as a whole.
fn may_name(statement: &[u8], moved: &MovedTable) -> bool {
    let has = |name: &str| may_contain(statement, name);
    has(&moved.table.name) || (has(&moved.table.schema) && (has("DATABASE") || has("SCHEMA")))
}

/// Whether a statement that may change rows refers only to tables of the schema `mysql`.
pub(crate) fn is_of_system(words: &[Word], database: &[u8]) -> bool {
    match without_settings(words).iter().find_map(|word| word.qualifier.as_deref()) {
        Some(schema) => is(schema, SYSTEM_SCHEMA),
        None => database == SYSTEM_SCHEMA.as_bytes(),
    }
}

/// The first moved table that a statement names, or whose schema it names as a whole (`DROP DATABASE`).
pub(crate) fn concerned<'m>(words: &[Word], database: &[u8], tables: &'m [MovedTable]) -> Option<&'m MovedTable> {
    let database = String::from_utf8_lossy(database);
    let words = without_settings(words);
    let of_table = words.iter().find_map(|word| {
        tables.iter().find(|moved| {
            let (schema, name) = (moved.table.schema.as_str(), moved.table.name.as_str());
            is(&word.text, name) && is_qualified(word, schema, &database)
        })
    });
    let of_schema =
        || of_schema(words).iter().find_map(|word| tables.iter().find(|moved| is(&word.text, &moved.table.schema)));
    of_table.or_else(of_schema)
}

/// Whether a name refers to a table of this schema.
fn is_qualified(word: &Word, schema: &str, database: &str) -> bool {
    // A dot without a schema before it, as in `DROP TABLE .t`, means the current schema.
    const NO_SCHEMAS: [&str; 8] = ["TABLE", "TABLES", "EXISTS", "TO", "ON", "FROM", "LIKE", "TRUNCATE"];
    let Some(qualifier) = &word.qualifier else { return is(schema, database) };
    is(qualifier, schema) || (NO_SCHEMAS.iter().any(|keyword| is(qualifier, keyword)) && is(schema, database))
}

/// Whether two names may mean the same object: servers can ignore case.
fn is(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other) || (!one.is_ascii() && one.to_lowercase() == other.to_lowercase())
}

/// The start of a statement, for an error.
pub(crate) fn shown(statement: &[u8]) -> String {
    String::from_utf8_lossy(statement).chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Table,
        catalog::Identity,
        lexer::{Syntax, first_words, words},
        preflight::testing::column,
    };

    fn table(number: usize, schema: &str, name: &str) -> MovedTable {
        let table = Table {
            schema: schema.to_owned(),
            name: name.to_owned(),
            engine: "InnoDB".to_owned(),
            columns: vec![column("id")],
            identity: Some(Identity { index: "PRIMARY".to_owned(), columns: vec![0], comparable: true }),
            encrypted: true,
            rows: 0,
            bytes: 0,
            create: String::new(),
        };
        MovedTable::new(number, &table)
    }

    fn named(statement: &str, database: &str) -> Option<String> {
        let tables = [table(0, "shop", "users"), table(1, "shop", "a`b"), table(2, "Größe", "maß")];
        let words = words(statement.as_bytes(), Syntax::default()).unwrap();
        concerned(&words, database.as_bytes(), &tables).map(|found| found.shown.clone())
    }

    #[test]
    fn statements_are_told_by_their_first_words() {
        let kind_of = |statement: &str| kind(&words(statement.as_bytes(), Syntax::default()).unwrap());
        assert_eq!(kind_of("BEGIN"), Kind::Transaction);
        assert_eq!(kind_of("ROLLBACK TO `s`"), Kind::Rollback);
        assert_eq!(kind_of("XA START x'31'"), Kind::Xa);
        assert_eq!(kind_of("XA COMMIT X'31',X'',1"), Kind::XaCommit);
        assert_eq!(kind_of("truncate t"), Kind::Definition);
        assert_eq!(kind_of("CREATE USER 'a'@'%'"), Kind::Harmless);
        assert_eq!(kind_of("-- Create user table\nTRUNCATE TABLE users"), Kind::Definition);
        assert_eq!(kind_of("DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `t`"), Kind::Harmless);
        assert_eq!(kind_of("DROP PROCEDURE p"), Kind::Definition);
        assert_eq!(kind_of("SET STATEMENT max_statement_time = 9 FOR TRUNCATE t"), Kind::Definition);
        assert_eq!(kind_of("SET STATEMENT sql_mode = 'FOR' FOR DELETE FROM t"), Kind::Rows);
        assert_eq!(kind_of("/*!40000 ALTER TABLE t DISABLE KEYS */"), Kind::Definition);
        for statement in [
            "INSERT INTO t VALUES (1)",
            "WITH c AS (SELECT 1) DELETE FROM t",
            "SELECT f()",
            "CALL p()",
            "ANALYZE DELETE FROM t",
            "ANALYZE FORMAT=JSON UPDATE t SET a = 1",
        ] {
            assert_eq!(kind_of(statement), Kind::Rows, "{statement}");
        }
        for statement in ["ANALYZE TABLE t", "ANALYZE LOCAL TABLE t", "GRANT SELECT ON t TO u"] {
            assert_eq!(kind_of(statement), Kind::Harmless, "{statement}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_elsewhere_unless_it_may_name_a_table() {
        let tables = [table(0, "shop", "users")];
        let passes = |statement: &[u8], tables: &[MovedTable]| {
            is_elsewhere(&first_words(statement, Syntax::default()), statement, tables)
        };
        for statement in [
            &b"CREATE TABLE other.t (a INT COMMENT '5 \x80')"[..],
            b"ALTER TABLE other.t COMMENT '\xE6\xF3\xEA'",
            b"DROP TABLE shop.\xE6",
            b"CREATE VIEW shop.v AS SELECT '\x80' FROM shop.users",
            b"CREATE PROCEDURE p() DELETE FROM users WHERE a = '\x80'",
            b"OPTIMIZE TABLE users, `\x80`",
            b"CREATE TABLE other.t (a INT COMMENT '\x80') SELECT 1 AS users",
            b"GRANT SELECT ON shop.users TO '\xE6'@'%'",
            b"SAVEPOINT `\xE6`",
            b"SET STATEMENT max_statement_time = 9 FOR DROP TABLE other.`\xE6`",
        ] {
            assert!(passes(statement, &tables), "{}", statement.escape_ascii());
        }
        for statement in [
            &b"ALTER TABLE shop.users COMMENT '\x80'"[..],
            b"DROP TABLE `\xE6`, USERS",
            b"RENAME TABLE other.`\xE6` TO other.t, shop.users TO other.u",
            b"/* \x80 */ DROP DATABASE shop",
            b"ALTER SCHEMA `shop` COMMENT '\x80'",
            b"INSERT INTO other.t VALUES ('\x80')",
            b"/* \x80 */ DELETE FROM other.t",
            b"SET STATEMENT sql_mode = '\x80' FOR DROP TABLE other.t",
            b"ROLLBACK TO `\xE6`",
            b"\xE6 DROP TABLE other.t",
            b"INSTALL SONAME '\xE6'",
        ] {
            assert!(!passes(statement, &tables), "{}", statement.escape_ascii());
        }
        assert!(!passes(b"DROP TABLE other.`\xE6`", &[table(0, "shop", "ma\u{DF}")]));
    }

    #[test]
    fn code_and_maintenance_keep_rows() {
        let keeps = |statement: &str| keeps_rows(&words(statement.as_bytes(), Syntax::default()).unwrap());
        for statement in [
            "CREATE ALGORITHM=UNDEFINED DEFINER=`table`@`%` SQL SECURITY DEFINER VIEW `v` AS select 1 from `users`",
            "CREATE DEFINER=`a`@`b` TRIGGER t AFTER INSERT ON users FOR EACH ROW SET @a = 1",
            "DROP PROCEDURE IF EXISTS p",
            "ALTER EVENT e RENAME TO users",
            "CREATE FUNCTION f() RETURNS INT RETURN (SELECT 1 FROM users)",
            "OPTIMIZE TABLE users",
            "CREATE TABLE old LIKE users",
        ] {
            assert!(keeps(statement), "{statement}");
        }
        for statement in [
            "ALTER TABLE users EXCHANGE PARTITION p WITH TABLE event",
            "DROP TABLES view, users",
            "CREATE UNIQUE INDEX view ON users (a)",
            "DROP INDEX `a` ON users",
            "DROP SCHEMA event",
            "TRUNCATE TABLE users",
            "CREATE OR REPLACE TABLE users (a INT)",
            "RENAME TABLE view TO users",
            "REPAIR TABLE users",
        ] {
            assert!(!keeps(statement), "{statement}");
        }
    }

    #[test]
    fn a_table_is_named_with_its_schema_or_in_it() {
        for (statement, database) in [
            ("-- Create user table\nTRUNCATE TABLE users", "shop"),
            ("-- don't\nDROP TABLE users", "shop"),
            ("ALTER TABLE x COMMENT 'it\\'s', RENAME users", "shop"),
            ("DROP TABLE shop.users", "other"),
            ("DROP TABLE .users", "shop"),
            ("TRUNCATE .USERS", "SHOP"),
        ] {
            assert_eq!(named(statement, database).as_deref(), Some("shop.users"), "{statement}");
        }
        assert_eq!(named("DROP TABLE `shop`.`a``b`", "").as_deref(), Some("shop.a`b"));
        assert_eq!(named("DROP TABLE GRÖßE.MAß", "").as_deref(), Some("Größe.maß"));
        assert_eq!(named("DROP TABLE other.users", "shop"), None);
        assert_eq!(named("DROP TABLE users", "other"), None);
        assert_eq!(named("CREATE TABLE t (a INT COMMENT 'users')", "shop"), None);
    }

    #[test]
    fn a_schema_is_named_alone() {
        assert!(named("/*!40000 DROP DATABASE IF EXISTS `shop`*/", "").is_some());
        assert!(named("ALTER SCHEMA shop READ ONLY = 1", "").is_some());
        assert!(named("CREATE OR REPLACE DATABASE shop", "").is_some());
        assert_eq!(named("CREATE OR REPLACE TABLE shop.new (a INT)", ""), None);
        assert_eq!(named("CREATE TABLE other.t AS SELECT DATABASE() FROM shop.visits", ""), None);
    }

    #[test]
    fn settings_before_a_statement_are_passed_over() {
        assert!(named("SET STATEMENT max_statement_time = 9 FOR DROP DATABASE shop", "").is_some());
        assert!(named("SET STATEMENT sql_mode = ANSI FOR CREATE OR REPLACE SCHEMA shop", "").is_some());
        assert!(named("SET STATEMENT max_statement_time = 9 FOR TRUNCATE users", "shop").is_some());
        let words = words(b"SET STATEMENT max_statement_time = 9 FOR DROP VIEW v", Syntax::default()).unwrap();
        assert!(keeps_rows(&words));
    }

    #[test]
    fn the_system_schema_is_told_by_the_first_name() {
        let is_of = |statement: &str, database: &str| {
            is_of_system(&words(statement.as_bytes(), Syntax::default()).unwrap(), database.as_bytes())
        };
        assert!(is_of("DELETE FROM mysql.user", "shop"));
        assert!(is_of("DELETE FROM user", "mysql"));
        assert!(!is_of("INSERT INTO shop.t SELECT * FROM mysql.user", "mysql"));
        assert!(!is_of("DELETE FROM t", "shop"));
    }
}
