//! `exp-eol-or-vulnerable`.

use findings::Severity;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use server::Flavor;

use crate::check::{Check, Context, Ruling, Verdict};
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

/// End of a release line: its first two numbers, last day (year, month, day).
type Line = (u16, u16, (i16, i8, i8));

/// Oracle's lifetime support policy (end of extended support) for GA releases; an innovation release ends with the next
/// one. Percona Server follows Oracle's dates.
const MYSQL: &[Line] = &[
    (5, 5, (2018, 12, 31)),
    (5, 6, (2021, 2, 28)),
    (5, 7, (2023, 10, 31)),
    (8, 0, (2026, 4, 30)),
    (8, 1, (2023, 10, 25)),
    (8, 2, (2024, 1, 16)),
    (8, 3, (2024, 4, 30)),
    (8, 4, (2032, 4, 30)),
    (9, 0, (2024, 10, 15)),
    (9, 1, (2025, 1, 21)),
    (9, 2, (2025, 4, 15)),
    (9, 3, (2025, 7, 22)),
    (9, 4, (2025, 10, 21)),
    (9, 5, (2026, 1, 20)),
    (9, 6, (2026, 4, 21)),
    (9, 7, (2034, 4, 30)),
];

/// MariaDB Foundation's maintenance policy, community server.
const MARIADB: &[Line] = &[
    (5, 5, (2020, 4, 11)),
    (10, 0, (2019, 3, 31)),
    (10, 1, (2020, 10, 17)),
    (10, 2, (2022, 5, 23)),
    (10, 3, (2023, 5, 25)),
    (10, 4, (2024, 6, 18)),
    (10, 5, (2025, 6, 24)),
    (10, 6, (2026, 7, 6)),
    (10, 7, (2023, 2, 9)),
    (10, 8, (2023, 5, 20)),
    (10, 9, (2023, 8, 22)),
    (10, 10, (2023, 11, 17)),
    (10, 11, (2028, 2, 16)),
    (11, 0, (2024, 6, 6)),
    (11, 1, (2024, 8, 21)),
    (11, 2, (2024, 11, 21)),
    (11, 3, (2024, 5, 29)),
    (11, 4, (2029, 5, 29)),
    (11, 5, (2024, 11, 21)),
    (11, 6, (2025, 2, 13)),
    (11, 7, (2025, 5, 12)),
    (11, 8, (2028, 6, 4)),
    (12, 0, (2025, 11, 18)),
    (12, 1, (2026, 2, 13)),
];

fn judge(cx: &Context<'_>) -> Observed<Verdict> {
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
    Ok(Verdict::one(if end < today {
        Ruling::fail("server", EvidenceGrade::Reported, format!("{line} had its last fixes on {end}"))
            .evidence(evidence)
            .fix(format!("upgrade to {}", supported(version.flavor)))
    } else {
        Ruling::pass("server", EvidenceGrade::Reported, format!("{line} is maintained until {end} ({left} days)"))
            .evidence(evidence)
    }))
}

fn end_of_life(sql: &SqlFacts) -> Option<Date> {
    let version = &sql.identity.version;
    let table = if sql.is_mariadb() { MARIADB } else { MYSQL };
    let (_, _, (year, month, day)) =
        table.iter().find(|(major, minor, _)| (*major, *minor) == (version.major, version.minor))?;
    Date::new(*year, *month, *day).ok()
}

const fn supported(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MariaDb => "MariaDB 11.8, or 11.4",
        Flavor::Percona => "Percona Server 8.4",
        Flavor::MySql => "MySQL 9.7, or 8.4",
    }
}

#[cfg(test)]
mod tests {
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
    fn the_lines_to_upgrade_to_are_those_maintained_longest() {
        for (flavor, table) in [(Flavor::MySql, MYSQL), (Flavor::MariaDb, MARIADB)] {
            let mut lines = table.to_vec();
            lines.sort_by_key(|(_, _, end)| std::cmp::Reverse(*end));
            for (major, minor, _) in lines.iter().take(2) {
                assert!(supported(flavor).contains(&format!("{major}.{minor}")), "{major}.{minor}");
            }
        }
    }

    #[test]
    fn every_date_of_the_tables_exists() {
        for (_, _, (year, month, day)) in MYSQL.iter().chain(MARIADB) {
            assert!(Date::new(*year, *month, *day).is_ok(), "{year}-{month}-{day}");
        }
    }
}
