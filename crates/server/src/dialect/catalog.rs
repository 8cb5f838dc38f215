//! Queries for the structure of a server's tables, with one set of columns for every version.
//!
//! Each reads all user schemas at once: a server may have thousands of tables. Sources: the manual of MySQL,
//! "INFORMATION_SCHEMA Tables"; MariaDB's documentation, "Information Schema Tables"; seen on MySQL 5.6, 5.7, 8.0 and
//! 9.7, MariaDB 10.11 and 11.8.

use super::capability::Capability;
use crate::{
    quote,
    version::{Flavor, ServerVersion},
};

/// Schemas that belong to the server.
pub const SYSTEM_SCHEMAS: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// [`SYSTEM_SCHEMAS`] as a list in SQL.
#[macro_export]
macro_rules! system_schemas {
    () => {
        "('information_schema', 'mysql', 'performance_schema', 'sys')"
    };
}

/// Whether a schema belongs to the server. Servers report the names of these schemas in lower case: where the case of
/// schema names matters, `SYS` is a schema of a user.
#[must_use]
pub fn is_system_schema(name: &str) -> bool {
    SYSTEM_SCHEMAS.contains(&name)
}

/// Queries for one server. Rows are unordered unless the comment of a query gives an order.
#[derive(Clone, Copy, Debug)]
pub struct Catalog {
    /// Settings of the session that the queries need: without them, some omit columns or answer from a cache.
    pub session: &'static [&'static str],
    /// `schema`, `charset`, `collation`, `encryption` (`YES`, `NO`; NULL where schemas have no such default).
    pub schemas: &'static str,
    /// Tables, views and sequences: `schema`, `table`, `type`, `engine`, `row_format`, `rows`, `bytes`, `collation`,
    /// `options`, `comment`. Only tables have a size; it is an estimate.
    pub tables: &'static str,
    /// `schema`, `table`, `column`, `column_type`, `data_type`, `charset`, `collation`, `nullable`, `default`, `extra`,
    /// `expression`, `srid`, `comment`; in the order of the table.
    pub columns: &'static str,
    /// Parts of indexes: `schema`, `table`, `index`, `non_unique`, `column` (NULL for an expression), `prefix`,
    /// `order`, `nullable`, `type`, `visible`, `expression`; in the order of the index.
    pub indexes: &'static str,
    /// Columns of foreign keys: `schema`, `table`, `constraint`, `column`, `parent_schema`, `parent_table`,
    /// `parent_column`; in the order of the key.
    pub foreign_key_columns: &'static str,
    /// `schema`, `table`, `constraint`, `on_update`, `on_delete`.
    pub foreign_key_rules: &'static str,
    /// Views, triggers, routines and events: `kind`, `schema`, `name`, `table` (of a trigger), `definer`.
    pub code: &'static str,
}

/// The queries for a server.
#[must_use]
pub fn catalog(version: &ServerVersion) -> &'static Catalog {
    match version.flavor {
        Flavor::MariaDb => &MARIADB,
        Flavor::MySql | Flavor::Percona if version.at_least(8, 0, 16) => &MYSQL,
        Flavor::MySql | Flavor::Percona if version.at_least(5, 7, 6) => &MYSQL_57,
        Flavor::MySql | Flavor::Percona => &MYSQL_56,
    }
}

/// Selects the default collation of `utf8mb4`. Before MySQL 8.0, which has another default, servers omit it in the text
/// of definitions.
pub const UTF8MB4_COLLATION: &str = "SELECT COLLATION_NAME FROM information_schema.COLLATIONS \
     WHERE CHARACTER_SET_NAME = 'utf8mb4' AND IS_DEFAULT = 'Yes'";

/// The variable with the collation of tables whose definition names only `utf8mb4`; MySQL 8.0.11 and newer. A session sets
/// it to keep the default of an older server, as replicas of it do; that needs SESSION_VARIABLES_ADMIN.
pub const UTF8MB4_DEFAULT: &str = "default_collation_for_utf8mb4";
/// That collation before MySQL 8.0.
pub const UTF8MB4_BEFORE_8: &str = "utf8mb4_general_ci";

/// Lists the names of a server's collations. Since MariaDB 10.10, some names are whole only with a character set.
#[must_use]
pub const fn collations(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MariaDb => "SELECT FULL_COLLATION_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY",
        Flavor::MySql | Flavor::Percona => "SELECT COLLATION_NAME FROM information_schema.COLLATIONS",
    }
}

/// MariaDB's variable with the default collations that replace a character set's own where a definition names only the
/// character set. Exists since 11.2; since 11.5 it is not empty.
pub const CHARACTER_SET_COLLATIONS: &str = "character_set_collations";

/// Shows the `CREATE TABLE` statement of a table, in column 2.
#[must_use]
pub fn show_create_table(schema: &str, table: &str) -> String {
    format!("SHOW CREATE TABLE {}", quote::table(schema, table))
}

/// Creates a schema that encrypts new tables by default if `encrypted` is set and the version has such a default.
#[must_use]
pub fn create_schema(version: &ServerVersion, schema: &str, charset: &str, collation: &str, encrypted: bool) -> String {
    let default = match encrypted && version.mysql_can(Capability::EncryptByDefault) {
        true => " DEFAULT ENCRYPTION 'Y'",
        false => "",
    };
    let name = quote::identifier(schema);
    format!("CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET {charset} COLLATE {collation}{default}")
}

/// Compares names as bytes: MySQL before 8.0 and MariaDB would ignore case, but `SYS` is a schema of a user.
macro_rules! not_in_schemas {
    ($column:literal, $schemas:expr) => {
        concat!("CAST(", $column, " AS BINARY) NOT IN ", $schemas)
    };
}
pub(super) use not_in_schemas;

macro_rules! user_schemas {
    ($column:literal) => {
        not_in_schemas!($column, system_schemas!())
    };
}

macro_rules! schemas {
    ($encryption:literal) => {
        concat!(
            "SELECT SCHEMA_NAME AS `schema`, DEFAULT_CHARACTER_SET_NAME AS `charset`, ",
            "DEFAULT_COLLATION_NAME AS `collation`, ",
            $encryption,
            " AS `encryption` FROM information_schema.SCHEMATA WHERE ",
            user_schemas!("SCHEMA_NAME")
        )
    };
}

macro_rules! columns {
    ($expression:literal, $srid:literal) => {
        concat!(
            "SELECT TABLE_SCHEMA AS `schema`, TABLE_NAME AS `table`, COLUMN_NAME AS `column`, ",
            "COLUMN_TYPE AS `column_type`, DATA_TYPE AS `data_type`, CHARACTER_SET_NAME AS `charset`, ",
            "COLLATION_NAME AS `collation`, IS_NULLABLE AS `nullable`, COLUMN_DEFAULT AS `default`, EXTRA AS `extra`, ",
            $expression,
            " AS `expression`, ",
            $srid,
            " AS `srid`, COLUMN_COMMENT AS `comment` FROM information_schema.COLUMNS WHERE ",
            user_schemas!("TABLE_SCHEMA"),
            " ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION"
        )
    };
}

macro_rules! indexes {
    ($visible:literal, $expression:literal) => {
        concat!(
            "SELECT TABLE_SCHEMA AS `schema`, TABLE_NAME AS `table`, INDEX_NAME AS `index`, ",
            "NON_UNIQUE AS `non_unique`, COLUMN_NAME AS `column`, SUB_PART AS `prefix`, COLLATION AS `order`, ",
            "NULLABLE AS `nullable`, INDEX_TYPE AS `type`, ",
            $visible,
            " AS `visible`, ",
            $expression,
            " AS `expression` FROM information_schema.STATISTICS WHERE ",
            user_schemas!("TABLE_SCHEMA"),
            " ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"
        )
    };
}

const TABLES: &str = concat!(
    "SELECT TABLE_SCHEMA AS `schema`, TABLE_NAME AS `table`, TABLE_TYPE AS `type`, ENGINE AS `engine`, ",
    "ROW_FORMAT AS `row_format`, COALESCE(TABLE_ROWS, 0) AS `rows`, ",
    "COALESCE(DATA_LENGTH, 0) + COALESCE(INDEX_LENGTH, 0) AS `bytes`, TABLE_COLLATION AS `collation`, ",
    "CREATE_OPTIONS AS `options`, TABLE_COMMENT AS `comment` FROM information_schema.TABLES WHERE ",
    user_schemas!("TABLE_SCHEMA")
);

/// Selects the names of all tables, views and sequences of users, and nothing that the server has to open them for:
/// `schema`, `table`, `type`.
pub const TABLE_NAMES: &str = concat!(
    "SELECT TABLE_SCHEMA AS `schema`, TABLE_NAME AS `table`, TABLE_TYPE AS `type` ",
    "FROM information_schema.TABLES WHERE ",
    user_schemas!("TABLE_SCHEMA")
);

const FOREIGN_KEY_COLUMNS: &str = concat!(
    "SELECT TABLE_SCHEMA AS `schema`, TABLE_NAME AS `table`, CONSTRAINT_NAME AS `constraint`, ",
    "COLUMN_NAME AS `column`, REFERENCED_TABLE_SCHEMA AS `parent_schema`, REFERENCED_TABLE_NAME AS `parent_table`, ",
    "REFERENCED_COLUMN_NAME AS `parent_column` FROM information_schema.KEY_COLUMN_USAGE ",
    "WHERE REFERENCED_TABLE_NAME IS NOT NULL AND ",
    user_schemas!("TABLE_SCHEMA"),
    " ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION"
);

const FOREIGN_KEY_RULES: &str = concat!(
    "SELECT CONSTRAINT_SCHEMA AS `schema`, TABLE_NAME AS `table`, CONSTRAINT_NAME AS `constraint`, ",
    "UPDATE_RULE AS `on_update`, DELETE_RULE AS `on_delete` FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE ",
    user_schemas!("CONSTRAINT_SCHEMA")
);

const CODE: &str = concat!(
    "SELECT 'view' AS `kind`, TABLE_SCHEMA AS `schema`, TABLE_NAME AS `name`, NULL AS `table`, DEFINER AS `definer` ",
    "FROM information_schema.VIEWS WHERE ",
    user_schemas!("TABLE_SCHEMA"),
    " UNION ALL SELECT 'trigger', TRIGGER_SCHEMA, TRIGGER_NAME, EVENT_OBJECT_TABLE, DEFINER ",
    "FROM information_schema.TRIGGERS WHERE ",
    user_schemas!("TRIGGER_SCHEMA"),
    " UNION ALL SELECT LOWER(ROUTINE_TYPE), ROUTINE_SCHEMA, ROUTINE_NAME, NULL, DEFINER ",
    "FROM information_schema.ROUTINES WHERE ",
    user_schemas!("ROUTINE_SCHEMA"),
    " UNION ALL SELECT 'event', EVENT_SCHEMA, EVENT_NAME, NULL, DEFINER FROM information_schema.EVENTS WHERE ",
    user_schemas!("EVENT_SCHEMA")
);

/// Makes the session read current table statistics: since MySQL 8.0, the server caches them for up to a day.
pub const FRESH_STATISTICS: &str = "SET SESSION information_schema_stats_expiry = 0";

const QUOTED: &str = "SET SESSION sql_quote_show_create = 1";

const MYSQL: Catalog = Catalog {
    // Sizes are otherwise up to a day old, and columns and keys that the server generated can be hidden (8.0.30).
    session: &[QUOTED, FRESH_STATISTICS, "SET SESSION show_gipk_in_create_table_and_information_schema = ON"],
    schemas: schemas!("DEFAULT_ENCRYPTION"),
    tables: TABLES,
    columns: columns!("GENERATION_EXPRESSION", "SRS_ID"),
    indexes: indexes!("IS_VISIBLE", "EXPRESSION"),
    foreign_key_columns: FOREIGN_KEY_COLUMNS,
    foreign_key_rules: FOREIGN_KEY_RULES,
    code: CODE,
};

const MYSQL_57: Catalog = Catalog {
    session: &[QUOTED],
    schemas: schemas!("NULL"),
    columns: columns!("GENERATION_EXPRESSION", "NULL"),
    indexes: indexes!("'YES'", "NULL"),
    ..MYSQL
};

const MYSQL_56: Catalog = Catalog { columns: columns!("''", "NULL"), ..MYSQL_57 };

const MARIADB: Catalog = Catalog { columns: columns!("COALESCE(GENERATION_EXPRESSION, '')", "NULL"), ..MYSQL_57 };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::VersionHints;

    fn version(text: &str) -> ServerVersion {
        ServerVersion::parse(text, VersionHints::default()).unwrap()
    }

    #[test]
    fn system_schemas_are_excluded_everywhere() {
        for catalog in [MYSQL, MYSQL_57, MYSQL_56, MARIADB] {
            let texts =
                [catalog.schemas, catalog.tables, catalog.columns, catalog.indexes, catalog.foreign_key_columns];
            for text in texts.into_iter().chain([catalog.foreign_key_rules, catalog.code, TABLE_NAMES]) {
                for schema in SYSTEM_SCHEMAS {
                    assert!(text.contains(&format!("'{schema}'")), "{text}");
                }
            }
        }
    }

    #[test]
    fn names_are_quoted() {
        assert_eq!(show_create_table("a`b", "c"), "SHOW CREATE TABLE `a``b`.`c`");
    }

    #[test]
    fn a_schema_encrypts_by_default_where_it_can() {
        let sql = |text, encrypted| create_schema(&version(text), "s", "utf8mb4", "utf8mb4_bin", encrypted);
        assert!(sql("9.7.4", true).ends_with("DEFAULT ENCRYPTION 'Y'"));
        assert!(sql("9.7.4", false).ends_with("utf8mb4_bin"));
        assert!(sql("10.11.19-MariaDB", true).ends_with("utf8mb4_bin"));
    }
}
