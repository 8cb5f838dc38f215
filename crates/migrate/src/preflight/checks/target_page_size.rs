//! Rows that fit into a page of the source also fit into a page of the target.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "target.page-size",
    area: Area::Target,
    title: "pages of the target are not smaller",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    let size = |server: &ServerFacts| server.number("innodb_page_size").unwrap_or_default();
    let (source, target) = (size(&facts.source), size(&facts.target));
    if target >= source {
        return Vec::new();
    }
    let evidence = format!("innodb_page_size is {target}, and {source} at the source: rows and keys may be too large");
    vec![Finding::block(Side::Target, evidence).advice("the size is set when a server is initialized")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, found, with};

    #[test]
    fn smaller_pages_are_refused() {
        finds(&CHECK, &with(Side::Target, "innodb_page_size", "4096"), Effect::Block, "4096");
        assert_eq!(found(&CHECK, &with(Side::Target, "innodb_page_size", "65536")), []);
    }
}
