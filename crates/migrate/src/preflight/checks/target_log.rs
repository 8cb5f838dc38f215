//! The account can read the target's binary log, which shows whether somebody else writes to the tables.

use super::prelude::*;
use crate::{
    log_access::{missing, privileges},
    preflight::grants::quoted_account,
};

pub(super) const CHECK: Check = Check {
    id: "target.log",
    area: Area::Target,
    title: "the target's log shows who else writes to the tables",
    judge: Judge::Servers(judge),
};

const BLIND: &str = "writes of others to these tables are found only where rows differ";

fn judge(facts: &Facts) -> Vec<Finding> {
    let target = &facts.target;
    if !target.is_on("log_bin") {
        return vec![Finding::tell(Side::Target, format!("has no binary log: {BLIND}"))];
    }
    let flavor = target.identity.version.flavor;
    let missing = missing(flavor, &target.grants);
    if missing.is_empty() {
        let filters = facts.tables.iter().flat_map(|tables| &tables.target_log_filters);
        let finding = |(option, value): &(String, String)| {
            let evidence = format!("{option} = {value}: its log lacks changes, and is not read: {BLIND}");
            Finding::tell(Side::Target, evidence)
        };
        return filters.map(finding).collect();
    }
    let object = format!("{}: {}", target.side, target.account);
    let evidence = format!("lacks {}, so its log cannot be read: {BLIND}", missing.join(", "));
    let statement = format!("GRANT {} ON *.* TO {}", privileges(flavor).join(", "), quoted_account(&target.account));
    vec![Finding::tell(object, evidence).run(Side::Target, statement)]
}

#[cfg(test)]
mod tests {
    use server::Grants;

    use super::*;
    use crate::preflight::testing::{facts, finds, with, with_tables};

    #[test]
    fn a_log_that_cannot_be_read_is_told() {
        finds(&CHECK, &with(Side::Target, "log_bin", "OFF"), Effect::Tell, "no binary log");
        let mut facts = facts();
        facts.target.grants = Grants::parse(["GRANT REPLICATION SLAVE ON *.* TO `mig`@`%`"]);
        finds(&CHECK, &facts, Effect::Tell, "lacks REPLICATION CLIENT");
        let filtered = vec![("binlog-ignore-db".to_owned(), "shop".to_owned())];
        let facts = with_tables(|tables| tables.target_log_filters = filtered);
        finds(&CHECK, &facts, Effect::Tell, "lacks changes");
    }
}
