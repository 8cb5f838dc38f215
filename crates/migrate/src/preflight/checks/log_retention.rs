//! The source keeps its log long enough for a migration to be interrupted.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "log.retention",
    area: Area::Log,
    title: "the source keeps its log for a day",
    judge: Judge::Servers(judge),
};

const DAY_SECONDS: u64 = 86_400;

fn judge(facts: &Facts) -> Vec<Finding> {
    let week_hours = 7 * DAY_SECONDS / 3600;
    if let Some(statement) = facts.source.service.and_then(|service| service.keep_binary_logs(week_hours)) {
        let evidence = "the service removes its logs by a setting of its own, which is not judged (CALL \
                        mysql.rds_show_configuration); by default it keeps none";
        return vec![Finding::tell(Side::Source, evidence).run(Side::Source, statement)];
    }
    // 0 means that the source keeps all logs.
    let short = facts.source.number("binlog_expire_logs_seconds").filter(|seconds| (1..DAY_SECONDS).contains(seconds));
    let Some(seconds) = short else { return Vec::new() };
    let evidence = format!("keeps its log for {seconds} s: an interruption longer than that means a new copy");
    vec![Finding::tell(Side::Source, evidence).set(
        &facts.source,
        "binlog_expire_logs_seconds",
        &(7 * DAY_SECONDS).to_string(),
    )]
}

#[cfg(test)]
mod tests {
    use server::dialect::managed::ManagedService;

    use super::*;
    use crate::preflight::testing::{finds, found, with};

    #[test]
    fn a_short_retention_is_told() {
        finds(&CHECK, &with(Side::Source, "binlog_expire_logs_seconds", "3600"), Effect::Tell, "3600 s");
        assert_eq!(found(&CHECK, &with(Side::Source, "binlog_expire_logs_seconds", "0")), []);
        let mut managed = with(Side::Source, "binlog_expire_logs_seconds", "2592000");
        managed.source.service = Some(ManagedService::Rds);
        finds(&CHECK, &managed, Effect::Tell, "removes its logs");
    }
}
