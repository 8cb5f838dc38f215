//! The source commits in the order of its log, or has GTIDs, by which it reports what it has committed.

use server::Flavor;

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "log.order",
    area: Area::Log,
    title: "the source commits in the order of its log, or has GTIDs",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    let source = &facts.source;
    let by_gtid = source.variable("gtid_mode").eq_ignore_ascii_case("ON");
    // Its snapshots tell their position in the log.
    let is_mariadb = source.identity.version.flavor == Flavor::MariaDb;
    if is_mariadb || by_gtid || source.is_on("binlog_order_commits") {
        return Vec::new();
    }
    let evidence =
        "binlog_order_commits is OFF and gtid_mode is not ON: nothing says which rows of the log a read sees";
    vec![Finding::block(Side::Source, evidence).set(source, "binlog_order_commits", "ON")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, found, with};

    #[test]
    fn one_of_both_is_enough() {
        let mut facts = with(Side::Source, "binlog_order_commits", "OFF");
        assert_eq!(found(&CHECK, &facts), []);
        facts.source.variables.insert("gtid_mode".to_owned(), "OFF".to_owned());
        finds(&CHECK, &facts, Effect::Block, "binlog_order_commits is OFF");
        facts.source.variables.insert("binlog_order_commits".to_owned(), "ON".to_owned());
        assert_eq!(found(&CHECK, &facts), []);
    }
}
