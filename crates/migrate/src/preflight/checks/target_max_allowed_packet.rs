//! Each row of the source fits into a statement of the target.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "target.max-allowed-packet",
    area: Area::Target,
    title: "each row fits into a statement of the target",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    let limit = |server: &ServerFacts| server.number("max_allowed_packet").unwrap_or_default();
    let (source, target) = (limit(&facts.source), limit(&facts.target));
    if target >= source {
        return Vec::new();
    }
    let evidence = format!("max_allowed_packet is {target}, and {source} at the source: a large row would be refused");
    vec![Finding::block(Side::Target, evidence).set(&facts.target, "max_allowed_packet", &source.to_string())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, found, with};

    #[test]
    fn a_smaller_limit_is_refused() {
        finds(&CHECK, &with(Side::Target, "max_allowed_packet", "1048576"), Effect::Block, "is 1048576");
        assert_eq!(found(&CHECK, &with(Side::Source, "max_allowed_packet", "1048576")), []);
    }
}
