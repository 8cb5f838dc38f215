//! Indexes are built before the rows: a later build would sort them in plaintext files in `tmpdir`.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "encryption.tmpdir",
    area: Area::Encryption,
    title: "no large indexes would be faster to build afterwards",
    judge: Judge::Tables(judge),
};

/// Below this size, building the indexes later would save only seconds.
const LARGE_BYTES: u64 = 10 << 30;

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    let bytes = tables.source.tables.iter().map(|table| table.bytes).fold(0, u64::saturating_add);
    if bytes < LARGE_BYTES {
        return Vec::new();
    }
    let evidence = "indexes are created before the rows: building them afterwards takes half the time, but InnoDB sorts \
                    them in files in clear in tmpdir, whatever is encrypted";
    vec![Finding::tell(Side::Target, evidence)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with_tables};

    #[test]
    fn the_slower_order_is_told() {
        let facts = with_tables(|tables| tables.source.tables.iter_mut().for_each(|table| table.bytes = 11 << 30));
        finds(&CHECK, &facts, Effect::Tell, "indexes are created before the rows");
    }
}
