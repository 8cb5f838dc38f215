//! `rest-mysql-ibd-plaintext`.

use findings::{Remedy, Severity};
use innodb::server_file::DICTIONARY;
use server::Capability;
use server::dialect::statement::ENCRYPT_DICTIONARY;

use super::{ArtefactPolicy, judge_all, mariadb, not_listed, or_none_of_it, written_by_mysql_8};
use crate::artefact::Kind;
use crate::check::{Check, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;

pub const CHECK: Check = Check {
    id: "rest-mysql-ibd-plaintext",
    title: "mysql.ibd, the data dictionary, is not encrypted",
    severity: Severity::High,
    explanation: "mysql.ibd holds every table's definition, histograms with values of columns, password hashes of the \
        accounts, and the password with which a replica logs in to its source. Judged from the server's list and from \
        page 0 and pages of the file.",
    applies: "MySQL 8.0 and newer, which can encrypt it from 8.0.16 on",
    fix: ENCRYPT_DICTIONARY,
    cost: "in place, seconds; needs the privilege CREATE TABLESPACE on *.*. Never repeat it after a crash during it, \
        which can make the tablespace unreadable: `sealant encrypt` checks the bytes first",
    standards: &["PCI DSS 4.0.1 3.5.1", "PCI DSS 4.0.1 8.3.2", "HIPAA 164.312(a)(2)(iv)"],
    exposes: Exposes::Data(
        Attacker::StolenDisk,
        "The data dictionary: every name, values kept as histograms, the replication password",
    ),
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql.as_ref();
    if mariadb(cx) == Some(true) || sql.is_some_and(|sql| !sql.can(Capability::DictionaryTablespace)) {
        return Ok(CheckResults::not_applicable("only MySQL 8.0 and newer keep their dictionary in mysql.ibd"));
    }
    let too_old = sql.filter(|sql| !sql.can(Capability::EncryptDictionary));
    let fix = || match too_old {
        Some(sql) => format!("{} cannot encrypt mysql.ibd: upgrade to 8.0.16 or newer", sql.identity.version).into(),
        None => Remedy::statement(CHECK.fix),
    };
    let terms = ArtefactPolicy { noun: DICTIONARY, severity: &|_| None, fix: &|_| fix() };
    let results = judge_all(cx, cx.artefacts.with_kind(Kind::MysqlTablespace), &terms);
    if results.is_empty() && sql.is_some() {
        // Every server of this version has a mysql.ibd: if it is neither listed nor found, the result is UNKNOWN.
        sql.map_or(Ok(()), |sql| sql.tablespaces().map(|_| ()))?;
        return Ok(results);
    }
    if results.is_empty() && written_by_mysql_8(cx) {
        return Err(not_listed(DICTIONARY));
    }
    or_none_of_it(cx, results, DICTIONARY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::EvidenceGrade;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, TABLESPACE_COLUMNS, mariadb, mysql, tablespace_with};
    use innodb::SpaceId;
    use innodb::tablespace::TablespaceKind;

    #[test]
    fn reported_and_bytes() {
        let made = mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[&["4294967294", "mysql", "General", "N"]]);
        assert_eq!(made.statuses(&CHECK), [Fail]);
        let file = tablespace_with("encrypted", 40, 0, |scan| {
            scan.kind = TablespaceKind::Dictionary;
            scan.page0.space_id = SpaceId(0xffff_fffe);
        });
        let found = made.file("mysql.ibd", file).judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Pass, Some(EvidenceGrade::Bytes)));
    }

    #[test]
    fn other_servers_have_none() {
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::server("5.7.44", "").statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn not_listed_is_unknown() {
        assert_eq!(mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[]).statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().refused("tablespaces", 1227).statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
        let part = tablespace_with("plain", 0, 1, |scan| scan.page0.server_version = Some(80036));
        assert_eq!(FactsBuilder::nothing().file("demo/t.ibd", part).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn a_server_too_old_to_encrypt_it_gets_the_advice_to_upgrade() {
        let old = FactsBuilder::server("8.0.13", "MySQL Community Server - GPL");
        let found =
            old.answer("tablespaces", TABLESPACE_COLUMNS, &[&["4294967294", "mysql", "General", "N"]]).judge(&CHECK);
        assert!(found[0].remediation.as_ref().unwrap().contains("8.0.16"));
    }
}
