//! The target accepts `LOAD DATA LOCAL`, by which rows are sent.

use super::prelude::*;
use crate::error::ALLOW_LOCAL_INFILE;

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
    let evidence = "local_infile is OFF: the copy loads rows with LOAD DATA LOCAL";
    let finding = Finding::block(Side::Target, evidence);
    vec![match facts.target.service {
        Some(_) => finding.set(&facts.target, "local_infile", "ON"),
        None => finding.run(Side::Target, ALLOW_LOCAL_INFILE),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with};

    #[test]
    fn a_target_that_refuses_rows_is_refused() {
        finds(&CHECK, &with(Side::Target, "local_infile", "OFF"), Effect::Block, "local_infile is OFF");
    }
}
