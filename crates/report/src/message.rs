//! Human-readable lines that accompany a report: results, warnings and next steps.

/// A human-readable line. The caller decides where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// What was done.
    Info(String),
    /// Something to know that is not an error.
    Warning(String),
    /// A fault that does not end the run.
    Error(String),
    /// The next step.
    Hint(String),
    /// Lines to be copied into a terminal.
    Lines(String),
}

impl Message {
    pub(crate) fn info(text: impl Into<String>) -> Self {
        Self::Info(text.into())
    }

    pub(crate) fn warning(text: impl Into<String>) -> Self {
        Self::Warning(text.into())
    }

    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self::Error(text.into())
    }

    pub(crate) fn hint(text: impl Into<String>) -> Self {
        Self::Hint(text.into())
    }

    pub(crate) fn lines(text: impl Into<String>) -> Self {
        Self::Lines(text.into())
    }
}
