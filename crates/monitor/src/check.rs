//! One round for monitoring systems that run plug-ins (Nagios, Icinga, cron).

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::thread;

use audit::finding::Status;
use audit::fleet::Member;
use audit::outcome::Outcome;
use audit::rules::Rules;
use findings::Severity;
use jiff::Timestamp;

use crate::config::Thresholds;
use crate::round::{Round, combined, timed_out, wait};
use crate::schedule::Scope;
use crate::state::StateDir;
use crate::{Config, Error};

/// The level of a check, as defined for monitoring plug-ins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing is wrong.
    Ok,
    /// A failure reaches `warning`.
    Warning,
    /// A server could not be audited, so that nothing is known about it now.
    Unknown,
    /// A failure reaches `critical`.
    Critical,
}

/// The result of a round of all servers.
#[derive(Debug)]
pub struct Check {
    /// The worst level.
    pub level: Level,
    /// Servers, findings and totals.
    pub outcome: Outcome,
}

impl Check {
    fn new(outcome: Outcome, thresholds: Thresholds) -> Self {
        let worst = outcome.summary.worst;
        let reaches = |severity: Severity| worst.is_some_and(|worst| worst >= severity);
        let level = if reaches(thresholds.critical) {
            Level::Critical
        } else if outcome.summary.unreachable > 0 {
            Level::Unknown
        } else if reaches(thresholds.warning) || outcome.summary.bad_waivers > 0 {
            Level::Warning
        } else {
            Level::Ok
        };
        Self { level, outcome }
    }

    /// Number of failures of a severity.
    #[must_use]
    pub fn failures(&self, severity: Severity) -> usize {
        let counts = |status, of| status == Status::Fail && of == severity;
        self.outcome.findings.iter().filter(|finding| counts(finding.status, finding.severity)).count()
    }
}

/// Audits all servers once, and stores nothing. Only a full check reads files and host. A light check takes the
/// findings about them from the last full round that a monitor has stored, if there is one.
///
/// # Errors
/// Errors of the configuration; [`Error::File`] if stored facts cannot be read. A server that cannot be audited is in
/// the result.
pub fn check_once(config: Config, scope: Scope, warn: impl Fn(&str) + Send + Sync + 'static) -> Result<Check, Error> {
    let (fleet, rules) = (config.fleet()?, Arc::new(config.rules()?));
    let state = StateDir::read_only(&config.state_directory);
    let full: BTreeMap<String, Option<Round>> = fleet
        .members()
        .iter()
        .map(|member| {
            let facts = state.load(&member.label(), Scope::Full)?;
            Ok((member.label(), facts.map(|facts| Round::of_facts(&facts, &rules, Scope::Full))))
        })
        .collect::<Result<_, Error>>()?;
    let (config, warn) = (Arc::new(config), Arc::new(warn));
    let outcomes = fleet.each(&|member| {
        let name = member.label();
        match limited(&config, &rules, member, scope, Arc::clone(&warn)) {
            Err(reason) => Outcome::failed(&name, &reason, Timestamp::now()),
            Ok(round) => match full.get(&name).and_then(Option::as_ref).filter(|full| full.is_same_server(&round)) {
                Some(full) if round.scope == Scope::Light => combined(full, &round),
                _ => round.outcome,
            },
        }
    });
    let mut outcome = Outcome::empty(Timestamp::now());
    outcome.absorb_all(outcomes);
    Ok(Check::new(outcome, config.check))
}

/// Does a round in a thread, within the time limit. A thread that exceeds the limit runs until the process ends.
fn limited(
    config: &Arc<Config>,
    rules: &Arc<Rules>,
    member: &Member,
    scope: Scope,
    warn: Arc<impl Fn(&str) + Send + Sync + 'static>,
) -> Result<Round, String> {
    let (sender, receiver) = mpsc::channel();
    let (limit, name) = (config.time_limit, member.label());
    let (config, rules, member) = (Arc::clone(config), Arc::clone(rules), member.clone());
    let scope = if member.is_recorded() { Scope::Full } else { scope };
    thread::spawn(move || {
        let warn = |text: &str| warn(&format!("{name}: {text}"));
        let _ = sender.send(Round::run(&config, &rules, &member, scope, &warn));
    });
    let (_, round) = wait(&receiver, limit).unwrap_or_else(|| Err(timed_out(scope, limit)))?;
    Ok(round)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(worst: Option<Severity>, unreachable: usize) -> Level {
        let mut outcome = Outcome::empty(Timestamp::UNIX_EPOCH);
        outcome.summary.worst = worst;
        outcome.summary.unreachable = unreachable;
        Check::new(outcome, Thresholds::default()).level
    }

    #[test]
    fn the_worst_level_counts() {
        assert_eq!(level(None, 0), Level::Ok);
        assert_eq!(level(Some(Severity::Low), 0), Level::Ok);
        assert_eq!(level(Some(Severity::Medium), 0), Level::Warning);
        assert_eq!(level(Some(Severity::Medium), 1), Level::Unknown);
        assert_eq!(level(Some(Severity::High), 1), Level::Critical);
        assert_eq!(level(Some(Severity::Critical), 0), Level::Critical);
    }
}
