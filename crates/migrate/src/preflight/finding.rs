//! What a check found, how much it matters, and what to do.

use findings::Action;
use serde::{Serialize, Serializer, ser::SerializeStruct};
use server::dialect::setting::setting;

use super::ServerFacts;
use crate::Side;

/// What a finding does to a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It cannot begin.
    Block,
    /// It begins only after the user agreed.
    Ask,
    /// The user should know.
    Tell,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it does to a migration.
    pub effect: Effect,
    /// Whether something could not be judged, rather than judged to be wrong.
    pub unknown: bool,
    /// The server, table or account that it is about.
    pub object: String,
    /// What was seen, and why it matters.
    pub evidence: String,
    /// What to do.
    pub remedy: Option<Remedy>,
}

/// What closes a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// Blocks, because nobody knows.
    pub(super) fn unknown(object: impl ToString, evidence: impl Into<String>) -> Self {
        Self { unknown: true, ..Self::block(object, evidence) }
    }

    pub(super) fn run(self, side: Side, statement: impl Into<String>) -> Self {
        self.close_by(Action::Statement { sql: statement.into() }, Some(side))
    }

    /// Sets a global variable of a server, for good if its version can.
    pub(super) fn set(self, server: &ServerFacts, variable: &str, value: &str) -> Self {
        let setting = setting(&server.identity.version, variable, value);
        match setting.line {
            None => self.run(server.side, setting.statement),
            Some(line) => {
                let side = server.side;
                self.advice(format!("{} at the {side}, and {line} in its option file", setting.statement))
            }
        }
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

/// In JSON every remedy has a `text`, whatever its `kind`.
impl Serialize for Remedy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = match &self.action {
            Action::Statement { .. } => "statement",
            Action::Option { .. } => "option",
            _ => "advice",
        };
        let mut remedy = serializer.serialize_struct("Remedy", 3)?;
        remedy.serialize_field("kind", kind)?;
        match &self.side {
            Some(side) => remedy.serialize_field("side", side)?,
            None => remedy.skip_field("side")?,
        }
        remedy.serialize_field("text", &self.action.to_string())?;
        remedy.end()
    }
}
