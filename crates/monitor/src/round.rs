//! One round of one server: collect its facts, add what the last full round knows, and judge.

use std::io;

use audit::facts::Facts;
use audit::fleet::Member;
use audit::outcome::{Outcome, Server};
use audit::rules::Rules;
use audit::run::judge;
use jiff::Timestamp;
use server::login::{Login, Prompt};
use zeroize::Zeroizing;

use crate::Config;
use crate::schedule::Scope;
use crate::state::{StateDir, Stored};

/// Nobody can be asked for a password.
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

/// Collects the facts about a server, and combines them with those of the last full round.
///
/// # Errors
/// Why the server could not be audited, in one line.
pub(crate) fn collect(
    config: &Config,
    member: &Member,
    scope: Scope,
    state: &StateDir,
    warn: &dyn Fn(&str),
) -> Result<Stored, String> {
    let name = member.label();
    let collected = member.facts(&config.source(scope), &Login::default(), &NoPrompt, &|odd| warn(&odd.to_string()));
    let mut facts = collected.map_err(|error| one_line(&error.to_string()))?;
    facts.target.clone_from(&name);
    if scope == Scope::Full {
        return Ok(Stored { full_at: Some(facts.collected_at), facts });
    }
    Ok(match state.load(&name) {
        Some(last) => Stored { full_at: last.full_at, facts: facts.with_files_of(last.facts) },
        None => Stored { full_at: None, facts },
    })
}

/// The judgement of a server's facts now.
pub(crate) fn outcome(facts: &Facts, rules: &Rules) -> Outcome {
    judge(facts, rules, Timestamp::now())
}

/// The outcome of a server about which nothing is known but that it could not be audited.
pub(crate) fn failed(name: &str, reason: &str) -> Outcome {
    let mut outcome = Outcome::empty(Timestamp::now());
    outcome.servers.push(Server::failed(name, reason));
    outcome.finish();
    outcome
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}
