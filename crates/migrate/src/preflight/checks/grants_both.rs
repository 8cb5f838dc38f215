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
            let statement = grant.statement(&missing, &quoted_account(&server.account));
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
            Grants::parse(["GRANT PROCESS ON *.* TO `mig`@`%`", "GRANT ALL PRIVILEGES ON `\\_sealant`.* TO `mig`@`%`"]);
        let statements: Vec<String> = judge(&facts)
            .into_iter()
            .map(|finding| match finding.remedy {
                Some(Remedy { action: Action::Statement { sql }, .. }) if finding.unknown => sql,
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = ["GRANT SESSION_VARIABLES_ADMIN ON *.* TO `mig`@`%`", "GRANT ALL ON `shop`.* TO `mig`@`%`"];
        assert_eq!(statements, expected);
    }
}
