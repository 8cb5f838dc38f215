//! The checks before a migration begins. They change nothing on either server.
//!
//! [`Facts::read`] does all input and output. A check is a pure function from facts to findings; it has its own file
//! and a line in [`CHECKS`].

mod checks;
mod facts;
mod finding;
mod grants;
mod json;
mod link;
mod pairs;
#[cfg(test)]
pub(crate) mod testing;

pub use self::{
    checks::CHECKS,
    facts::{Facts, Request, ServerFacts, Tables},
    finding::{Effect, Finding, Remedy},
    grants::{Grant, Scope, quoted_account, required},
    json::{JsonColumn, JsonScalars},
    link::{Link, Transport, Verification},
    pairs::Support,
};
pub(crate) use self::{
    checks::{ENCRYPTION_STORAGE, LOGS_REPLICATED, ROW_SETTINGS, written_in_clear},
    grants::{cut_over, fallback, fence},
    pairs::{NATIVE_FOREIGN_KEYS, logs_cascades},
};

/// What a check judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Area {
    /// The connections.
    Link,
    /// The two servers together.
    Pair,
    /// Privileges of both accounts.
    Grants,
    /// The source's binary log.
    Log,
    /// The server that receives the tables.
    Target,
    /// The tables.
    Tables,
    /// Views, routines, triggers and events.
    Code,
    /// Accounts and roles.
    Accounts,
    /// Server settings that programs may notice.
    Server,
    /// Encryption at rest.
    Encryption,
}

/// A check of the preflight.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Area and name, such as `link.tls`.
    pub id: &'static str,
    /// What it judges.
    pub area: Area,
    /// The statement that is true if the check passes.
    pub title: &'static str,
    /// The function that judges.
    pub judge: Judge,
}

/// Functions that judge, by the facts that they need.
#[derive(Clone, Copy, Debug)]
pub enum Judge {
    /// Needs only facts about the servers and accounts.
    Servers(fn(&Facts) -> Vec<Finding>),
    /// Also needs facts that only an account with the necessary privileges can see.
    Tables(fn(&Facts, &Tables) -> Vec<Finding>),
}

/// Result of a check.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The check.
    pub check: &'static Check,
    /// Its findings, empty if it passed. `None` if it could not judge: the facts are missing, or the pair is not
    /// supported.
    pub findings: Option<Vec<Finding>>,
}

/// Runs all checks. For an unsupported pair, only the links are judged, because its requirements are unknown.
#[must_use]
pub fn judge(facts: &Facts) -> Vec<Judged> {
    let supported = facts.support() == Support::Yes;
    let judged = |check: &'static Check| {
        let findings = match check.judge {
            _ if !supported && !matches!(check.area, Area::Link | Area::Pair) => None,
            Judge::Servers(judge) => Some(judge(facts)),
            Judge::Tables(judge) => facts.tables.as_ref().map(|tables| judge(facts, tables)),
        };
        Judged { check, findings }
    };
    CHECKS.iter().map(judged).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_begin_with_their_area() {
        let ids: BTreeSet<&str> = CHECKS.iter().map(|check| check.id).collect();
        assert_eq!(ids.len(), CHECKS.len());
        for check in CHECKS {
            let area = format!("{:?}.", check.area).to_lowercase();
            assert!(check.id.starts_with(&area), "{}", check.id);
        }
    }

    #[test]
    fn nothing_is_found_where_nothing_is_wrong() {
        for judged in judge(&testing::facts()) {
            assert_eq!(judged.findings, Some(Vec::new()), "{}", judged.check.id);
        }
    }
}
