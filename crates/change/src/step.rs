//! Steps of a plan, and their outcomes.

use serde::Serialize;

/// How a step affects clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientImpact {
    /// Not at all.
    Nothing,
    /// A short metadata lock, which waits for running transactions on the table.
    Moment,
    /// Writes to the table wait while it is copied.
    Writes,
}

impl ClientImpact {
    /// Human-readable description.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Moment => "a moment",
            Self::Writes => "writes to it",
        }
    }
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step<A> {
    /// Stable identifier of the step.
    pub id: String,
    /// Human-readable description.
    pub what: String,
    /// How it affects clients.
    pub blocks: ClientImpact,
    /// Bytes that are rewritten.
    pub bytes: u64,
    /// The action.
    #[serde(skip)]
    pub action: A,
}

impl<A> Step<A> {
    /// A step that does not affect clients and rewrites nothing.
    pub(crate) fn quiet(id: &str, what: &str, action: A) -> Self {
        Self { id: id.to_owned(), what: what.to_owned(), blocks: ClientImpact::Nothing, bytes: 0, action }
    }

    /// A report of the step and its outcome.
    pub(crate) fn report(&self, statements: Vec<String>, outcome: Outcome, seconds: f64) -> StepReport {
        StepReport {
            step: self.id.clone(),
            what: self.what.clone(),
            blocks: self.blocks,
            bytes: self.bytes,
            statements,
            outcome,
            seconds,
        }
    }
}

/// Outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Outcome {
    /// Planned.
    Planned,
    /// Executed.
    Done,
    /// Skipped.
    Skipped {
        /// The reason.
        reason: String,
    },
    /// Failed.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// Report of a step.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    /// [`Step::id`].
    pub step: String,
    /// [`Step::what`].
    pub what: String,
    /// [`Step::blocks`].
    pub blocks: ClientImpact,
    /// [`Step::bytes`].
    pub bytes: u64,
    /// Its statements.
    pub statements: Vec<String>,
    /// Its outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Its duration.
    pub seconds: f64,
}
