//! Messages on stderr: `sealant: error: …` and, if there is a next step, `sealant: hint: …`.

use std::io::Write;

use report::Message;

/// Why a run ended early: one sentence and, perhaps, the next step.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The sentence, lower case, no full stop.
    pub(crate) error: String,
    /// The next step.
    pub(crate) hint: Option<String>,
    /// The code to end with.
    pub(crate) exit: crate::exit::Exit,
}

impl Failure {
    /// The tool could not do its work.
    pub(crate) fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), hint: None, exit: crate::exit::Exit::Failed }
    }

    /// The command line is wrong.
    pub(crate) fn usage(error: impl Into<String>) -> Self {
        Self { exit: crate::exit::Exit::Usage, ..Self::new(error) }
    }

    /// An error of what the command line names.
    pub(crate) fn bad_argument(error: impl Into<Self>) -> Self {
        Self { exit: crate::exit::Exit::Usage, ..error.into() }
    }

    /// The same with the next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Writes it to stderr.
    pub(crate) fn print(&self) {
        error(&self.error);
        if let Some(hint) = &self.hint {
            self::hint(hint);
        }
    }
}

/// Writes lines of a report for people to stderr.
pub(crate) fn say(messages: &[Message]) {
    for message in messages {
        match message {
            Message::Info(text) => info(text),
            Message::Warning(text) => warning(text),
            Message::Error(text) => error(text),
            Message::Hint(text) => hint(text),
        }
    }
}

/// An error that does not end the run.
pub(crate) fn error(text: &str) {
    line("error", text);
}

/// Something the user should know that is no error.
pub(crate) fn warning(text: &str) {
    line("warning", text);
}

/// What a program that runs for long has to say.
pub(crate) fn info(text: &str) {
    whole_line(&format!("sealant: {}", one_line(text)));
}

/// The next step.
pub(crate) fn hint(text: &str) {
    line("hint", text);
}

fn line(kind: &str, text: &str) {
    whole_line(&format!("sealant: {kind}: {}", one_line(text)));
}

/// Writes a line to stderr in one piece: other programs may write to the same log. Nothing can be done if it is closed.
pub(crate) fn whole_line(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Messages are one line each: what a server or a file name brings must not break or steer the terminal.
pub(crate) fn one_line(text: &str) -> String {
    text.split('\n')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
        .replace(char::is_control, "?")
}
