//! The target reads numbers in JSON text as the values that the source has.

use super::prelude::*;
use crate::preflight::json::is_stored_json;

pub(super) const CHECK: Check = Check {
    id: "tables.json-numbers",
    area: Area::Tables,
    title: "the target reads numbers of JSON exactly",
    judge: Judge::Tables(judge),
};

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    if !tables.target_rounds_json {
        return Vec::new();
    }
    let with_json = tables.source.tables.iter().filter(|table| table.columns.iter().any(is_stored_json));
    with_json
        .map(|table| {
            let evidence = "the target reads some fractions in JSON as the next larger or smaller number: rows with \
                            such a number would differ, and the comparison would name them";
            Finding::ask(table.label(), evidence)
                .advice("migrate to a newer series, or leave the table out with --exclude")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{column, finds, found, with_tables};

    #[test]
    fn a_target_that_rounds_is_asked_about() {
        let json = crate::Column { data_type: "json".to_owned(), ..column("doc") };
        let mut facts = with_tables(|tables| tables.source.tables[0].columns.push(json));
        assert_eq!(found(&CHECK, &facts), []);
        facts.tables.as_mut().unwrap().target_rounds_json = true;
        finds(&CHECK, &facts, Effect::Ask, "fractions in JSON");
    }
}
