//! What differs between the tables of two servers.

use std::borrow::Cow;

use super::{Catalog, Structure, TableName, counterparts};
use crate::difference::Difference;

/// Compares each table of the source with the target's table of the same name. Tables that only the target has are not
/// differences, and neither is what MariaDB has in place of a collation or type of MySQL.
#[must_use]
pub fn differences(source: &Catalog, target: &Catalog) -> Vec<Difference> {
    let to_mariadb = target.is_mariadb && !source.is_mariadb;
    let mut found = Vec::new();
    for (table, structure) in &source.structure {
        match target.structure.get(table) {
            Some(other) => found.extend(of_table(table, structure, other, to_mariadb)),
            None => found.push(Difference {
                table: table.clone(),
                object: String::new(),
                attribute: String::new(),
                source: Some("table".to_owned()),
                target: None,
            }),
        }
    }
    found
}

fn of_table(table: &TableName, source: &Structure, target: &Structure, to_mariadb: bool) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |object: &str, attribute: &str, source: Option<&String>, target: Option<&String>| {
        if source != target {
            found.push(Difference {
                table: table.clone(),
                object: object.to_owned(),
                attribute: attribute.to_owned(),
                source: source.cloned(),
                target: target.cloned(),
            });
        }
    };
    let exists = String::new();
    for (object, attributes) in &source.objects {
        let Some(others) = target.objects.get(object) else {
            add(object, "", Some(&exists), None);
            continue;
        };
        let attributes = if to_mariadb { counterparts::column(attributes) } else { Cow::Borrowed(attributes) };
        for (attribute, value) in &*attributes {
            let other = others.get(attribute);
            let stands_for = |there: &String| counterparts::is_counterpart(there, value);
            if !(to_mariadb && attribute == "collation" && other.is_some_and(stands_for)) {
                add(object, attribute, Some(value), other);
            }
        }
    }
    for object in target.objects.keys().filter(|object| !source.objects.contains_key(*object)) {
        add(object, "", None, Some(&exists));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mariadb_has_in_place_of_something_is_no_difference() {
        let with = |is_mariadb, attributes: &[(&str, &str)]| {
            let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let structure = Structure { objects: [("column a".to_owned(), attributes.collect())].into() };
            let structure = [(("s".to_owned(), "t".to_owned()), structure)].into();
            Catalog { is_mariadb, structure, ..Catalog::default() }
        };
        let json = with(false, &[("data_type", "json"), ("column_type", "json"), ("charset", ""), ("collation", "")]);
        let long = |is_mariadb, collation| {
            let kind = [("data_type", "longtext"), ("column_type", "longtext"), ("charset", "utf8mb4")];
            with(is_mariadb, &[&kind[..], &[("collation", collation)]].concat())
        };
        assert_eq!(differences(&json, &long(true, "utf8mb4_bin")), []);
        assert_eq!(differences(&json, &long(true, "utf8mb4_general_ci")).len(), 1);
        assert_eq!(differences(&json, &long(false, "utf8mb4_bin")).len(), 4);
        let text = |is_mariadb, collation| with(is_mariadb, &[("collation", collation)]);
        let (here, there) = ("utf8mb4_0900_ai_ci", "utf8mb4_uca1400_nopad_ai_ci");
        assert_eq!(differences(&text(false, here), &text(true, there)), []);
        assert_eq!(differences(&text(false, here), &text(true, here)), []);
        assert_eq!(differences(&text(false, here), &text(true, "utf8mb4_general_ci")).len(), 1);
        assert_eq!(differences(&text(true, here), &text(true, there)).len(), 1);
    }

    fn catalog(columns: &[(&str, &str)]) -> Catalog {
        let mut structure = Structure::default();
        for (name, column_type) in columns {
            let attributes = [("column_type".to_owned(), (*column_type).to_owned())];
            structure.objects.insert(format!("column {name}"), attributes.into());
        }
        Catalog { structure: [(("s".to_owned(), "t".to_owned()), structure)].into(), ..Catalog::default() }
    }

    #[test]
    fn each_difference_is_named() {
        let source = catalog(&[("a", "int"), ("b", "int")]);
        assert_eq!(differences(&source, &source), []);
        let found = differences(&source, &catalog(&[("a", "bigint"), ("c", "int")]));
        let named: Vec<_> = found.iter().map(|one| (one.object.as_str(), one.attribute.as_str())).collect();
        assert_eq!(named, [("column a", "column_type"), ("column b", ""), ("column c", "")]);
        assert_eq!(differences(&source, &Catalog::default()).len(), 1);
    }
}
