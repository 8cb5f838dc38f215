//! The source has GTIDs, so that another server can take its place during the migration.

use server::Flavor;

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "log.gtids",
    area: Area::Log,
    title: "the source can be replaced by one of its replicas",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    let place = "the migration follows the positions in the log of this server, so that after a failover to another one it \
                 has to begin again";
    if facts.source.identity.version.flavor == Flavor::MariaDb {
        return vec![Finding::tell(Side::Source, format!("GTIDs of MariaDB are not yet used: {place}"))];
    }
    let mode = facts.source.variable("gtid_mode");
    if mode.eq_ignore_ascii_case("ON") {
        return Vec::new();
    }
    vec![Finding::tell(Side::Source, format!("gtid_mode is {mode}: {place}"))]
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
