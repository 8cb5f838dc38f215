//! The events of all schemas of the source can be seen: partial revokes can hide those of the server's own schemas.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "grants.events",
    area: Area::Grants,
    title: "events that could write to the source can be seen",
    judge: Judge::Servers(judge),
};

/// Schemas of the server that can have events.
const OWN_SCHEMAS: [&str; 2] = ["mysql", "sys"];

fn judge(facts: &Facts) -> Vec<Finding> {
    let source = &facts.source;
    let hidden = |schema: &&str| !source.grants.cover(&format!("EVENT ON {schema}.*"));
    let hidden: Vec<_> = OWN_SCHEMAS.into_iter().filter(hidden).collect();
    // An account that does not see the events of all users lacks a grant, which the plan names.
    if hidden.is_empty() || source.variable("event_scheduler") != "ON" || !source.grants.cover_user_schemas("EVENT") {
        return Vec::new();
    }
    let evidence = format!(
        "it is not known whether {} has events that write: the privilege EVENT is revoked there. A cut-over with --fence \
         accounts or external, and a fallback, would not see them",
        hidden.join(" or ")
    );
    let finding = Finding { unknown: true, ..Finding::tell(Side::Source, evidence) };
    vec![finding.set_now(source, "event_scheduler", "OFF")]
}

#[cfg(test)]
mod tests {
    use server::Grants;

    use super::*;
    use crate::preflight::testing::{finds, found, with};

    #[test]
    fn events_that_a_partial_revoke_hides_are_unknown() {
        let mut facts = with(Side::Source, "event_scheduler", "ON");
        assert_eq!(found(&CHECK, &facts), []);
        let grant = "GRANT SELECT, EVENT ON *.* TO `mig`@`%`";
        facts.source.grants = Grants::parse([grant, "REVOKE EVENT ON `mysql`.* FROM `mig`@`%`"]);
        finds(&CHECK, &facts, Effect::Tell, "whether mysql has events");
        assert!(judge(&facts).iter().all(|finding| finding.unknown && finding.remedy.is_some()));
        facts.source.variables.insert("event_scheduler".to_owned(), "OFF".to_owned());
        assert_eq!(found(&CHECK, &facts), []);
        facts.source.grants = Grants::parse(["GRANT EVENT ON `shop`.* TO `mig`@`%`"]);
        assert_eq!(found(&CHECK, &facts), []);
    }
}
