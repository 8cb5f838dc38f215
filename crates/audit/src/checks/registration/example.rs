//! `exp-example`: the check that `docs/adding-a-check.md` describes, for the test of the table.

use findings::Severity;

use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "exp-example",
    title: "The example is off",
    severity: Severity::Low,
    explanation: "A setting that no server has. Judged from the variable of its name.",
    applies: "no server",
    fix: "example = ON",
    cost: "none",
    standards: &["EXAMPLE 1.0 1.2"],
    exposes: Exposes::Help(Attacker::Operator, "An example"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    let result = if sql.variable_on("example")? {
        CheckResult::pass("example", EvidenceGrade::Declared, "the example is on")
    } else {
        CheckResult::fail("example", EvidenceGrade::Declared, "the example is off")
            .fix(set_variable(sql, "example", "ON"))
    };
    Ok(CheckResults::one(result.evidence(sql.variable_evidence("example"))))
}
