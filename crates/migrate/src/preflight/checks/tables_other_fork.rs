//! The definition of each table means the same to a target of the other fork.

use std::collections::BTreeMap;

use server::sql::{Syntax, Token, TokenKind, tokens};

use super::prelude::*;
use crate::catalog::{Column, EMPTY_DEFAULT, Schema, Structure, collation_at, is_ordered_by_servers};

pub(super) const CHECK: Check = Check {
    id: "tables.other-fork",
    area: Area::Tables,
    title: "each definition means the same to the other fork",
    judge: Judge::Tables(judge),
};

/// Options of a table that both forks have, or that are rewritten.
const OPTIONS: [&str; 14] = [
    "AUTO_INCREMENT",
    "AVG_ROW_LENGTH",
    "CHARSET",
    "CHECKSUM",
    "COLLATE",
    "COMMENT",
    "ENCRYPTED",
    "ENCRYPTION",
    "ENCRYPTION_KEY_ID",
    "ENGINE",
    "MAX_ROWS",
    "MIN_ROWS",
    "ROW_FORMAT",
    "STATS_PERSISTENT",
];

const UNSURE: &str = ", which may mean something else at the target";

/// Types that only one of the forks has, or each in a form of its own.
const OF_ONE_FORK: [&str; 4] = ["inet4", "inet6", "uuid", "vector"];

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    let [source, target] = facts.servers().map(|server| server.identity.version.flavor.is_mysql_like());
    if source == target {
        return Vec::new();
    }
    let schemas = tables.source.schemas.iter().filter_map(|schema| of_schema(tables, schema));
    let definitions = tables.source.tables.iter().flat_map(|table| of_table(tables, table));
    schemas.chain(definitions).collect()
}

/// The default collation of a schema that the target does not have yet. It is not that of tables, which name their own.
fn of_schema(tables: &Tables, schema: &Schema) -> Option<Finding> {
    let exists = tables.target.schemas.iter().any(|existing| existing.name == schema.name);
    let what = missing(tables, &schema.collation).filter(|_| !exists)?;
    let advice = "create the schema at the target with a collation that it has: then it is left as it is";
    Some(Finding::block(&schema.name, format!("its default collation is {what}")).advice(advice))
}

/// The collation, and that the target has neither it nor another one in its place, or another one of this name.
fn missing(tables: &Tables, collation: &str) -> Option<String> {
    // Those of MySQL are MariaDB's `_croatian_mysql561_ci`.
    if collation.ends_with("_croatian_ci") {
        return Some(format!("{collation}, which compares otherwise in the other fork"));
    }
    let is_missing = collation_at(collation, &tables.target_collations).is_none();
    is_missing.then(|| format!("{collation}, which the target does not have"))
}

/// Every attribute of a table.
fn structure<'t>(tables: &'t Tables, table: &Table) -> Option<&'t Structure> {
    tables.source.structure.get(&table.full_name())
}

fn of_table(tables: &Tables, table: &Table) -> Vec<Finding> {
    let Ok(tokens) = tokens(&table.create, Syntax::default()).collect::<Result<Vec<_>, _>>() else { return Vec::new() };
    let columns = table.columns.iter().filter_map(|column| of_column(tables, table, column));
    let is_mariadb = tables.source.is_mariadb;
    let rest = [
        collation(tables, table),
        key_order(table),
        check(&tokens, is_mariadb),
        option(&tokens),
        unused_index(tables, table, &tokens),
        index_over_expression(tables, table),
        parser(&tokens),
    ];
    let finding =
        |what: String| Finding::block(table.label(), format!("{what}: not yet supported")).option("--exclude");
    columns.chain(rest.into_iter().flatten()).map(finding).collect()
}

/// The default for new columns, which a table names even if none of its columns has it.
fn collation(tables: &Tables, table: &Table) -> Option<String> {
    let collation = structure(tables, table)?.collation()?;
    missing(tables, collation).map(|what| format!("its default collation is {what}"))
}

/// Changes are followed by comparing keys, and a collation of the same name may have another order in the other fork.
fn key_order(table: &Table) -> Option<String> {
    let name = || table.identity.as_ref().map_or("", |identity| identity.index.as_str());
    is_ordered_by_servers(table).then(|| format!("the texts of {} may be ordered otherwise at the target", name()))
}

fn of_column(tables: &Tables, table: &Table, column: &Column) -> Option<String> {
    let name = &column.name;
    if column.generated {
        return Some(format!("column {name} is generated{UNSURE}"));
    }
    if OF_ONE_FORK.contains(&column.data_type.as_str()) {
        let kind = column.data_type.to_ascii_uppercase();
        return Some(format!("column {name} has the type {kind}, which the target does not have, or in another form"));
    }
    if let Some(what) = column.collation.as_ref().and_then(|collation| missing(tables, collation)) {
        return Some(format!("column {name} has the collation {what}"));
    }
    let attributes = structure(tables, table)?.objects.get(&format!("column {name}"))?;
    if let Some(srid) = attributes.get("srid").filter(|srid| !srid.is_empty()) {
        return Some(format!("column {name} is limited to SRID {srid}{UNSURE}"));
    }
    has_expression(&table.create, column, attributes)
        .then(|| format!("column {name} has an expression as its default{UNSURE}"))
}

/// Whether a default is not a plain number, text or present time. MySQL has no plain defaults for long texts and bytes.
fn has_expression(create: &str, column: &Column, attributes: &BTreeMap<String, String>) -> bool {
    let Some(default) = attributes.get("default").filter(|default| !default.is_empty()) else { return false };
    let kind = column.data_type.as_str();
    // So MySQL marks an expression, even if it is one number.
    let is_marked = attributes.get("extra").is_some_and(|extra| extra.contains("DEFAULT_GENERATED"));
    if is_marked || kind.ends_with("text") || kind.ends_with("blob") {
        return true;
    }
    let is_time = default.starts_with("CURRENT_TIMESTAMP") && matches!(kind, "timestamp" | "datetime");
    let is_number = default.parse::<f64>().is_ok();
    let is_bits = default.starts_with("b'");
    if default == EMPTY_DEFAULT {
        return false;
    }
    // A text is shown in quotes, which were removed.
    let quoted = format!("DEFAULT '{}'", default.replace('\\', "\\\\").replace('\'', "''"));
    !(is_time || is_number || is_bits || create.contains(&quoted))
}

/// A CHECK other than that of a JSON column of MariaDB: functions of the two forks can differ.
fn check(tokens: &[Token<'_>], is_mariadb: bool) -> Option<String> {
    let is_check = |at: usize| tokens.get(at).is_some_and(|token| token.is_word("CHECK"));
    let is_json = |at: usize| {
        let after = tokens.get(at.saturating_add(1)..at.saturating_add(6)).unwrap_or_default();
        matches!(after, [open, function, inner, name, close]
            if open.is_symbol("(") && function.is_word("json_valid") && inner.is_symbol("(")
                && name.kind == TokenKind::QuotedName && close.is_symbol(")"))
    };
    let is_own = |at: usize| is_check(at) && !(is_mariadb && is_json(at));
    (0..tokens.len()).any(is_own).then(|| format!("it has a CHECK{UNSURE}"))
}

/// The first option, or the partitions, that the other fork may not have.
fn option(tokens: &[Token<'_>]) -> Option<String> {
    let end = tokens.iter().rposition(|token| token.is_symbol(")")).unwrap_or(0);
    if tokens.windows(2).any(|pair| matches!(pair, [one, next] if one.is_word("PARTITION") && next.is_word("BY"))) {
        return Some(format!("it has partitions{UNSURE}"));
    }
    let options = tokens.get(end..).unwrap_or_default();
    let mut names = options.windows(2).filter(|pair| matches!(pair, [_, equals] if equals.is_symbol("=")));
    let unknown = names.find_map(|pair| {
        let name = pair.first()?.unquoted().to_ascii_uppercase();
        (!OPTIONS.contains(&name.as_str())).then_some(name)
    });
    unknown.map(|name| format!("it has the option {name}{UNSURE}"))
}

/// The attributes of a table's indexes.
fn indexes<'t>(tables: &'t Tables, table: &Table) -> impl Iterator<Item = &'t BTreeMap<String, String>> {
    let objects = structure(tables, table).into_iter().flat_map(|structure| &structure.objects);
    objects.filter(|(name, _)| name.starts_with("index ")).map(|(_, attributes)| attributes)
}

/// An index that the server does not use: IGNORED in MariaDB, INVISIBLE in MySQL.
fn unused_index(tables: &Tables, table: &Table, tokens: &[Token<'_>]) -> Option<String> {
    let is_ignored = tokens.iter().any(|token| token.is_word("IGNORED"));
    let is_hidden =
        |attributes: &BTreeMap<String, String>| attributes.get("visible").is_some_and(|value| value == "NO");
    (is_ignored || indexes(tables, table).any(is_hidden)).then(|| format!("it has an ignored index{UNSURE}"))
}

/// An index that MariaDB does not have.
fn index_over_expression(tables: &Tables, table: &Table) -> Option<String> {
    let is_one = |attributes: &BTreeMap<String, String>| attributes.get("expression").is_some_and(|it| !it.is_empty());
    let attributes = indexes(tables, table).find(|attributes| is_one(attributes))?;
    let name = attributes.get("index").map_or("", String::as_str);
    Some(format!("the index {name} is over an expression, which the target cannot have"))
}

/// A plug-in that finds the words of a text.
fn parser(tokens: &[Token<'_>]) -> Option<String> {
    tokens.iter().any(|token| token.is_word("PARSER")).then(|| format!("it has an index with a parser{UNSURE}"))
}

#[cfg(test)]
mod tests {
    use server::Flavor;

    use super::*;
    use crate::preflight::testing::{column, facts, finds, found};

    fn mariadb(create: &str, changed: Column) -> Facts {
        let mut facts = facts();
        facts.source.identity.version.flavor = Flavor::MariaDb;
        let tables = facts.tables.as_mut().unwrap();
        tables.source.is_mariadb = true;
        tables.target_collations = ["utf8mb4_0900_ai_ci", "utf8mb4_general_ci"].map(str::to_owned).into();
        let table = tables.source.tables.first_mut().unwrap();
        table.create = create.to_owned();
        table.columns.push(changed);
        facts
    }

    #[test]
    fn what_may_mean_something_else_is_named() {
        let plain =
            "CREATE TABLE `t` (`j` longtext CHECK (json_valid(`j`)), `n` int DEFAULT 7) ENGINE=InnoDB `ENCRYPTED`=YES";
        assert_eq!(found(&CHECK, &mariadb(plain, column("n"))), []);
        let mut same = mariadb("CREATE TABLE `t` (`a` int CHECK (`a` > 1)) ENGINE=InnoDB", column("a"));
        finds(&CHECK, &same, Effect::Block, "shop.orders: it has a CHECK");
        same.target.identity.version.flavor = Flavor::MariaDb;
        assert_eq!(found(&CHECK, &same), []);
        for (options, what) in [
            ("ENGINE=InnoDB `PAGE_COMPRESSED`='ON'", "the option PAGE_COMPRESSED"),
            ("ENGINE=InnoDB PARTITION BY HASH (`a`) PARTITIONS 2", "partitions"),
        ] {
            let facts = mariadb(&format!("CREATE TABLE `t` (`a` int) {options}"), column("a"));
            finds(&CHECK, &facts, Effect::Block, what);
        }
        let collation = Some("utf8mb4_uca1400_ai_ci".to_owned());
        finds(
            &CHECK,
            &mariadb(plain, Column { collation, ..column("c") }),
            Effect::Block,
            "column c has the collation",
        );
        finds(&CHECK, &mariadb(plain, Column { generated: true, ..column("c") }), Effect::Block, "c is generated");
    }

    /// A source of MySQL with these attributes of an object, and a MariaDB.
    fn to_mariadb(object: &str, attributes: &[(&str, &str)]) -> Facts {
        let mut facts = facts();
        facts.target.identity.version.flavor = Flavor::MariaDb;
        let tables = facts.tables.as_mut().unwrap();
        tables.target_collations = ["utf8mb4_uca1400_nopad_ai_ci", "utf8mb4_nopad_bin"].map(str::to_owned).into();
        let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let structure = Structure { objects: BTreeMap::from([(object.to_owned(), attributes)]) };
        tables.source.structure.insert(("shop".to_owned(), "orders".to_owned()), structure);
        facts
    }

    #[test]
    fn what_mariadb_lacks_of_mysql_is_named() {
        for (object, attribute, value, what) in [
            ("column id", "srid", "4326", "column id is limited to SRID 4326"),
            ("column id", "default", "uuid()", "column id has an expression as its default"),
            ("index k", "visible", "NO", "it has an ignored index"),
            ("index k", "expression", "lower(`a`)", "is over an expression"),
        ] {
            let facts = to_mariadb(object, &[(attribute, value)]);
            finds(&CHECK, &facts, Effect::Block, what);
        }
        let marked = to_mariadb("column id", &[("default", "1"), ("extra", "DEFAULT_GENERATED")]);
        finds(&CHECK, &marked, Effect::Block, "column id has an expression");
        let with = |change: &dyn Fn(&mut Table)| {
            let mut facts = to_mariadb("table", &[]);
            change(facts.tables.as_mut().unwrap().source.tables.first_mut().unwrap());
            facts
        };
        let typed = |kind: &str| Column { data_type: kind.to_owned(), ..column("c") };
        let vector = with(&|table| table.columns.push(typed("vector")));
        finds(&CHECK, &vector, Effect::Block, "column c has the type VECTOR");
        assert_eq!(found(&CHECK, &with(&|table| table.columns.push(typed("json")))), []);
        let with_key = |kind: &str| {
            with(&|table| {
                let (charset, collation) = (Some("utf8mb4".to_owned()), Some("utf8mb4_0900_bin".to_owned()));
                table.columns = vec![Column { charset, collation, ..typed(kind) }];
            })
        };
        finds(&CHECK, &with_key("char"), Effect::Block, "the texts of PRIMARY may be ordered otherwise");
        assert_eq!(found(&CHECK, &with_key("varchar")), []);
        for (create, what) in [
            ("CREATE TABLE `t` (`j` longtext, CONSTRAINT `c` CHECK (json_valid(`j`))) ENGINE=InnoDB", "a CHECK"),
            (
                "CREATE TABLE `t` (`j` text, FULLTEXT KEY (`j`) /*!50100 WITH PARSER `ngram` */) ENGINE=InnoDB",
                "a parser",
            ),
            ("CREATE TABLE `t` (`j` text) ENGINE=InnoDB COMPRESSION='zlib'", "the option COMPRESSION"),
        ] {
            finds(&CHECK, &with(&|table| table.create = create.to_owned()), Effect::Block, what);
        }
    }

    #[test]
    fn a_default_that_no_column_has_is_refused_too() {
        const NEW: &str = "utf8mb4_uca1400_ai_ci";
        let plain = || mariadb("CREATE TABLE `t` (`n` int) ENGINE=InnoDB", column("n"));
        let mut facts = plain();
        let tables = facts.tables.as_mut().unwrap();
        tables.source.schemas[0].collation = NEW.to_owned();
        finds(&CHECK, &facts, Effect::Block, "shop: its default collation is utf8mb4_uca1400_ai_ci, which the target");
        // The target's own is left as it is.
        let tables = facts.tables.as_mut().unwrap();
        tables.target.schemas.clone_from(&tables.source.schemas);
        assert_eq!(found(&CHECK, &facts), []);

        let with_default = |collation: &str| {
            let mut facts = plain();
            let attributes = BTreeMap::from([("collation".to_owned(), collation.to_owned())]);
            let structure = Structure { objects: BTreeMap::from([("table".to_owned(), attributes)]) };
            let tables = facts.tables.as_mut().unwrap();
            tables.source.structure.insert(("shop".to_owned(), "orders".to_owned()), structure);
            facts
        };
        finds(&CHECK, &with_default(NEW), Effect::Block, "shop.orders: its default collation is utf8mb4_uca1400_ai_ci");
        assert_eq!(found(&CHECK, &with_default("utf8mb4_general_ci")), []);
    }

    #[test]
    fn only_plain_defaults_mean_the_same() {
        let is = |data_type: &str, default: &str, create: &str| {
            let column = Column { data_type: data_type.to_owned(), ..column("c") };
            has_expression(create, &column, &BTreeMap::from([("default".to_owned(), default.to_owned())]))
        };
        assert!(!is("int", "0", "") && !is("bit", "b'101'", "") && !is("datetime", "CURRENT_TIMESTAMP(3)", ""));
        assert!(!is("varchar", "it's", "`c` varchar(9) DEFAULT 'it''s',"));
        assert!(!is("text", "", "") && !is("varchar", EMPTY_DEFAULT, "DEFAULT ''"));
        assert!(is("longtext", EMPTY_DEFAULT, "DEFAULT ''") && is("blob", EMPTY_DEFAULT, "DEFAULT ''"));
        assert!(is("text", "a", "DEFAULT 'a'") && is("varchar", "uuid()", "DEFAULT uuid()"));
    }
}
