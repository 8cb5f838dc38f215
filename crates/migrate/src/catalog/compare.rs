//! What differs between the tables of two servers.

use super::{Catalog, Structure, TableName};
use crate::difference::Difference;

/// Compares each table of the source with the target's table of the same name. Tables that only the target has are not
/// differences.
#[must_use]
pub fn differences(source: &Catalog, target: &Catalog) -> Vec<Difference> {
    let mut found = Vec::new();
    for (table, structure) in &source.structure {
        match target.structure.get(table) {
            Some(other) => found.extend(of_table(table, structure, other)),
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

fn of_table(table: &TableName, source: &Structure, target: &Structure) -> Vec<Difference> {
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
        for (attribute, value) in attributes {
            add(object, attribute, Some(value), others.get(attribute));
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
