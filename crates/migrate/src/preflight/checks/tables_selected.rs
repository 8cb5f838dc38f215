//! At least one table is selected, and everything that the user named exists.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "tables.selected",
    area: Area::Tables,
    title: "the named schemas exist, and have tables",
    judge: Judge::Tables(judge),
};

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    let exists = |name: &String| tables.source.schemas.iter().any(|schema| schema.name == *name);
    let missing = facts.request.filter.schemas.iter().filter(|name| !exists(name));
    let mut findings: Vec<Finding> =
        missing.map(|name| Finding::block(name, "the source has no such schema").option("--schema")).collect();
    if findings.is_empty() && tables.source.tables.is_empty() {
        findings.push(Finding::block(Side::Source, "has no tables, or the options select none"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{facts, finds, with_tables};

    #[test]
    fn what_does_not_exist_is_named() {
        let mut named = facts();
        named.request.filter.schemas = vec!["shop".to_owned(), "shpo".to_owned()];
        finds(&CHECK, &named, Effect::Block, "shpo: the source has no such schema");
        finds(&CHECK, &with_tables(|tables| tables.source.tables.clear()), Effect::Block, "no tables");
    }
}
