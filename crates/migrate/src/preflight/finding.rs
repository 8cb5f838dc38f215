//! What a check found, how much it matters, and what to do.

use findings::Action;
use serde::Serialize;
use server::dialect::{
    managed::ManagedService,
    setting::{is_set_at_start, setting},
};

use super::ServerFacts;
use crate::Side;

/// What a finding does to a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The migration cannot begin.
    Block,
    /// The migration begins only after the user agrees.
    Ask,
    /// The user should know, but the migration may begin.
    Tell,
}

/// Something that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it does to a migration.
    pub effect: Effect,
    /// Whether the check could not judge, rather than found something wrong.
    pub unknown: bool,
    /// The server, table or account that the finding is about.
    pub object: String,
    /// What was seen, and why it matters.
    pub evidence: String,
    /// What to do.
    pub remedy: Option<Remedy>,
}

/// What the user can do about a finding. In JSON every remedy has a `text`, whatever its `kind`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "RemedyRecord")]
pub struct Remedy {
    /// What to do.
    pub action: Action,
    /// The server that a statement is for.
    pub side: Option<Side>,
}

impl Finding {
    pub(super) fn block(object: impl ToString, evidence: impl Into<String>) -> Self {
        Self {
            effect: Effect::Block,
            unknown: false,
            object: object.to_string(),
            evidence: evidence.into(),
            remedy: None,
        }
    }

    pub(super) fn ask(object: impl ToString, evidence: impl Into<String>) -> Self {
        Self { effect: Effect::Ask, ..Self::block(object, evidence) }
    }

    pub(super) fn tell(object: impl ToString, evidence: impl Into<String>) -> Self {
        Self { effect: Effect::Tell, ..Self::block(object, evidence) }
    }

    /// A blocking finding, because the check could not judge.
    pub(super) fn unknown(object: impl ToString, evidence: impl Into<String>) -> Self {
        Self { unknown: true, ..Self::block(object, evidence) }
    }

    pub(super) fn run(self, side: Side, statement: impl Into<String>) -> Self {
        self.close_by(Action::Statement { sql: statement.into() }, Some(side))
    }

    /// Adds the remedy to set a global variable of a server; permanently if its version can.
    pub(super) fn set(self, server: &ServerFacts, variable: &str, value: &str) -> Self {
        if let Some(service) = server.service {
            return self.set_by_service(server, service, variable, value);
        }
        if is_set_at_start(server.identity.version.flavor, variable) {
            let side = server.side;
            return self.advice(format!("set {variable} = {value} in the option file of the {side}, and restart it"));
        }
        let setting = setting(&server.identity.version, variable, value);
        match setting.line {
            None => self.run(server.side, setting.statement),
            Some(line) => {
                let side = server.side;
                self.advice(format!("{} at the {side}, and {line} in its option file", setting.statement))
            }
        }
    }

    /// As [`Self::set`], until the server is restarted.
    pub(super) fn set_now(self, server: &ServerFacts, variable: &str, value: &str) -> Self {
        match server.service {
            Some(service) => self.set_by_service(server, service, variable, value),
            None => self.run(server.side, format!("SET GLOBAL {variable} = {value}")),
        }
    }

    /// A managed service lets no account set global variables.
    fn set_by_service(self, server: &ServerFacts, service: ManagedService, variable: &str, value: &str) -> Self {
        let (settings, value) = (service.settings(), value.trim_matches('\''));
        self.advice(format!("set {variable} = {value} in {settings} of the {}", server.side))
    }

    pub(super) fn option(self, option: impl Into<String>) -> Self {
        self.close_by(Action::Option { option: option.into() }, None)
    }

    pub(super) fn advice(self, sentence: impl Into<String>) -> Self {
        self.close_by(Action::Advice { text: sentence.into() }, None)
    }

    fn close_by(self, action: Action, side: Option<Side>) -> Self {
        Self { remedy: Some(Remedy { action, side }), ..self }
    }
}

/// A remedy, as JSON represents it.
#[derive(Serialize)]
struct RemedyRecord {
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    side: Option<Side>,
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Statement,
    Option,
    Advice,
}

impl From<Remedy> for RemedyRecord {
    fn from(remedy: Remedy) -> Self {
        let kind = match remedy.action {
            Action::Statement { .. } => Kind::Statement,
            Action::Option { .. } => Kind::Option,
            Action::Command { .. }
            | Action::OptionFile { .. }
            | Action::Restart
            | Action::Advice { .. }
            | Action::Note { .. } => Kind::Advice,
        };
        Self { kind, side: remedy.side, text: remedy.action.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_remedy_has_a_kind_and_a_text() {
        let json = |finding: Finding| serde_json::to_string(&finding.remedy).unwrap();
        let found = || Finding::block("s.t", "it is wrong");
        assert_eq!(json(found().run(Side::Target, "SET x")), r#"{"kind":"statement","side":"target","text":"SET x"}"#);
        assert_eq!(json(found().option("--min-tls 1.2")), r#"{"kind":"option","text":"--min-tls 1.2"}"#);
        assert_eq!(json(found().advice("wait")), r#"{"kind":"advice","text":"wait"}"#);
        assert_eq!(json(found()), "null");
    }
}
