//! Colours and symbols of the terminal table.

use audit::coverage::CoverageState;
use findings::Severity;

use crate::RenderOptions;

/// Purpose of a text, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextStyle {
    Plain,
    Bold,
    Dim,
    Command,
    Good,
    Warn,
    Bad,
    Worst,
}

impl TextStyle {
    pub(super) const fn for_state(state: CoverageState) -> Self {
        match state {
            CoverageState::Encrypted => Self::Good,
            CoverageState::Partly => Self::Warn,
            CoverageState::Clear => Self::Bad,
            CoverageState::Unknown => Self::Bold,
            CoverageState::Absent => Self::Dim,
        }
    }

    pub(super) const fn for_severity(severity: Severity) -> Self {
        match severity {
            Severity::Critical => Self::Worst,
            Severity::High => Self::Bad,
            Severity::Medium => Self::Warn,
            Severity::Low | Severity::Info => Self::Bold,
        }
    }

    /// Parameters of the SGR sequence (ECMA-48 8.3.117). Only the sixteen standard colours, so that the user's theme
    /// determines the shades.
    const fn sgr(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Command => "36",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "1;31",
            Self::Worst => "1;7;31",
        }
    }
}

/// Draws with or without colours, in UTF-8 or ASCII.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    color: bool,
    ascii: bool,
}

impl Paint {
    pub(super) const fn new(options: &RenderOptions) -> Self {
        Self { color: options.color, ascii: options.ascii }
    }

    pub(super) fn text(self, style: TextStyle, text: &str) -> String {
        let text = self.plain(text);
        if !self.color || style == TextStyle::Plain || text.is_empty() {
            return text;
        }
        format!("\x1b[{}m{text}\x1b[0m", style.sgr())
    }

    /// The text, converted to ASCII if necessary.
    pub(super) fn plain(self, text: &str) -> String {
        if !self.ascii || text.is_ascii() {
            return text.to_owned();
        }
        text.chars().map(|c| if c.is_ascii() { c.to_string() } else { c.escape_unicode().to_string() }).collect()
    }

    /// A symbol for the state, so that colour is not the only sign.
    pub(super) const fn symbol(self, state: CoverageState) -> &'static str {
        match (state, self.ascii) {
            (CoverageState::Encrypted, false) => "●",
            (CoverageState::Partly, false) => "◐",
            (CoverageState::Clear, false) => "○",
            (CoverageState::Encrypted, true) => "#",
            (CoverageState::Partly, true) => "/",
            (CoverageState::Clear, true) => "o",
            (CoverageState::Unknown, _) => "?",
            (CoverageState::Absent, _) => "-",
        }
    }

    pub(super) const fn bullet(self) -> &'static str {
        if self.ascii { "-" } else { "•" }
    }

    pub(super) const fn ellipsis(self) -> &'static str {
        if self.ascii { "..." } else { "…" }
    }

    pub(super) const fn separator(self) -> &'static str {
        if self.ascii { " | " } else { " · " }
    }
}
