//! Both accounts have the privileges that a migration needs.

use super::prelude::*;
use crate::preflight::grants::quoted_account;

pub(super) const CHECK: Check = Check {
    id: "grants.both",
    area: Area::Grants,
    title: "both accounts have the necessary privileges",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for grant in facts.required_grants() {
        let server = facts.server(grant.side);
        let missing = grant.missing(&server.grants);
        if !missing.is_empty() {
            let object = format!("{}: {}", server.side, server.account);
            let evidence = format!("lacks {}", missing.join(", "));
            let statement = grant.statement(&server.grants, &missing, &quoted_account(&server.account));
            findings.push(Finding::unknown(object, evidence).run(server.side, statement));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use findings::Action;
    use server::Grants;

    use super::*;
    use crate::preflight::{Remedy, testing::facts};

    #[test]
    fn each_missing_privilege_is_named_by_its_grant() {
        let mut facts = facts();
        facts.target.grants =
            Grants::parse(["GRANT SELECT ON *.* TO `mig`@`%`", "GRANT ALL PRIVILEGES ON `\\_sealant`.* TO `mig`@`%`"]);
        assert_eq!(missing(&facts), ["GRANT PROCESS ON *.* TO `mig`@`%`", "GRANT ALL ON `shop`.* TO `mig`@`%`"]);
    }

    #[test]
    fn what_a_target_has_already_needs_no_privilege() {
        let mut facts = facts();
        let granted = ["GRANT PROCESS ON *.* TO `mig`@`%`", "GRANT ALL PRIVILEGES ON `shop`.* TO `mig`@`%`"];
        let state = "GRANT ALL PRIVILEGES ON `\\_sealant`.* TO `mig`@`%`";
        facts.target.grants = Grants::parse(granted.into_iter().chain([state]));
        assert_eq!(missing(&facts), [""; 0]);
        let session = ["GRANT SESSION_VARIABLES_ADMIN ON *.* TO `mig`@`%`"];
        for (name, other) in [
            ("innodb_strict_mode", "OFF"),
            ("sql_generate_invisible_primary_key", "ON"),
            ("default_collation_for_utf8mb4", "utf8mb4_general_ci"),
        ] {
            let before = facts.target.variables.insert(name.to_owned(), other.to_owned()).unwrap();
            assert_eq!(missing(&facts), session, "{name}");
            facts.target.variables.insert(name.to_owned(), before);
        }
        // As MySQL 5.7, whose default is another one.
        facts.source.variables.remove("default_collation_for_utf8mb4");
        assert_eq!(missing(&facts), session);
    }

    fn missing(facts: &Facts) -> Vec<String> {
        judge(facts)
            .into_iter()
            .map(|finding| match finding.remedy {
                Some(Remedy { action: Action::Statement { sql }, .. }) if finding.unknown => sql,
                other => panic!("{other:?}"),
            })
            .collect()
    }
}
