//! The plan of a migration: method, tables, and what blocks it. Its JSON form is `sealant.migrate/1`.

use serde::Serialize;
use server::{ServerVersion, dialect::managed::ManagedService};

use crate::{
    Error, Server, Side,
    accounts::AccountPlan,
    copy_method::{CopyMethod, cascade_groups},
    encryption::{self, TableEncryption},
    fencing::described,
    preflight::{self, Area, Effect, Facts, Judged, Link, Remedy, Request, ServerFacts, Support, quoted_account},
};

/// Identifier of the JSON schema.
pub const SCHEMA: &str = "sealant.migrate/1";

/// A plan, with the fields of every report of a migration. Fields that only a run can fill are `None`.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Identifier of the run.
    pub run: Option<String>,
    /// The server whose tables are moved.
    pub source: ServerSummary,
    /// The server that receives them.
    pub target: ServerSummary,
    /// Both connections.
    pub links: Vec<Link>,
    /// `sql`, or `None` if no method is known for this pair.
    pub way: Option<&'static str>,
    /// A faster way that needs both data directories.
    pub alternative: Option<String>,
    /// All checks; a check with several findings is listed once for each finding.
    pub checks: Vec<CheckResult>,
    /// Encryption of each table at both ends.
    pub encryption: Vec<TableEncryption>,
    /// Each table, the largest first.
    pub tables: Vec<TablePlan>,
    /// What becomes of each account of the source; empty unless they are to be created.
    pub accounts: Vec<AccountPlan>,
    /// The ways to stop writes in the cut-over; empty for an unsupported pair.
    pub fences: Vec<FencePlan>,
    /// The grants that both accounts need.
    pub grants: Vec<GrantResult>,
    /// How the target follows the source. Only a run can fill it.
    pub follow: Option<()>,
    /// Steps of the cut-over. Only a run can fill it.
    pub cutover: Option<()>,
    /// File that lists the statements that changed something.
    pub statements_log: Option<String>,
    /// Whether the goal is reached; for a plan, whether nothing blocks the migration.
    pub done: bool,
}

/// A server, as reports show it.
#[derive(Clone, Debug, Serialize)]
pub struct ServerSummary {
    /// Address or socket.
    pub endpoint: String,
    /// Fork and version: `MySQL 9.7.4`.
    pub version: String,
    /// `@@server_uuid`.
    pub uuid: Option<String>,
    /// `@@hostname`.
    pub hostname: String,
    /// The account: `mig@%`.
    pub account: String,
}

/// A finding of a check, or a check that passed.
#[derive(Clone, Debug, Serialize)]
pub struct CheckResult {
    /// Identifier of the check, such as `link.tls`.
    pub id: &'static str,
    /// What the check judges.
    pub area: Area,
    /// The statement that is true if the check passes.
    pub title: &'static str,
    /// Result of the check.
    pub result: CheckState,
    /// What a finding does to a migration.
    #[serde(rename = "severity")]
    pub effect: Option<Effect>,
    /// The server, table or account that the finding is about.
    pub object: String,
    /// What was seen, and why it matters.
    pub evidence: String,
    /// What to do.
    pub remedy: Option<Remedy>,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// Nothing was found.
    Pass,
    /// Something was found.
    Found,
    /// The check could not judge.
    Unknown,
    /// The check was not run, because another finding comes first.
    NotJudged,
}

/// A table of the plan.
#[derive(Clone, Debug, Serialize)]
pub struct TablePlan {
    /// `schema.table`.
    pub name: String,
    /// How it is kept consistent while it is copied.
    #[serde(rename = "lane")]
    pub method: CopyMethod,
    /// Number of rows, as the server estimates it.
    pub rows: u64,
    /// Bytes with indexes, as the server estimates them.
    pub bytes: u64,
    /// Number of chunks that were copied.
    pub chunks: Option<u64>,
    /// Rows that the target sent back to be compared.
    pub read_back: Option<u64>,
    /// Rows that were compared after their last change.
    pub verified: Option<u64>,
    /// Rows that differ.
    pub divergences: Option<u64>,
}

/// A way to stop writes in the cut-over.
#[derive(Clone, Debug, Serialize)]
pub struct FencePlan {
    /// Its name for `--fence`.
    pub name: &'static str,
    /// What it guarantees.
    pub guarantees: &'static str,
    /// What it does not guarantee.
    pub lacks: &'static str,
    /// The grants that the account at the source lacks for it.
    pub missing: Vec<String>,
}

/// A grant that an account needs.
#[derive(Clone, Debug, Serialize)]
pub struct GrantResult {
    /// The account's server.
    pub side: Side,
    /// The `GRANT` statement.
    pub statement: String,
    /// Whether the account has the privileges already.
    pub held: bool,
}

/// Whether a run may begin, according to the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Nothing blocks the run.
    Ready,
    /// Something blocks the run.
    Blocked,
    /// Something necessary could not be judged.
    Unknown,
}

/// Makes the plan. Nothing is changed on either server.
///
/// # Errors
/// [`Error::Server`].
pub fn plan(source: &Server, target: &Server, request: Request) -> Result<Plan, Error> {
    Ok(judge(&Facts::read(source, target, request)?))
}

/// The plan that follows from the facts.
#[must_use]
pub fn judge(facts: &Facts) -> Plan {
    let supported = facts.support() == Support::Yes;
    let mut plan = Plan {
        schema: SCHEMA,
        run: None,
        source: server(&facts.source),
        target: server(&facts.target),
        links: facts.servers().map(|server| server.link.clone()).to_vec(),
        way: supported.then_some("sql"),
        alternative: physical(facts),
        checks: preflight::judge(facts).iter().flat_map(results).collect(),
        encryption: Vec::new(),
        tables: Vec::new(),
        accounts: facts.accounts(|accounts, moved| accounts.plans(moved)).unwrap_or_default(),
        fences: if supported { fences(facts) } else { Vec::new() },
        grants: if supported { grants(facts) } else { Vec::new() },
        follow: None,
        cutover: None,
        statements_log: None,
        done: false,
    };
    if let Some(tables) = &facts.tables {
        plan.encryption = encryption::planned(&tables.source, facts.request.encrypt, &facts.storage);
        plan.tables = table_plans(facts, &tables.source);
    }
    plan.done = plan.readiness() == Readiness::Ready;
    plan
}

impl Plan {
    /// Says whether a run may begin.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        let blocks = |state| {
            let is = |check: &&CheckResult| check.effect == Some(Effect::Block) && check.result == state;
            self.checks.iter().any(|check| is(&check))
        };
        match (blocks(CheckState::Found), blocks(CheckState::Unknown)) {
            (true, _) => Readiness::Blocked,
            (false, true) => Readiness::Unknown,
            (false, false) => Readiness::Ready,
        }
    }
}

fn server(server: &ServerFacts) -> ServerSummary {
    ServerSummary {
        endpoint: server.endpoint.clone(),
        version: server.identity.version.to_string(),
        uuid: server.identity.server_uuid.clone(),
        hostname: server.identity.hostname.clone(),
        account: server.account.clone(),
    }
}

/// The faster method, if the source's files could be copied to the target instead of its rows.
fn physical(facts: &Facts) -> Option<String> {
    let (source, target) = (&facts.source.identity.version, &facts.target.identity.version);
    let series = |version: &ServerVersion| (version.major, version.minor);
    let upgrade = match series(source) == series(target) {
        true => "",
        false => "; the target upgrades them when it starts",
    };
    let fits =
        facts.support() == Support::Yes && (upgrade.is_empty() || upgrades_files(series(source), series(target)));
    fits.then(|| {
        format!(
            "if both data directories can be reached, `sealant send --live` and `sealant receive \
             --rekey`, or `sealant backup` and `sealant restore`, move whole files about eight times as fast{upgrade}; `sealant provision` then makes the target a \
             replica"
        )
    })
}

/// Whether one release series of MySQL starts on the files of another. Source: MySQL manual, "Upgrade Paths": up to the
/// next long-term series, and within a series to any later release.
fn upgrades_files(source: (u16, u16), target: (u16, u16)) -> bool {
    match source {
        (5, 7) => target == (8, 0),
        (8, 0) => target == (8, 4),
        (8, 1..=4) => (8, 4) >= target || target.0 == 9,
        _ => source.0 == target.0,
    }
}

fn results(judged: &Judged) -> Vec<CheckResult> {
    let check = judged.check;
    let state = |result| CheckResult {
        id: check.id,
        area: check.area,
        title: check.title,
        result,
        effect: None,
        object: String::new(),
        evidence: String::new(),
        remedy: None,
    };
    let Some(findings) = &judged.findings else { return vec![state(CheckState::NotJudged)] };
    if findings.is_empty() {
        return vec![state(CheckState::Pass)];
    }
    findings
        .iter()
        .map(|finding| CheckResult {
            effect: Some(finding.effect),
            object: finding.object.clone(),
            evidence: finding.evidence.clone(),
            remedy: finding.remedy.clone(),
            ..state(if finding.unknown { CheckState::Unknown } else { CheckState::Found })
        })
        .collect()
}

fn grants(facts: &Facts) -> Vec<GrantResult> {
    let result = |grant: preflight::Grant| {
        let server = facts.server(grant.side);
        let statement = grant.statement(&server.grants, &grant.privileges, &quoted_account(&server.account));
        GrantResult { side: grant.side, statement, held: server.holds(&grant) }
    };
    facts.required_grants().into_iter().map(result).collect()
}

fn fences(facts: &Facts) -> Vec<FencePlan> {
    let source = &facts.source;
    let account = quoted_account(&source.account);
    let missing = |grant: preflight::Grant| {
        let missing = grant.missing(&source.grants);
        (!missing.is_empty()).then(|| grant.statement(&source.grants, &missing, &account))
    };
    let (version, kill_procedure) = (&source.identity.version, source.service.and_then(ManagedService::kill_procedure));
    let described = described(version, kill_procedure.is_some());
    let fence = described.into_iter().map(|fence| FencePlan {
        name: fence.name,
        guarantees: fence.guarantees,
        lacks: fence.lacks,
        missing: preflight::fence(version, kill_procedure, fence.name).into_iter().filter_map(missing).collect(),
    });
    fence.collect()
}

fn table_plans(facts: &Facts, source: &crate::catalog::Catalog) -> Vec<TablePlan> {
    let groups = cascade_groups(source, facts.source.logs_cascades());
    let mut plans: Vec<TablePlan> = source
        .tables
        .iter()
        .map(|table| TablePlan {
            name: table.label(),
            method: CopyMethod::of(table, &groups),
            rows: table.rows,
            bytes: table.bytes,
            chunks: None,
            read_back: None,
            verified: None,
            divergences: None,
        })
        .collect();
    plans.sort_by(|one, other| (other.bytes, &one.name).cmp(&(one.bytes, &other.name)));
    plans
}

#[cfg(test)]
mod tests {
    use server::{Grants, VersionHints};

    use super::*;
    use crate::preflight::testing::{facts, with};

    #[test]
    fn a_plan_without_findings_is_done() {
        let plan = judge(&facts());
        assert!(plan.done && plan.readiness() == Readiness::Ready);
        assert!(plan.grants.iter().all(|grant| grant.held));
        assert!(plan.alternative.is_some());
    }

    #[test]
    fn a_block_counts_more_than_what_is_unknown() {
        let mut facts = with(Side::Source, "binlog_format", "MIXED");
        facts.source.grants = Grants::default();
        assert_eq!(judge(&facts).readiness(), Readiness::Blocked);
        facts.source.variables.insert("binlog_format".to_owned(), "ROW".to_owned());
        let plan = judge(&facts);
        assert_eq!((plan.readiness(), plan.done), (Readiness::Unknown, false));
    }

    #[test]
    fn files_are_moved_only_where_they_can_be_upgraded() {
        for (source, target, fits) in [
            ("8.0.36", "8.0.40", true),
            ("5.7.22", "8.0.36", true),
            ("5.7.22", "9.7.4", false),
            ("8.0.36", "9.7.4", false),
            ("8.4.5", "9.7.4", true),
            ("9.1.0", "9.7.4", true),
        ] {
            let mut facts = facts();
            let version = |text| ServerVersion::parse(text, VersionHints::default()).unwrap();
            (facts.source.identity.version, facts.target.identity.version) = (version(source), version(target));
            assert_eq!(physical(&facts).is_some(), fits, "{source} to {target}");
        }
    }

    #[test]
    fn an_unsupported_pair_gets_no_findings_about_its_settings() {
        let mut facts = with(Side::Source, "binlog_format", "MIXED");
        facts.source.identity.version.flavor = server::Flavor::MariaDb;
        let plan = judge(&facts);
        let found: Vec<&str> =
            plan.checks.iter().filter(|check| check.result == CheckState::Found).map(|check| check.id).collect();
        assert_eq!((found.as_slice(), plan.way), (["pair.supported"].as_slice(), None));
    }
}
