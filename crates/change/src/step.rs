//! Steps of a plan, and what became of them.

use serde::Serialize;

/// What clients notice of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blocks {
    /// Nothing.
    Nothing,
    /// A metadata lock for a moment, for which running transactions on the table are waited for.
    Moment,
    /// Writes to the table for as long as it is copied.
    Writes,
}

impl Blocks {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Moment => "a moment",
            Self::Writes => "writes to it",
        }
    }
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step<Action> {
    /// Its name, the same in every plan for the same thing.
    pub id: String,
    /// What it does, for people.
    pub what: String,
    /// What clients notice.
    pub blocks: Blocks,
    /// Bytes that are written anew.
    pub bytes: u64,
    /// How it is done.
    #[serde(skip)]
    pub action: Action,
}

impl<Action> Step<Action> {
    /// A step that clients do not notice and that writes nothing anew.
    pub(crate) fn quiet(id: &str, what: &str, action: Action) -> Self {
        Self { id: id.to_owned(), what: what.to_owned(), blocks: Blocks::Nothing, bytes: 0, action }
    }

    /// The step with what became of it.
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

/// What became of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Outcome {
    /// It would be done.
    Planned,
    /// It was done.
    Done,
    /// It was left out, and why.
    Skipped {
        /// Why.
        reason: String,
    },
    /// It failed, and why.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A step of a run.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    /// [`Step::id`].
    pub step: String,
    /// [`Step::what`].
    pub what: String,
    /// [`Step::blocks`].
    pub blocks: Blocks,
    /// [`Step::bytes`].
    pub bytes: u64,
    /// Statements it consists of, or consisted of.
    pub statements: Vec<String>,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// How long it took.
    pub seconds: f64,
}
