//! The target accepts rows in its fastest format.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "target.local-infile",
    area: Area::Target,
    title: "the target accepts LOAD DATA LOCAL",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    if facts.target.is_on("local_infile") {
        return Vec::new();
    }
    let evidence = "local_infile is OFF: rows are inserted by statements, which takes about twice the time";
    vec![Finding::tell(Side::Target, evidence).run(Side::Target, "SET GLOBAL local_infile = ON")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with};

    #[test]
    fn a_slower_way_is_told() {
        finds(&CHECK, &with(Side::Target, "local_infile", "OFF"), Severity::Tell, "local_infile is OFF");
    }
}
