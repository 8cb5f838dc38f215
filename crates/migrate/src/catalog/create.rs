//! Creates the source's tables at the target, encrypted, and compares them.

use std::{collections::BTreeSet, ops::Range};

use server::{
    Connection, Flavor, ServerVersion, describe,
    dialect::{
        catalog::{CHARACTER_SET_COLLATIONS, UTF8MB4_DEFAULT, create_schema},
        encryption::{table_option, table_option_parts},
    },
    error_code, quote,
    sql::{Token, TokenKind},
};

use super::{
    Catalog, Filter, Table, collations, counterparts, differences,
    options::{option, options, tokens},
    read,
};
use crate::{Error, Side, difference::Difference};

/// Which tables are encrypted at the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encrypt {
    /// Every InnoDB table.
    #[default]
    All,
    /// The tables that are encrypted at the source.
    AsSource,
    /// None by itself: the storage of the target is encrypted.
    Storage,
}

impl Encrypt {
    /// Whether a table of the source has to be encrypted at the target.
    #[must_use]
    pub fn requires(self, table: &Table) -> bool {
        let wanted = match self {
            Self::All => true,
            Self::AsSource => table.encrypted,
            Self::Storage => false,
        };
        wanted && table.is_innodb()
    }

    /// Whether any table is to be encrypted at the target. Its binary log and its state must be encrypted then, too.
    #[must_use]
    pub fn requires_any<'t>(self, tables: impl IntoIterator<Item = &'t Table>) -> bool {
        match self {
            Self::All => true,
            Self::AsSource => tables.into_iter().any(|table| table.encrypted),
            Self::Storage => false,
        }
    }

    /// What must not become less while the migration lasts.
    pub(crate) const fn least(self) -> Self {
        match self {
            Self::All | Self::AsSource => Self::AsSource,
            Self::Storage => Self::Storage,
        }
    }
}

/// Session settings under which the target accepts a definition unchanged or refuses it: it does not replace the
/// engine, it keeps the source's dates and zeros, and tables may be created in any order in spite of foreign keys.
const SESSION: [&str; 2] = [
    "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO'",
    "SET SESSION foreign_key_checks = 0",
];

/// More such settings, and their values. MySQL lets only accounts with SESSION_VARIABLES_ADMIN set these
/// (`check_session_admin` in `sys_vars.cc`), which not every managed service gives: so they are set only where the server
/// has other values. `sql_generate_invisible_primary_key` exists in MySQL 8.0.30 and later.
pub(crate) const RESTRICTED: [(&str, bool); 2] =
    [("innodb_strict_mode", true), ("sql_generate_invisible_primary_key", false)];

/// The server that gets the definitions.
struct There {
    version: ServerVersion,
    /// Its collations, if definitions of MySQL are written for MariaDB.
    collations: Option<BTreeSet<String>>,
}

impl There {
    /// The name of a collation there. One that it does not have stays, and is refused.
    fn collation<'n>(&'n self, name: &'n str) -> &'n str {
        let there = self.collations.as_ref().and_then(|known| counterparts::collation_at(name, known));
        there.unwrap_or(name)
    }
}

/// Creates the schemas and tables that the target lacks, with all indexes and foreign keys, and reads them back. Leaves
/// existing tables as they are, so that an interrupted call can be repeated; preflight refuses existing tables before
/// the first call.
///
/// # Errors
/// [`Error::Server`]; [`Error::Create`] if the target refuses a definition; [`Error::Definition`] if one cannot be read;
/// [`Error::Structure`] if a table differs from the source's, or is less encrypted.
pub fn create(target: &mut Connection, source: &Catalog, encrypt: Encrypt) -> Result<Catalog, Error> {
    let failed = |error| Error::Server { side: Side::Target, error };
    let version = describe(target).map_err(failed)?.version;
    set_up(target, &source.utf8mb4_collation).map_err(failed)?;
    let filter =
        Filter { schemas: source.schemas.iter().map(|schema| schema.name.clone()).collect(), ..Filter::default() };
    let before = if filter.schemas.is_empty() { Catalog::default() } else { read(target, &filter).map_err(failed)? };
    let to_mariadb = version.flavor == Flavor::MariaDb && !source.is_mariadb;
    let collations = to_mariadb.then(|| collations(target, version.flavor)).transpose().map_err(failed)?;
    for (object, statement) in statements(&There { version, collations }, source, &before, encrypt)? {
        target.query(&statement).map_err(|error| refused(object, error))?;
    }
    let mut after = read(target, &filter).map_err(failed)?;
    after.tables.retain(|table| source.structure.contains_key(&table.full_name()));
    after.structure.retain(|table, _| source.structure.contains_key(table));
    let mut wrong = differences(source, &after);
    wrong.extend(less_encrypted(source, &after, encrypt));
    if wrong.is_empty() { Ok(after) } else { Err(Error::Structure { differences: wrong }) }
}

/// Gives the session the settings of [`SESSION`] and [`RESTRICTED`], and this default collation.
fn set_up(target: &mut Connection, utf8mb4_collation: &str) -> Result<(), server::Error> {
    for statement in SESSION {
        target.query(statement)?;
    }
    for (name, on) in RESTRICTED {
        let (value, word) = if on { ("1", "ON") } else { ("0", "OFF") };
        set_if_other(target, name, value, word)?;
    }
    set_if_other(target, CHARACTER_SET_COLLATIONS, "", "''")?;
    match set_if_other(target, UTF8MB4_DEFAULT, utf8mb4_collation, &quote::text(utf8mb4_collation)) {
        // A target that refuses it creates tables with another collation where they need it, which the comparison refuses.
        Err(server::Error::Server { .. }) => Ok(()),
        ended => ended,
    }
}

/// Sets a variable of the session, unless it has this value or the server does not have it. `literal` is the value in the
/// syntax of `SET`.
fn set_if_other(target: &mut Connection, name: &str, value: &str, literal: &str) -> Result<(), server::Error> {
    let found = match target.query(&format!("SELECT @@SESSION.{name}")) {
        Err(server::Error::Server { code: error_code::UNKNOWN_SYSTEM_VARIABLE, .. }) => return Ok(()),
        found => found?,
    };
    if found.scalar() == Some(value) {
        return Ok(());
    }
    target.query(&format!("SET SESSION {name} = {literal}")).map(drop)
}

/// An error of a statement that creates something, which is named if the server has refused it.
fn refused(object: String, error: server::Error) -> Error {
    match error {
        error @ server::Error::Server { .. } => Error::Create { object, error },
        error => Error::at(Side::Target)(error),
    }
}

/// The statements that create what the target lacks, each with the name of its schema or table.
fn statements(
    there: &There,
    source: &Catalog,
    target: &Catalog,
    encrypt: Encrypt,
) -> Result<Vec<(String, String)>, Error> {
    let mut statements = Vec::new();
    for schema in &source.schemas {
        if !target.schemas.iter().any(|existing| existing.name == schema.name) {
            let encrypted = match encrypt {
                Encrypt::All => true,
                Encrypt::AsSource => schema.encrypted == Some(true),
                Encrypt::Storage => false,
            };
            let collation = there.collation(&schema.collation);
            let statement = create_schema(&there.version, &schema.name, &schema.charset, collation, encrypted);
            statements.push((schema.name.clone(), statement));
        }
    }
    for table in &source.tables {
        if !target.structure.contains_key(&table.full_name()) {
            let definition = definition(there, table, encrypt);
            let statement = definition.ok_or_else(|| Error::Definition { table: table.label() })?;
            statements.push((table.label(), statement));
        }
    }
    Ok(statements)
}

/// A part of a statement, and the text in its place.
type Edit = (Range<usize>, String);

/// The table's `CREATE TABLE` with the schema in its name, with or without encryption, and in the words of the target;
/// `None` if it cannot be read.
fn definition(there: &There, table: &Table, encrypt: Encrypt) -> Option<String> {
    let encrypted = encrypt.requires(table);
    let statement = table.create.as_str();
    let tokens = tokens(statement)?;
    let [create, word, name, ..] = tokens.as_slice() else { return None };
    if !create.is_word("CREATE") || !word.is_word("TABLE") || name.unquoted() != table.name {
        return None;
    }
    let flavor = there.version.flavor;
    let full_name = format!("{}.{}", quote::identifier(&table.schema), name.text);
    let options = options(&tokens);
    let mut edits = vec![(range(name), full_name)];
    edits.extend(options_of_other_fork(flavor, options));
    if encrypt == Encrypt::Storage && !flavor.is_mysql_like() {
        edits.extend(removed(options, MARIADB_OPTIONS));
    }
    let (name_of_option, on) = table_option_parts(flavor);
    match option(options, name_of_option) {
        Some(value) if encrypted => edits.push((range(&value), on.to_owned())),
        None if encrypted => {
            let at = options.first()?.start;
            edits.push((at..at, format!("{} ", table_option(flavor, true))));
        }
        // The target may have no keyring.
        Some(value) if encrypt == Encrypt::Storage && flavor.is_mysql_like() => {
            edits.push((range(&value), "'N'".to_owned()));
        }
        _ => {}
    }
    if there.collations.is_some() {
        edits.extend(for_mariadb(there, &tokens));
    }
    Some(edited(statement, edits))
}

fn range(token: &Token<'_>) -> Range<usize> {
    token.start..token.end()
}

/// Applies edits that do not overlap.
fn edited(statement: &str, mut edits: Vec<Edit>) -> String {
    let mut changed = statement.to_owned();
    // From the end to the start, so that earlier offsets stay valid; a text is inserted before what replaces its place.
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    for (range, text) in edits.into_iter().rev() {
        changed.replace_range(range, &text);
    }
    changed
}

/// A table's options about encryption that only MariaDB has.
const MARIADB_OPTIONS: &[&str] = &["ENCRYPTED", "ENCRYPTION_KEY_ID"];

/// Removes a table's options about encryption that only the other fork has.
fn options_of_other_fork(flavor: Flavor, options: &[Token<'_>]) -> impl Iterator<Item = Edit> {
    removed(options, if flavor.is_mysql_like() { MARIADB_OPTIONS } else { &["ENCRYPTION"] })
}

/// Removes the options with these names.
fn removed(options: &[Token<'_>], names: &'static [&'static str]) -> impl Iterator<Item = Edit> {
    let of_option = move |parts: &[Token<'_>]| match parts {
        [name, equals, value] if equals.is_symbol("=") && is_name(name, names) => {
            Some((name.start..value.end(), String::new()))
        }
        _ => None,
    };
    options.windows(3).filter_map(of_option)
}

/// Writes a definition of MySQL in the words of MariaDB. MySQL hides what is new from older versions in comments, which
/// MariaDB would not execute: without them, it does what they say, or refuses the definition.
fn for_mariadb(there: &There, tokens: &[Token<'_>]) -> Vec<Edit> {
    let is_mark = |token: &&Token<'_>| matches!(token.kind, TokenKind::VersionStart | TokenKind::VersionEnd);
    let marks = tokens.iter().filter(is_mark).map(|token| (range(token), String::new()));
    let types = tokens.iter().filter(|token| token.is_word("geomcollection"));
    let types = types.map(|token| (range(token), "geometrycollection".to_owned()));
    let collations = (0..tokens.len()).filter_map(|at| {
        let [collate, rest @ ..] = tokens.get(at..)? else { return None };
        let name = collate.is_word("COLLATE").then(|| rest.iter().find(|token| !token.is_symbol("=")))??;
        Some((range(name), there.collation(name.text).to_owned()))
    });
    marks.chain(types).chain(collations).collect()
}

fn is_name(token: &Token<'_>, names: &[&str]) -> bool {
    let is_option = matches!(token.kind, TokenKind::Word | TokenKind::QuotedName);
    is_option && names.iter().any(|name| token.unquoted().eq_ignore_ascii_case(name))
}

/// Tables that must be encrypted at the target and are not.
pub(crate) fn less_encrypted<'c>(
    source: &'c Catalog,
    target: &'c Catalog,
    encrypt: Encrypt,
) -> impl Iterator<Item = Difference> + 'c {
    let word = |encrypted| Some(if encrypted { "encrypted" } else { "clear" }.to_owned());
    source.tables.iter().filter_map(move |table| {
        let created = target.tables.iter().find(|other| other.full_name() == table.full_name())?;
        let required = encrypt.requires(table);
        (required && !created.encrypted).then(|| Difference {
            table: table.full_name(),
            object: "tablespace".to_owned(),
            attribute: "encryption".to_owned(),
            source: word(required),
            target: word(created.encrypted),
        })
    })
}

#[cfg(test)]
mod tests {
    use server::VersionHints;

    use super::*;

    fn table(name: &str, create: &str) -> Table {
        Table {
            schema: "s".to_owned(),
            name: name.to_owned(),
            engine: "InnoDB".to_owned(),
            columns: Vec::new(),
            identity: None,
            encrypted: false,
            rows: 0,
            bytes: 0,
            create: create.to_owned(),
        }
    }

    fn there(version: &str) -> There {
        There { version: ServerVersion::parse(version, VersionHints::default()).unwrap(), collations: None }
    }

    fn rewritten(name: &str, create: &str, encrypted: bool) -> Option<String> {
        definition(&there("9.7.4"), &table(name, create), if encrypted { Encrypt::All } else { Encrypt::AsSource })
    }

    #[test]
    fn tables_on_encrypted_storage_need_no_keyring() {
        let of_storage = |version: &str, create: &str| {
            definition(&there(version), &Table { encrypted: true, ..table("t", create) }, Encrypt::Storage).unwrap()
        };
        assert_eq!(
            of_storage("9.7.4", "CREATE TABLE `t` (`a` int) ENGINE=InnoDB /*!80016 ENCRYPTION='Y' */"),
            "CREATE TABLE `s`.`t` (`a` int) ENGINE=InnoDB /*!80016 ENCRYPTION='N' */"
        );
        let mariadb = of_storage(
            "10.11.19-MariaDB",
            "CREATE TABLE `t` (`a` int) ENGINE=InnoDB `ENCRYPTED`=YES `ENCRYPTION_KEY_ID`=2",
        );
        assert_eq!(mariadb.trim_end(), "CREATE TABLE `s`.`t` (`a` int) ENGINE=InnoDB");
    }

    #[test]
    fn encryption_is_added_or_set_in_the_options_alone() {
        let clear = "CREATE TABLE `t` (\n  `a` int COMMENT ') ENCRYPTION=''N'''\n) ENGINE=InnoDB";
        assert_eq!(
            rewritten("t", clear, true).unwrap(),
            "CREATE TABLE `s`.`t` (\n  `a` int COMMENT ') ENCRYPTION=''N'''\n) ENCRYPTION='Y' ENGINE=InnoDB"
        );
        let off = "CREATE TABLE `t` (`a` int) ENGINE=InnoDB /*!80016 ENCRYPTION='N' */ COMMENT='ENCRYPTION'";
        assert_eq!(
            rewritten("t", off, true).unwrap(),
            "CREATE TABLE `s`.`t` (`a` int) ENGINE=InnoDB /*!80016 ENCRYPTION='Y' */ COMMENT='ENCRYPTION'"
        );
        let on = "CREATE TABLE `t` (`a` int) ENGINE=InnoDB /*!80016 ENCRYPTION='Y' */";
        assert_eq!(rewritten("t", on, true).unwrap(), on.replace("`t`", "`s`.`t`"));
        assert_eq!(rewritten("t", clear, false).unwrap(), clear.replace("`t`", "`s`.`t`"));
    }

    #[test]
    fn mariadb_has_an_option_of_its_own() {
        let there = there("10.11.19-MariaDB");
        let rewritten = |create: &str| definition(&there, &table("t", create), Encrypt::All).unwrap();
        let clear = "CREATE TABLE `t` (`a` int) ENGINE=InnoDB COMMENT='`ENCRYPTED`=NO'";
        let expected = "CREATE TABLE `s`.`t` (`a` int) ENCRYPTED=YES ENGINE=InnoDB COMMENT='`ENCRYPTED`=NO'";
        assert_eq!(rewritten(clear), expected);
        let off = "CREATE TABLE `t` (`a` int) ENGINE=InnoDB `encrypted`=NO `ENCRYPTION_KEY_ID`=2";
        let expected = "CREATE TABLE `s`.`t` (`a` int) ENGINE=InnoDB `encrypted`=YES `ENCRYPTION_KEY_ID`=2";
        assert_eq!(rewritten(off), expected);
        assert_eq!(
            rewritten("CREATE TABLE `t` (`a` int) `ENCRYPTED`='NO'"),
            "CREATE TABLE `s`.`t` (`a` int) `ENCRYPTED`=YES"
        );
    }

    #[test]
    fn mysql_gets_no_options_of_mariadb() {
        let create =
            "CREATE TABLE `t` (`a` int) ENGINE=InnoDB `ENCRYPTED`=YES `encryption_key_id`=2 COMMENT='`ENCRYPTED`=NO'";
        let rewritten = rewritten("t", create, true).unwrap();
        let words: Vec<_> = rewritten.split_whitespace().skip(5).collect();
        assert_eq!(words, ["ENCRYPTION='Y'", "ENGINE=InnoDB", "COMMENT='`ENCRYPTED`=NO'"]);
    }

    #[test]
    fn mariadb_gets_definitions_of_mysql_in_its_own_words() {
        let known = ["utf8mb4_bin", "utf8mb4_uca1400_nopad_ai_ci"].map(str::to_owned).into();
        let there = There { collations: Some(known), ..there("10.11.19-MariaDB") };
        let rewritten = |create: &str| {
            let rewritten = definition(&there, &table("t", create), Encrypt::All).unwrap();
            rewritten.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let create = "CREATE TABLE `t` (\n  `a` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci DEFAULT 'COLLATE utf8mb4_0900_ai_ci',\n  \
                      `utf8mb4_0900_ai_ci` int DEFAULT NULL /*!80023 INVISIBLE */,\n  `g` geomcollection\n) ENGINE=InnoDB \
                      DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci /*!80016 ENCRYPTION='Y' */";
        assert_eq!(
            rewritten(create),
            "CREATE TABLE `s`.`t` ( `a` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_nopad_ai_ci DEFAULT 'COLLATE utf8mb4_0900_ai_ci', \
             `utf8mb4_0900_ai_ci` int DEFAULT NULL INVISIBLE , `g` geometrycollection ) ENCRYPTED=YES ENGINE=InnoDB \
             DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_uca1400_nopad_ai_ci"
        );
        // What it does not know is not left out, but refused.
        let unknown = rewritten("CREATE TABLE `t` (`p` point /*!80003 SRID 0 */) ENGINE=InnoDB COLLATE=gb18030_bin");
        assert!(unknown.contains("SRID 0") && unknown.ends_with("COLLATE=gb18030_bin"), "{unknown}");
    }

    #[test]
    fn what_the_server_refuses_is_named() {
        let (sqlstate, message) = ("HY000".to_owned(), "Unknown collation".to_owned());
        let error = refused("s.t".to_owned(), server::Error::Server { code: 1273, sqlstate, message });
        let expected = "target: s.t cannot be created there: server error 1273 (HY000): Unknown collation";
        assert_eq!(error.to_string(), expected);
        // The same call may succeed after that.
        let lost = refused("s.t".to_owned(), server::Error::Lost { phase: server::Phase::BinaryLog });
        assert!(lost.is_transient() && !error.is_transient(), "{lost}");
    }

    #[test]
    fn a_definition_of_something_else_is_refused() {
        assert_eq!(rewritten("t", "CREATE VIEW `t` AS SELECT 1", true), None);
        assert_eq!(rewritten("t", "CREATE TABLE `other` (`a` int) ENGINE=InnoDB", true), None);
        assert_eq!(rewritten("t", "CREATE TABLE `t` (`a", true), None);
    }
}
