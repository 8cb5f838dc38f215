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
    use super::*;
    use crate::preflight::testing::{finds, found, with};

    #[test]
    fn a_short_retention_is_told() {
        finds(&CHECK, &with(Side::Source, "binlog_expire_logs_seconds", "3600"), Effect::Tell, "3600 s");
        assert_eq!(found(&CHECK, &with(Side::Source, "binlog_expire_logs_seconds", "0")), []);
    }
}
