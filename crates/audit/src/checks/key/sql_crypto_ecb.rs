//! `key-sql-crypto-ecb`.

use findings::Severity;
use server::Capability;

use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "key-sql-crypto-ecb",
    title: "AES_ENCRYPT() works in ECB mode",
    severity: Severity::Medium,
    explanation: "In ECB mode, equal plaintext blocks give equal ciphertext blocks: a column encrypted with \
        AES_ENCRYPT() shows which rows are equal. aes-128-ecb is the default of block_encryption_mode on both forks \
        (observed).",
    applies: "MySQL 5.6.17 and newer, MariaDB 11.2 and newer; older MariaDB has only ECB",
    fix: "block_encryption_mode = 'aes-256-cbc', and a random IV as third argument",
    cost: "no lock; old values must be decrypted with the old mode and encrypted again",
    standards: &["CIS MySQL 2.12", "NIST SP 800-53r5 SC-13"],
    exposes: Exposes::Help(Attacker::Operator, "Which values are equal: ECB encrypts equal blocks alike"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if !sql.can(Capability::BlockEncryptionMode) {
        let why = format!("{} has no block_encryption_mode: AES_ENCRYPT() knows only ECB there", sql.identity.version);
        return Ok(CheckResults::not_applicable(why));
    }
    let mode = sql.variable("block_encryption_mode")?;
    let evidence = sql.variable_evidence("block_encryption_mode");
    Ok(CheckResults::one(if mode.to_ascii_lowercase().ends_with("-ecb") {
        CheckResult::fail("block_encryption_mode", EvidenceGrade::Declared, format!("AES_ENCRYPT() uses {mode}"))
            .evidence(evidence)
            .fix(set_variable(sql, "block_encryption_mode", "'aes-256-cbc'"))
    } else {
        CheckResult::pass("block_encryption_mode", EvidenceGrade::Declared, format!("AES_ENCRYPT() uses {mode}"))
            .evidence(evidence)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn the_mode_decides_where_there_is_one() {
        assert_eq!(mysql().variable("block_encryption_mode", "aes-128-ecb").statuses(&CHECK), [Fail]);
        assert_eq!(mysql().variable("block_encryption_mode", "aes-256-cbc").statuses(&CHECK), [Pass]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
        let new = FactsBuilder::server("11.8.6-MariaDB", "").variable("block_encryption_mode", "aes-128-ecb");
        assert_eq!(new.statuses(&CHECK), [Fail]);
    }
}
