//! What standard output can show: colour, width, characters.

use std::io::{self, IsTerminal};

/// Columns if standard output is no terminal.
const PAGE_COLUMNS: usize = 120;
/// Columns of a terminal that does not say.
const TERMINAL_COLUMNS: usize = 80;

/// The device that a report is written to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    is_terminal: bool,
}

impl Terminal {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        Self { is_terminal: io::stdout().is_terminal() }
    }

    /// A file.
    pub(crate) const fn file() -> Self {
        Self { is_terminal: false }
    }

    /// Whether colour is welcome: on a terminal, unless `NO_COLOR` is set.
    pub(crate) fn wants_color(self) -> bool {
        self.is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }

    /// Number of columns.
    pub(crate) fn columns(self) -> usize {
        if !self.is_terminal {
            return PAGE_COLUMNS;
        }
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
        size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(TERMINAL_COLUMNS)
    }

    /// Whether it may show nothing but ASCII.
    pub(crate) fn is_ascii(self) -> bool {
        self.is_terminal && !is_utf8(|name| std::env::var(name).ok())
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
