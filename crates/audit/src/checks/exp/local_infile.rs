//! `exp-local-infile`.

use findings::Severity;
use server::dialect::variable;

use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "exp-local-infile",
    title: "LOAD DATA LOCAL is allowed",
    severity: Severity::Medium,
    explanation: "With local_infile on, a statement makes the client send one of its own files. An injected \
        statement, or a server that poses as this one, can read files of the application's host. ON is the default of \
        MariaDB and of MySQL before 8.0.2.",
    applies: "every server",
    fix: "local_infile = OFF",
    cost: "no lock; LOAD DATA LOCAL is refused from then on",
    standards: &["CIS MySQL 4.4"],
    exposes: Exposes::Help(Attacker::Operator, "Files of clients, to whoever controls their statements"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    let on = sql.variable_on(variable::LOCAL_INFILE)?;
    let evidence = sql.variable_evidence(variable::LOCAL_INFILE);
    Ok(CheckResults::one(if on {
        CheckResult::fail(variable::LOCAL_INFILE, EvidenceGrade::Declared, "LOAD DATA LOCAL is allowed")
            .evidence(evidence)
            .fix(set_variable(sql, variable::LOCAL_INFILE, "OFF"))
    } else {
        CheckResult::pass(variable::LOCAL_INFILE, EvidenceGrade::Declared, "LOAD DATA LOCAL is refused")
            .evidence(evidence)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn the_variable_decides() {
        assert_eq!(mariadb().variable("local_infile", "ON").statuses(&CHECK), [Fail]);
        assert_eq!(mysql().variable("local_infile", "OFF").statuses(&CHECK), [Pass]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
