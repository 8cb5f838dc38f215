//! Every attribute of a table, as names and values that can be compared between two servers.

use std::collections::BTreeMap;

use server::{Flavor, Rows};

use super::TableName;

/// The attributes of a table and of its columns, indexes and foreign keys, grouped by object: `column id` has
/// `column_type` `int unsigned`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Structure {
    /// By object, then by attribute; NULL is the empty text. A default that is the empty text is `EMPTY_DEFAULT`.
    pub objects: BTreeMap<String, BTreeMap<String, String>>,
}

/// A default that is the empty text, unlike no default.
pub(crate) const EMPTY_DEFAULT: &str = "''";

/// Attributes that change with the rows, and so are not compared.
const VOLATILE: [&str; 2] = ["rows", "bytes"];

/// Number of columns at the start of each result that name the table; they are not attributes.
const NAME_COLUMNS: usize = 2;

/// Collects results by table.
#[derive(Debug)]
pub(super) struct Collector {
    flavor: Flavor,
    pub(super) tables: BTreeMap<TableName, Structure>,
}

impl Collector {
    pub(super) const fn new(flavor: Flavor) -> Self {
        Self { flavor, tables: BTreeMap::new() }
    }

    /// Adds a result whose first columns are schema and table. An object's name is `kind` and the value of the column
    /// `name`, if there is such a column. Further rows of the same object are numbered.
    pub(super) fn add(&mut self, kind: &str, name: Option<&str>, rows: &Rows) {
        let name = name.and_then(|name| rows.column(name));
        for row in &rows.rows {
            let [Some(schema), Some(table), ..] = row.as_slice() else { continue };
            let structure = self.tables.entry((schema.clone(), table.clone())).or_default();
            let label = name.and_then(|name| row.get(name)?.as_deref());
            let object = structure.free(&label.map_or_else(|| kind.to_owned(), |label| format!("{kind} {label}")));
            let attributes = rows.columns.iter().zip(row).skip(NAME_COLUMNS);
            let attributes = attributes
                .filter(|(column, _)| !VOLATILE.contains(&column.as_str()))
                .map(|(column, value)| (column.clone(), spelled(self.flavor, column, value.as_deref())));
            let mut attributes = attributes.collect();
            without_generated_time(&mut attributes);
            structure.objects.insert(object, attributes);
        }
    }
}

impl Structure {
    /// The table's default collation, for new columns.
    pub(crate) fn collation(&self) -> Option<&str> {
        let collation = self.objects.get("table")?.get("collation")?;
        Some(collation.as_str()).filter(|collation| !collation.is_empty())
    }

    /// The name of the object; with a number if that name is taken.
    fn free(&self, object: &str) -> String {
        let numbered = (2..).map(|number: u32| format!("{object} part {number}"));
        std::iter::once(object.to_owned())
            .chain(numbered)
            .find(|name| !self.objects.contains_key(name))
            .unwrap_or_default()
    }
}

/// An attribute's value as the newest versions of MySQL spell it.
fn spelled(flavor: Flavor, attribute: &str, value: Option<&str>) -> String {
    let Some(value) = value else { return String::new() };
    let mariadb = flavor == Flavor::MariaDb;
    match attribute {
        "default" if value == if mariadb { "''" } else { "" } => EMPTY_DEFAULT.to_owned(),
        "default" | "extra" if mariadb => normal(attribute, &of_mariadb(value)),
        _ => normal(attribute, value),
    }
}

/// A default, or what else belongs to a column, as MySQL spells it: MariaDB shows a default as an expression.
fn of_mariadb(value: &str) -> String {
    if value == "NULL" {
        return String::new();
    }
    let text = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    if let Some(text) = text {
        return unescaped(text);
    }
    value.replace("current_timestamp()", "CURRENT_TIMESTAMP").replace("current_timestamp(", "CURRENT_TIMESTAMP(")
}

/// The text within quotes.
fn unescaped(text: &str) -> String {
    let mut characters = text.chars().peekable();
    let mut found = String::new();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        match (character, next) {
            ('\'', Some('\'')) | ('\\', Some('\\' | '\'' | '"')) => found.extend(characters.next()),
            _ => found.push(character),
        }
    }
    found
}

/// A character set or collation by its present name: MySQL before 8.0.30 calls utf8mb3, or its collations, `utf8`.
pub(crate) fn current_name(name: &str) -> String {
    let rest = name.strip_prefix("utf8").filter(|rest| rest.is_empty() || rest.starts_with('_'));
    rest.map_or_else(|| name.to_owned(), |rest| format!("utf8mb3{rest}"))
}

/// The value as the newest versions spell it.
fn normal(attribute: &str, value: &str) -> String {
    match attribute {
        "options" => without_encryption(value),
        // MySQL's name since 8.0.
        "column_type" | "data_type" if value == "geomcollection" => "geometrycollection".to_owned(),
        "column_type" => without_display_width(value),
        // MariaDB separates the words.
        "extra" => value.replace(", ", " "),
        // InnoDB treats both alike. MySQL before 8.0 shows RESTRICT where the definition names no action.
        "on_update" | "on_delete" if value == "RESTRICT" => "NO ACTION".to_owned(),
        "charset" | "collation" => current_name(value),
        _ => value.to_owned(),
    }
}

/// Removes `DEFAULT_GENERATED`, by which MySQL 8.0 marks a default such as `CURRENT_TIMESTAMP`. Older versions have no
/// other computed default. A text column keeps the mark: its default is not a time.
fn without_generated_time(attributes: &mut BTreeMap<String, String>) {
    const GENERATED: &str = "DEFAULT_GENERATED";
    let is = |name: &str, starts: &[&str]| {
        attributes.get(name).is_some_and(|value| starts.iter().any(|start| value.starts_with(start)))
    };
    if !is("default", &["CURRENT_TIMESTAMP"]) || !is("data_type", &["timestamp", "datetime"]) {
        return;
    }
    if let Some(extra) = attributes.get_mut("extra") {
        *extra = extra.replace(GENERATED, "").trim_start().to_owned();
    }
}

/// Removes ENCRYPTION from the options: the list of tablespaces decides whether a table is encrypted.
fn without_encryption(options: &str) -> String {
    let is_encryption = |word: &str| word.trim_start_matches('`').to_ascii_uppercase().starts_with("ENCRYPT");
    let kept = options.split_whitespace().filter(|word| !is_encryption(word));
    kept.collect::<Vec<_>>().join(" ")
}

/// `int(11)` is `int` since MySQL 8.0.19, and `year(4)` is `year`; `tinyint(1)` and `ZEROFILL` keep their width.
fn without_display_width(column_type: &str) -> String {
    const WITHOUT_WIDTH: [&str; 6] = ["tinyint", "smallint", "mediumint", "int", "bigint", "year"];
    let plain = || {
        let (name, rest) = column_type.split_once('(')?;
        let (_, after) = rest.split_once(')')?;
        let kept = column_type == "tinyint(1)" || after.contains("zerofill");
        (WITHOUT_WIDTH.contains(&name) && !kept).then(|| format!("{name}{after}"))
    };
    plain().unwrap_or_else(|| column_type.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_computed_time_is_a_default_without_its_mark() {
        let extra = |data_type: &str, default: &str| {
            let texts = [("data_type", data_type), ("default", default), ("extra", "DEFAULT_GENERATED on update NOW")];
            let mut attributes = texts.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            without_generated_time(&mut attributes);
            attributes.remove("extra").unwrap()
        };
        assert_eq!(extra("datetime", "CURRENT_TIMESTAMP(3)"), "on update NOW");
        for (data_type, default) in [("varchar", "CURRENT_TIMESTAMP"), ("datetime", "(now() + 1)")] {
            assert_eq!(extra(data_type, default), "DEFAULT_GENERATED on update NOW");
        }
    }

    #[test]
    fn no_default_is_not_the_empty_text() {
        for (flavor, shown, expected) in [
            (Flavor::MariaDb, None, ""),
            (Flavor::MariaDb, Some("NULL"), ""),
            (Flavor::MariaDb, Some("''"), EMPTY_DEFAULT),
            (Flavor::MySql, None, ""),
            (Flavor::MySql, Some(""), EMPTY_DEFAULT),
        ] {
            assert_eq!(spelled(flavor, "default", shown), expected, "{flavor:?} {shown:?}");
        }
        assert_eq!(spelled(Flavor::MySql, "extra", Some("")), "");
    }

    #[test]
    fn defaults_of_mariadb_are_texts() {
        for (shown, expected) in [
            ("NULL", ""),
            ("'it''s \\\\'", "it's \\"),
            ("'NULL'", "NULL"),
            ("0.00", "0.00"),
            ("current_timestamp(3)", "CURRENT_TIMESTAMP(3)"),
            ("on update current_timestamp()", "on update CURRENT_TIMESTAMP"),
        ] {
            assert_eq!(of_mariadb(shown), expected);
        }
    }

    #[test]
    fn older_spellings_are_the_same() {
        for (attribute, value, expected) in [
            ("options", "row_format=DYNAMIC ENCRYPTION='Y' partitioned", "row_format=DYNAMIC partitioned"),
            ("options", "`ENCRYPTED`=YES `ENCRYPTION_KEY_ID`=2 row_format=DYNAMIC", "row_format=DYNAMIC"),
            ("column_type", "int(11) unsigned", "int unsigned"),
            ("column_type", "year(4)", "year"),
            ("column_type", "tinyint(1)", "tinyint(1)"),
            ("column_type", "tinyint(1) unsigned", "tinyint unsigned"),
            ("on_delete", "RESTRICT", "NO ACTION"),
            ("column_type", "int(5) unsigned zerofill", "int(5) unsigned zerofill"),
            ("column_type", "varchar(20)", "varchar(20)"),
            ("data_type", "geomcollection", "geometrycollection"),
            ("extra", "auto_increment, INVISIBLE", "auto_increment INVISIBLE"),
            ("charset", "utf8", "utf8mb3"),
            ("collation", "utf8_bin", "utf8mb3_bin"),
            ("collation", "utf8mb4_bin", "utf8mb4_bin"),
        ] {
            assert_eq!(normal(attribute, value), expected);
        }
    }
}
