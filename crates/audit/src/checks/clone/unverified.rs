//! `clone-unverified`.

use findings::Severity;
use server::Capability;
use server::dialect::variable;

use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "clone-unverified",
    title: "A clone takes its data from an unverified donor",
    severity: Severity::Medium,
    explanation: "Without clone_ssl_ca the recipient accepts any donor's certificate, and replaces all of its data \
        and accounts with what that donor sends. Judged from the clone plug-in's state and the clone_ssl_ variables.",
    applies: "MySQL 8.0.17+ with the clone plug-in",
    fix: "clone_ssl_ca, clone_ssl_cert and clone_ssl_key; CLONE INSTANCE … REQUIRE SSL",
    cost: "no lock, no restart",
    standards: &["PCI DSS 4.0.1 4.2.1"],
    exposes: Exposes::Help(Attacker::Impostor, "All data, to whoever poses as a clone's donor or recipient"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if !sql.can(Capability::Clone) {
        return Ok(CheckResults::not_applicable(format!("{} has no clone plug-in", sql.identity.version)));
    }
    let active = match sql.active_plugins() {
        Ok(plugins) => plugins.iter().any(|plugin| plugin.name.eq_ignore_ascii_case("clone")),
        // Its variables exist only while it is loaded.
        Err(_) => sql.variable(variable::CLONE_SSL_CA).is_ok(),
    };
    if !active {
        return Ok(CheckResults::not_applicable("the clone plug-in is not active"));
    }
    let result = if sql.variable(variable::CLONE_SSL_CA)?.is_empty() {
        let fix = advice::set_variable(sql, variable::CLONE_SSL_CA, &advice::path_of_ca(sql))
            .note("a clone started by a statement also needs REQUIRE SSL");
        CheckResult::fail("clone", EvidenceGrade::Declared, "a clone would accept any donor's certificate").fix(fix)
    } else {
        CheckResult::pass(
            "clone",
            EvidenceGrade::Declared,
            "a clone over TLS verifies the donor's authority; require TLS with REQUIRE SSL",
        )
    };
    Ok(CheckResults::one(
        result
            .evidence(sql.variable_evidence(variable::CLONE_SSL_CA))
            .evidence(sql.variable_evidence("clone_valid_donor_list")),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn with(ca: &str) -> FactsBuilder {
        mysql()
            .answer("plugins", &["name", "status", "type"], &[&["clone", "ACTIVE", "CLONE"]])
            .variable("clone_ssl_ca", ca)
    }

    #[test]
    fn without_an_authority_any_donor_is_taken() {
        assert_eq!(with("").statuses(&CHECK), [Fail]);
        assert_eq!(with("/etc/mysql/ca.pem").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn servers_without_the_plug_in_are_not_concerned() {
        assert_eq!(mysql().answer("plugins", &["name", "status", "type"], &[]).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
    }
}
