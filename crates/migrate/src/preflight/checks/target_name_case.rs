//! Both servers treat the case of names alike.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "target.name-case",
    area: Area::Target,
    title: "both servers treat the case of names alike",
    judge: Judge::Tables(judge),
};

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    const NAME: &str = "lower_case_table_names";
    let (source, target) = (facts.source.variable(NAME), facts.target.variable(NAME));
    if source == target {
        return Vec::new();
    }
    let is_lower = |name: &str| name == name.to_lowercase();
    let mut names = tables.source.tables.iter().flat_map(|table| [&table.schema, &table.name]);
    // Azure Database for MySQL does not have the value of other servers on Linux.
    if names.all(|name| is_lower(name)) {
        let finds = if source == "0" { "programs find" } else { "programs do not find" };
        let evidence = format!(
            "{NAME} is {target}, and {source} at the source: no name changes, because all are in lower case, but {finds} \
             tables by names in another case"
        );
        return vec![match source {
            "0" => Finding::tell(Side::Target, evidence),
            _ => Finding::ask(Side::Target, evidence),
        }];
    }
    let evidence = format!("{NAME} is {target}, and {source} at the source: names would change or collide");
    vec![Finding::block(Side::Target, evidence).advice("the variable is set when a server is initialized")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with};

    #[test]
    fn another_treatment_is_refused_if_it_changes_names() {
        let mut facts = with(Side::Target, "lower_case_table_names", "1");
        finds(&CHECK, &facts, Effect::Tell, "no name changes");
        for table in &mut facts.tables.as_mut().unwrap().source.tables {
            table.name = "Orders".to_owned();
        }
        finds(&CHECK, &facts, Effect::Block, "is 1, and 0");
        let mut facts = with(Side::Source, "lower_case_table_names", "1");
        finds(&CHECK, &facts, Effect::Ask, "programs do not find");
        facts.tables.as_mut().unwrap().source.tables.iter_mut().for_each(|table| table.schema = "Shop".to_owned());
        finds(&CHECK, &facts, Effect::Block, "is 0, and 1");
    }
}
