//! The target accepts writes.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "target.writable",
    area: Area::Target,
    title: "the target accepts writes",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    let target = &facts.target;
    let read_only = ["read_only", "super_read_only", "innodb_read_only"].into_iter().filter(|name| target.is_on(name));
    read_only
        .map(|name| {
            let finding = Finding::block(Side::Target, format!("{name} is ON"));
            match name {
                "innodb_read_only" => finding.advice("start it without innodb_read_only"),
                name => finding.set_now(target, name, "OFF"),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with};

    #[test]
    fn a_read_only_target_is_refused() {
        for name in ["read_only", "super_read_only", "innodb_read_only"] {
            finds(&CHECK, &with(Side::Target, name, "ON"), Effect::Block, name);
        }
    }
}
