//! Messages on stderr: `sealant: error: …` and, if there is a next step, `sealant: hint: …`.

use std::io::Write;

use report::Message;

/// Why a run ended early: a sentence and, if there is one, the next step.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The sentence: lower case, no full stop.
    pub(crate) error: String,
    /// The next step.
    pub(crate) hint: Option<String>,
    /// The exit code.
    pub(crate) exit: crate::exit::Exit,
}

impl Failure {
    /// The program could not do its work.
    pub(crate) fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), hint: None, exit: crate::exit::Exit::Failed }
    }

    /// The command line is wrong.
    pub(crate) fn usage(error: impl Into<String>) -> Self {
        Self { exit: crate::exit::Exit::Usage, ..Self::new(error) }
    }

    /// Adds the next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Writes the failure to stderr.
    pub(crate) fn print(&self) {
        error(&self.error);
        if let Some(hint) = &self.hint {
            self::hint(hint);
        }
    }
}

/// Writes messages to stderr, each with a prefix for its kind.
pub(crate) fn say(messages: &[Message]) {
    for message in messages {
        match message {
            Message::Info(text) => info(text),
            Message::Warning(text) => warning(text),
            Message::Error(text) => error(text),
            Message::Hint(text) => hint(text),
            Message::Lines(text) => text.lines().for_each(|line| whole_line(&one_line(line))),
        }
    }
}

/// Prints an error that does not end the run.
pub(crate) fn error(text: &str) {
    line("error", text);
}

/// Prints a warning: something that the user should know, but not an error.
pub(crate) fn warning(text: &str) {
    line("warning", text);
}

/// Prints a message of a long-running program.
pub(crate) fn info(text: &str) {
    whole_line(&format!("sealant: {}", one_line(text)));
}

/// Prints the next step.
pub(crate) fn hint(text: &str) {
    line("hint", text);
}

fn line(kind: &str, text: &str) {
    whole_line(&format!("sealant: {kind}: {}", one_line(text)));
}

/// Writes a line to stderr in a single write, because other programs may write to the same log. Ignores a closed
/// stderr.
pub(crate) fn whole_line(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Makes a message one line: text from servers or file names must not break or control the terminal.
pub(crate) fn one_line(text: &str) -> String {
    text.split('\n')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
        .replace(char::is_control, "?")
}
