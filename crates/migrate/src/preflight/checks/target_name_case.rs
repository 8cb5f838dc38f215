//! Both servers treat the case of names alike.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "target.name-case",
    area: Area::Target,
    title: "both servers treat the case of names alike",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    const NAME: &str = "lower_case_table_names";
    let (source, target) = (facts.source.variable(NAME), facts.target.variable(NAME));
    if source == target {
        return Vec::new();
    }
    let evidence = format!("{NAME} is {target}, and {source} at the source: names would change or collide");
    vec![Finding::block(Side::Target, evidence).advice("the variable is set when a server is initialized")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with};

    #[test]
    fn another_treatment_is_refused() {
        finds(&CHECK, &with(Side::Target, "lower_case_table_names", "1"), Effect::Block, "is 1, and 0");
    }
}
