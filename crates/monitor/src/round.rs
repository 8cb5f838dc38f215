//! One round of one server: collect its facts, judge them, and combine what light and full rounds found.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use std::{io, iter};

use audit::coverage::DataState;
use audit::facts::Facts;
use audit::finding::{EvidenceGrade, Finding, Status};
use audit::fleet::Member;
use audit::outcome::{Outcome, Server};
use audit::rules::Rules;
use audit::run::judge;
use findings::Severity;
use jiff::Timestamp;
use server::login::{Login, Prompt};
use zeroize::Zeroizing;

use crate::packed::Packed;
use crate::schedule::Scope;
use crate::{Config, Measurements};

/// A monitor has no terminal, so nobody can be asked for a password.
struct NoPrompt;

impl Prompt for NoPrompt {
    fn is_possible(&self) -> bool {
        false
    }

    fn password(&self, _: &str) -> io::Result<Zeroizing<String>> {
        Err(io::Error::other(
            "nobody can be asked for a password: give password-file or defaults-file in the fleet file",
        ))
    }
}

/// The facts that a round collected, and what it found; or why the server could not be audited, in one line.
pub(crate) type RoundResult = Result<(Facts, Round), String>;

/// Result of a round that ended without one.
const INTERNAL_ERROR: &str = "the audit ended with an internal error";

/// Waits for the result of a round in another thread. `None` if it has not ended within the time limit.
pub(crate) fn wait(results: &Receiver<RoundResult>, limit: Duration) -> Option<RoundResult> {
    match results.recv_timeout(limit) {
        Ok(result) => Some(result),
        Err(RecvTimeoutError::Disconnected) => Some(Err(INTERNAL_ERROR.to_owned())),
        Err(RecvTimeoutError::Timeout) => None,
    }
}

/// The error of a round that exceeded its time limit.
pub(crate) fn timed_out(scope: Scope, limit: Duration) -> String {
    format!("the {} round did not end within {} s", scope.as_str(), limit.as_secs())
}

/// Results of a round.
pub(crate) struct Round {
    pub(crate) scope: Scope,
    pub(crate) outcome: Outcome,
    pub(crate) measurements: Measurements,
    /// Ids of the checks whose findings are different without files and host. Empty for a light round.
    from_files: BTreeSet<String>,
}

/// The last full round of a server, as it is kept until the next one.
pub(crate) struct FullRound {
    outcome: Packed,
    from_files: BTreeSet<String>,
}

impl FullRound {
    pub(crate) fn new(round: &Round) -> Self {
        Self { outcome: Packed::new(&round.outcome), from_files: round.from_files.clone() }
    }

    /// The round, without its measurements.
    pub(crate) fn round(&self) -> Round {
        Round {
            scope: Scope::Full,
            outcome: self.outcome.unpack(),
            measurements: Measurements::default(),
            from_files: self.from_files.clone(),
        }
    }
}

impl Round {
    /// Collects the facts about a server, and judges them.
    ///
    /// # Errors
    /// Why the server could not be audited, in one line.
    pub(crate) fn run(
        config: &Config,
        rules: &Rules,
        member: &Member,
        scope: Scope,
        warn: &dyn Fn(&str),
    ) -> RoundResult {
        let audited = AssertUnwindSafe(|| {
            let facts = collect(config, member, scope, warn)?;
            let round = Self::of_facts(&facts, rules, scope);
            Ok((facts, round))
        });
        // A defect in the audit of one server must not end the monitor of the others.
        catch_unwind(audited).unwrap_or_else(|_| Err(INTERNAL_ERROR.to_owned()))
    }

    /// Judges the facts of a round.
    pub(crate) fn of_facts(facts: &Facts, rules: &Rules, scope: Scope) -> Self {
        let now = Timestamp::now();
        let outcome = judge(facts, rules, now);
        let from_files = match scope {
            Scope::Light => BTreeSet::new(),
            Scope::Full => differing(&outcome, &judge(&facts.without_files(), rules, now)),
        };
        Self { scope, outcome, measurements: Measurements::new(facts), from_files }
    }

    /// Whether both rounds audited the same server: a name may belong to another server by now.
    pub(crate) fn is_same_server(&self, other: &Self) -> bool {
        let id =
            |round: &Self| round.outcome.servers.iter().map(|server| server.server_uuid.clone()).collect::<Vec<_>>();
        let datadir =
            |round: &Self| round.outcome.servers.iter().map(|server| server.datadir.clone()).collect::<Vec<_>>();
        id(self) == id(other) && datadir(self) == datadir(other)
    }
}

/// Combines the findings of a light round with those of the last full round, from the checks that need files or host.
/// Facts of two rounds are never judged together: a table may have been rebuilt in between.
pub(crate) fn combined(full: &Round, light: &Round) -> Outcome {
    let mut outcome = Outcome::empty(light.outcome.judged_at);
    let from_files = |finding: &&Finding| full.from_files.contains(&finding.id);
    let current = light.outcome.findings.iter().filter(|finding| !from_files(finding));
    outcome.findings = current.chain(full.outcome.findings.iter().filter(from_files)).cloned().collect();
    let at_rest = full.outcome.coverage.iter().filter(|row| row.location == DataState::AtRest);
    let in_flight = light.outcome.coverage.iter().filter(|row| row.location == DataState::InFlight);
    outcome.coverage = at_rest.chain(in_flight).cloned().collect();
    outcome.servers = iter::zip(&light.outcome.servers, &full.outcome.servers)
        .map(|(light, full)| {
            let gaps = full.gaps.iter().filter(|gap| !light.gaps.contains(gap));
            let gaps = light.gaps.iter().chain(gaps).cloned().collect();
            Server { gaps, scope: full.scope, ..light.clone() }
        })
        .collect();
    outcome.finish();
    outcome
}

/// Ids of the checks whose findings differ.
fn differing(with: &Outcome, without: &Outcome) -> BTreeSet<String> {
    let (with, without) = (keys(with), keys(without));
    with.symmetric_difference(&without).map(|(id, ..)| (*id).to_owned()).collect()
}

/// The parts of a finding that are compared: all except message, evidence and remedy.
type Key<'f> = (&'f str, &'f str, Status, Severity, Option<EvidenceGrade>);

fn keys(outcome: &Outcome) -> BTreeSet<Key<'_>> {
    outcome.findings.iter().map(|f| (f.id.as_str(), f.artefact.as_str(), f.status, f.severity, f.grade)).collect()
}

fn collect(config: &Config, member: &Member, scope: Scope, warn: &dyn Fn(&str)) -> Result<Facts, String> {
    let login = Login::default();
    let collected = member.facts(&config.source(scope), &login, &NoPrompt, &|odd| warn(&odd.to_string()));
    let mut facts = collected.map_err(|error| error.one_line())?;
    facts.target = member.label();
    Ok(facts)
}
