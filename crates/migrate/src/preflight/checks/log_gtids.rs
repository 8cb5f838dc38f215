//! The source has GTIDs, so that another server can take its place during the migration.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "log.gtids",
    area: Area::Log,
    title: "the source can be replaced by one of its replicas",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    let mode = facts.source.variable("gtid_mode");
    if mode.eq_ignore_ascii_case("ON") {
        return Vec::new();
    }
    let evidence = format!(
        "gtid_mode is {mode}: the migration follows the positions in the log of this server, so that after a failover \
         to another one it has to begin again"
    );
    vec![Finding::tell(Side::Source, evidence)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with};

    #[test]
    fn a_source_without_gtids_is_told() {
        finds(&CHECK, &with(Side::Source, "gtid_mode", "OFF"), Effect::Tell, "gtid_mode is OFF");
    }
}
