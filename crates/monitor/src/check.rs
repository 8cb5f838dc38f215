//! One round for monitoring systems that run plug-ins (Nagios, Icinga, cron).

use audit::finding::Status;
use audit::outcome::Outcome;
use findings::Severity;
use jiff::Timestamp;

use crate::config::Thresholds;
use crate::schedule::Scope;
use crate::state::StateDir;
use crate::{Config, Error, round};

/// The level of a check, as monitoring plug-ins have it.
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

/// Audits all servers once. Files and host are read in a full check only; otherwise the facts about them are those that
/// a running monitor has stored, if there is one. Nothing is stored.
///
/// # Errors
/// Errors of the configuration. A server that cannot be audited is in the result.
pub fn check_once(config: &Config, scope: Scope, warn: &(dyn Fn(&str) + Sync)) -> Result<Check, Error> {
    let (fleet, rules) = (config.fleet()?, config.rules()?);
    let state = StateDir::read_only(&config.state_directory);
    let outcomes = fleet.each(&|member| {
        let name = member.label();
        match round::collect(config, member, scope, &state, &|text| warn(&format!("{name}: {text}"))) {
            Ok(stored) => round::outcome(&stored.facts, &rules),
            Err(reason) => round::failed(&name, &reason),
        }
    });
    let mut outcome = Outcome::empty(Timestamp::now());
    outcome.absorb_all(outcomes);
    Ok(Check::new(outcome, config.check))
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
