//! `key-foreign-uuid`.

use findings::{Remedy, Severity};
use server::dialect::statement::ROTATE_MASTER_KEY;

use super::{nothing_wrapped, wrapped};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "key-foreign-uuid",
    title: "A tablespace is wrapped under another server's uuid",
    severity: Severity::Medium,
    explanation: "After a clone or a restore, page 0 names the master key of the server that the data came from. Both \
        servers then share a key, and whoever has the other server's keyring can open this data. The uuid in page 0 is \
        compared with @@server_uuid, offline with auto.cnf.",
    applies: "MySQL 5.7.12 and newer",
    fix: "ALTER INSTANCE ROTATE INNODB MASTER KEY on this server",
    cost: "seconds; blocks DDL on tablespaces meanwhile; back up the keyring before and after",
    standards: &["PCI DSS 4.0.1 3.7.7"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Rotate,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let spaces = wrapped(cx, true);
    if spaces.is_empty() {
        return nothing_wrapped(cx);
    }
    let (current, evidence) = uuid_of_server(cx)?;
    let mut results = CheckResults::new();
    for space in &spaces {
        let Some(uuid) = space.uuid.filter(|uuid| !uuid.eq_ignore_ascii_case(&current)) else { continue };
        let message = format!("{} is wrapped by a key of server {uuid}", space.name);
        results.push(
            CheckResult::fail(space.name, EvidenceGrade::Bytes, message)
                .evidence(space.evidence())
                .evidence(evidence.clone())
                .fix(Remedy::statement(ROTATE_MASTER_KEY).note("on this server")),
        );
    }
    let text = format!("{} tablespaces and logs are wrapped by this server's own keys", spaces.len());
    results.pass_if_clean(CheckResult::pass("server", EvidenceGrade::Bytes, text).evidence(evidence));
    Ok(results)
}

fn uuid_of_server(cx: &Context<'_>) -> Observed<(String, Evidence)> {
    if let Some(uuid) = cx.facts.sql.as_ref().and_then(|sql| sql.identity.server_uuid.clone()) {
        let evidence = Evidence::Query { sql: "SELECT @@server_uuid".to_owned(), answer: uuid.clone() };
        return Ok((uuid, evidence));
    }
    let uuid = cx.facts.files.as_ref().and_then(|files| files.server_uuid.clone()).ok_or_else(|| Unavailable {
        what: "this server's uuid".to_owned(),
        why: "no server was queried, and the data directory has no readable auto.cnf".to_owned(),
        remedy: "audit the running server, or give the data directory with its auto.cnf".to_owned(),
    })?;
    let evidence =
        Evidence::Host { source: server::auto_cnf::NAME.to_owned(), observation: format!("server-uuid={uuid}") };
    Ok((uuid, evidence))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{UUID, space};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    const OTHER: &str = "11111111-e4cd-11f1-8c02-02fc00000001";

    fn with(uuid: &str) -> FactsBuilder {
        let mut made = mysql().file("demo/a.ibd", space(1, uuid));
        made.0.sql.as_mut().unwrap().identity.server_uuid = Some(UUID.to_owned());
        made
    }

    #[test]
    fn another_servers_uuid_fails() {
        assert_eq!(with(OTHER).statuses(&CHECK), [Fail]);
        assert_eq!(with(UUID).statuses(&CHECK), [Pass]);
        assert_eq!(with(&UUID.to_uppercase()).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn auto_cnf_gives_the_uuid_offline() {
        let mut made = FactsBuilder::nothing().file("demo/a.ibd", space(1, OTHER));
        assert_eq!(made.statuses(&CHECK), [Unknown]);
        made.0.files.as_mut().unwrap().server_uuid = Some(UUID.to_owned());
        assert_eq!(made.statuses(&CHECK), [Fail]);
    }

    #[test]
    fn mariadb_has_no_uuid() {
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
