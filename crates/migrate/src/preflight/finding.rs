//! What a check found, how much it matters, and what to do.

use serde::Serialize;
use server::dialect::setting::setting;

use super::ServerFacts;
use crate::Side;

/// What a finding does to a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
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
    pub severity: Severity,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Remedy {
    /// A statement to run.
    Statement {
        /// On which server.
        side: Side,
        /// Its text.
        text: String,
    },
    /// An option of this program.
    Option {
        /// The option.
        text: String,
    },
    /// Something else.
    Advice {
        /// A sentence.
        text: String,
    },
}

impl Finding {
    pub(super) fn block(object: impl ToString, evidence: impl Into<String>) -> Self {
        Self {
            severity: Severity::Block,
            unknown: false,
            object: object.to_string(),
            evidence: evidence.into(),
            remedy: None,
        }
    }

    pub(super) fn ask(object: impl ToString, evidence: impl Into<String>) -> Self {
        Self { severity: Severity::Ask, ..Self::block(object, evidence) }
    }

    pub(super) fn tell(object: impl ToString, evidence: impl Into<String>) -> Self {
        Self { severity: Severity::Tell, ..Self::block(object, evidence) }
    }

    /// Blocks, because nobody knows.
    pub(super) fn unknown(object: impl ToString, evidence: impl Into<String>) -> Self {
        Self { unknown: true, ..Self::block(object, evidence) }
    }

    pub(super) fn run(self, side: Side, statement: impl Into<String>) -> Self {
        Self { remedy: Some(Remedy::Statement { side, text: statement.into() }), ..self }
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
        Self { remedy: Some(Remedy::Option { text: option.into() }), ..self }
    }

    pub(super) fn advice(self, sentence: impl Into<String>) -> Self {
        Self { remedy: Some(Remedy::Advice { text: sentence.into() }), ..self }
    }
}
