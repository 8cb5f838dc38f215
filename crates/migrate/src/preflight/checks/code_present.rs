//! Views, routines, triggers and events are listed, because this version does not create them.

use std::collections::BTreeMap;

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "code.present",
    area: Area::Code,
    title: "there are no views, routines, triggers or events",
    judge: Judge::Tables(judge),
};

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    let mut counts = BTreeMap::<&str, usize>::new();
    for code in &tables.source.code {
        let count = counts.entry(&code.kind).or_default();
        *count = count.saturating_add(1);
    }
    let counted: Vec<String> = counts.into_iter().map(|(kind, count)| plural(kind, count)).collect();
    if counted.is_empty() {
        return Vec::new();
    }
    let evidence = format!("{}: not yet created at the target", counted.join(", "));
    vec![Finding::tell(Side::Source, evidence).advice(DUMP)]
}

const DUMP: &str = "mysqldump --no-data --no-create-info --routines --events --triggers writes routines, events and \
                    triggers; SHOW CREATE VIEW shows a view";

fn plural(kind: &str, count: usize) -> String {
    format!("{count} {kind}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalog::Code,
        preflight::testing::{finds, with_tables},
    };

    #[test]
    fn code_is_counted() {
        let trigger = |name: &str| Code {
            kind: "trigger".to_owned(),
            schema: "shop".to_owned(),
            name: name.to_owned(),
            table: Some("orders".to_owned()),
            definer: "root@localhost".to_owned(),
        };
        let facts = with_tables(|tables| tables.source.code = vec![trigger("a"), trigger("b")]);
        finds(&CHECK, &facts, Effect::Tell, "source: 2 triggers: not yet");
    }
}
