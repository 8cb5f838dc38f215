//! `exp-eol-or-vulnerable`.

use findings::Severity;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use server::release_line::{release_line, upgrade_targets};

use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "exp-eol-or-vulnerable",
    title: "The server's release line gets no fixes any more",
    severity: Severity::Medium,
    explanation: "A release line past its end of life keeps every vulnerability found since, including those of its \
        TLS library. Compared with the end dates published by the makers. A distribution or vendor may support its own \
        build longer; record that in a waiver. Lines that this release does not know are UNKNOWN.",
    applies: "every server",
    fix: "upgrade to a line that is supported",
    cost: "an upgrade; read the notes on encryption and keyrings of the new line first",
    standards: &["PCI DSS 4.0.1 6.3.3"],
    exposes: Exposes::Help(Attacker::Operator, "Whatever the known vulnerabilities of this unsupported release expose"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    let version = &sql.identity.version;
    let evidence = Evidence::Query {
        sql: "SELECT @@version, @@version_comment".to_owned(),
        answer: format!("{}, {}", version.text, sql.identity.version_comment),
    };
    let Some(end) = end_of_life(sql) else {
        return Err(Unavailable {
            what: format!("end of life of {version}"),
            why: "this release of sealant does not know that line".to_owned(),
            remedy: "compare with the maker's support policy, and record the answer in a waiver".to_owned(),
        });
    };
    let line = format!("{} {}.{}", version.flavor, version.major, version.minor);
    let today = cx.now.to_zoned(TimeZone::UTC).date();
    let left = today.until(end).map_or(0, |span| span.get_days());
    Ok(CheckResults::one(if end < today {
        CheckResult::fail("server", EvidenceGrade::Reported, format!("{line} had its last fixes on {end}"))
            .evidence(evidence)
            .fix(format!("upgrade to {}", upgrade_targets(version.flavor)))
    } else {
        CheckResult::pass("server", EvidenceGrade::Reported, format!("{line} is maintained until {end} ({left} days)"))
            .evidence(evidence)
    }))
}

fn end_of_life(sql: &SqlFacts) -> Option<Date> {
    let version = &sql.identity.version;
    let (year, month, day) = release_line(version.flavor, version.major, version.minor)?.last_day;
    Date::new(year, month, day).ok()
}

#[cfg(test)]
mod tests {
    use server::release_line::RELEASE_LINES;

    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn dates_decide() {
        assert_eq!(mysql().statuses(&CHECK), [Pass]);
        assert_eq!(mariadb().statuses(&CHECK), [Pass]);
        for old in ["5.6.24", "5.7.44", "8.0.36"] {
            assert_eq!(FactsBuilder::server(old, "MySQL Community Server - GPL").statuses(&CHECK), [Fail], "{old}");
        }
        assert_eq!(FactsBuilder::server("10.5.23-MariaDB", "").statuses(&CHECK), [Fail]);
    }

    #[test]
    fn a_line_we_do_not_know_is_unknown() {
        assert_eq!(FactsBuilder::server("26.10.0", "MySQL Community Server - GPL").statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn every_date_of_the_tables_exists() {
        for line in RELEASE_LINES {
            let (year, month, day) = line.last_day;
            assert!(Date::new(year, month, day).is_ok(), "{line:?}");
        }
    }
}
