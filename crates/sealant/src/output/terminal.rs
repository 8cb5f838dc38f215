//! What a terminal can show: colour, width, characters.

use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use report::{wrap_all_but_statements, wrap_lines};

/// Columns for output that is not a terminal.
const PAGE_COLUMNS: usize = 120;
/// Columns of a terminal that does not report its width.
const TERMINAL_COLUMNS: usize = 80;

/// The device that a report is written to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    /// Number of columns; `None` if it is not a terminal.
    columns: Option<usize>,
}

impl Terminal {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        Self::new(&io::stdout())
    }

    /// Standard error.
    pub(crate) fn stderr() -> Self {
        Self::new(&io::stderr())
    }

    /// A file.
    pub(crate) const fn file() -> Self {
        Self { columns: None }
    }

    fn new(stream: &(impl AsFd + IsTerminal)) -> Self {
        let size = || rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col));
        let columns = || size().filter(|columns| *columns > 0).unwrap_or(TERMINAL_COLUMNS);
        Self { columns: stream.is_terminal().then(columns) }
    }

    /// Whether it is a terminal that understands escape sequences.
    pub(crate) fn has_escapes(self) -> bool {
        self.columns.is_some() && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb")
    }

    /// Whether to use colour: escape sequences are understood, and `NO_COLOR` is not set.
    pub(crate) fn wants_color(self) -> bool {
        self.has_escapes() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }

    /// Number of columns to lay out text for.
    pub(crate) fn columns(self) -> usize {
        self.columns.unwrap_or(PAGE_COLUMNS)
    }

    /// The lines of `text`. On a terminal, lines that are too wide are wrapped.
    pub(crate) fn fit_lines(self, text: &str) -> Cow<'_, str> {
        self.columns.map_or(Cow::Borrowed(text), |columns| wrap_lines(text, columns).into())
    }

    /// Like [`Self::fit_lines`], but lines that are statements stay whole.
    pub(crate) fn fit_all_but_statements(self, text: &str) -> Cow<'_, str> {
        self.columns.map_or(Cow::Borrowed(text), |columns| wrap_all_but_statements(text, columns).into())
    }

    /// Whether the device may be limited to ASCII.
    pub(crate) fn is_ascii(self) -> bool {
        self.columns.is_some() && !is_utf8(|name| std::env::var(name).ok())
    }
}

/// Whether the locale is UTF-8. The first variable that is set decides, as in POSIX.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let mut set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).filter(|value| !value.is_empty());
    set.next().is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides() {
        let locale = |set: &'static [(&str, &str)]| {
            is_utf8(move |name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert!(locale(&[("LANG", "en_GB.UTF-8")]) && locale(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]));
        assert!(!locale(&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")]) && !locale(&[]));
    }
}
