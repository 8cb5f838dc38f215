//! The source writes a binary log that it sends to replicas.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "log.on",
    area: Area::Log,
    title: "the source writes a binary log, and has a server id",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    if !facts.source.is_on("log_bin") {
        let evidence = "writes no binary log: changes during the copy could not be followed";
        return vec![Finding::block(Side::Source, evidence).advice("set log_bin in its option file and restart it")];
    }
    match facts.source.number("server_id") {
        Some(0) => vec![Finding::block(Side::Source, "has server_id 0: it refuses every replica").set(
            &facts.source,
            "server_id",
            "1",
        )],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with};

    #[test]
    fn a_source_without_log_is_refused() {
        finds(&CHECK, &with(Side::Source, "log_bin", "OFF"), Effect::Block, "no binary log");
        finds(&CHECK, &with(Side::Source, "server_id", "0"), Effect::Block, "server_id 0");
    }
}
