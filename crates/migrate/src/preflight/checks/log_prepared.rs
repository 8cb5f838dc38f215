//! The source has no prepared transaction that is still open.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "log.prepared",
    area: Area::Log,
    title: "no prepared transaction (XA) is open at the source",
    judge: Judge::Tables(judge),
};

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    if tables.prepared == 0 {
        return Vec::new();
    }
    let evidence =
        format!("{} prepared transactions wait for their end: their rows are in the log already", tables.prepared);
    vec![Finding::block(Side::Source, evidence).advice("end them with XA COMMIT or XA ROLLBACK; XA RECOVER lists them")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with_tables};

    #[test]
    fn prepared_transactions_are_refused() {
        finds(&CHECK, &with_tables(|tables| tables.prepared = 2), Effect::Block, "2 prepared transactions");
    }
}
