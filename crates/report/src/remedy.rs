//! Content of a remedy's step, for every format: lines to paste and their destination, or a sentence to read.

use findings::Action;

/// Where the lines of a step belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// A client of the server.
    Sql,
    /// A shell on the server's host.
    Shell,
    /// The server's option file.
    OptionFile,
    /// None: the lines are for a person to read.
    Reader,
}

/// Lines of a step, not yet escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Where they belong.
    pub(crate) destination: Destination,
    /// One or more lines.
    pub(crate) lines: Vec<String>,
}

/// The lines that a step shows. A statement ends with its semicolon.
pub(crate) fn block(action: &Action) -> Block {
    let one = |destination, text: String| Block { destination, lines: vec![text] };
    match action {
        Action::Statement { sql } => one(Destination::Sql, format!("{};", sql.trim_end_matches(';'))),
        Action::Command { shell } => one(Destination::Shell, shell.clone()),
        Action::OptionFile { group, lines } => {
            let lines = std::iter::once(format!("[{group}]")).chain(lines.iter().cloned()).collect();
            Block { destination: Destination::OptionFile, lines }
        }
        Action::Restart => one(Destination::Reader, "restart the server".to_owned()),
        Action::Option { .. } | Action::Advice { .. } | Action::Note { .. } => {
            one(Destination::Reader, action.to_string())
        }
    }
}
