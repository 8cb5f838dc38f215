//! Exit codes. The numbers are the same for all verbs, and each verb documents what they mean for it. A verb that runs
//! as a monitoring plug-in ends with the numbers that monitoring systems expect instead.

use std::process::ExitCode;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, and nothing is wrong.
    Clean,
    /// The program could not do its work.
    Failed,
    /// Wrong usage of the command line. clap uses the same number.
    Usage,
    /// A problem was found: a finding that counts, damage, or a failed proof.
    Findings,
    /// Something could not be judged or proven.
    Incomplete,
    /// A waiver has expired, or the waiver file is not valid.
    BadWaiver,
    /// As a monitoring plug-in: WARNING.
    MonitorWarning,
    /// As a monitoring plug-in: CRITICAL.
    MonitorCritical,
    /// As a monitoring plug-in: UNKNOWN.
    MonitorUnknown,
}

impl Exit {
    /// The number that the process returns.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Failed | Self::MonitorWarning => 1,
            Self::Usage | Self::MonitorCritical => 2,
            Self::Findings | Self::MonitorUnknown => 3,
            Self::Incomplete => 4,
            Self::BadWaiver => 5,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Meanings of a verb's exit codes, in the order of their numbers. If none has the number of [`Exit::Usage`], that
/// means [`USAGE`].
pub(crate) type Codes = &'static [(Exit, &'static str)];

const USAGE: &str = "wrong usage";

/// General meaning of the exit codes.
pub(crate) const ALL: Codes = &[
    (Exit::Clean, "done, and nothing is wrong"),
    (Exit::Failed, "not done, or not to the end"),
    (Exit::Usage, "wrong usage, or a mistake in a configuration file"),
    (Exit::Findings, "something is wrong: a finding that counts, damage, a proof that fails"),
    (Exit::Incomplete, "something could not be judged or proven"),
    (Exit::BadWaiver, "a waiver is expired, unknown or malformed (audit)"),
];

/// The end of a help text: the verb's own text, and its exit codes.
pub(crate) fn help(text: &str, codes: Codes) -> String {
    let gap = if text.is_empty() { "" } else { "\n\n" };
    let has_usage = codes.iter().any(|(exit, _)| exit.code() == Exit::Usage.code());
    let usage = (!has_usage).then_some((Exit::Usage, USAGE));
    let mut codes: Vec<_> = codes.iter().copied().chain(usage).collect();
    codes.sort_by_key(|(exit, _)| exit.code());
    let lines: Vec<_> = codes.into_iter().map(|(exit, meaning)| line(exit, meaning)).collect();
    format!("{text}{gap}Exit codes:\n{}", lines.join("\n"))
}

/// One exit code, wrapped to the width of help texts with a hanging indent.
fn line(exit: Exit, meaning: &str) -> String {
    const WIDTH: usize = 100;
    let (mut lines, mut column) = (format!("  {} ", exit.code()), 4);
    for word in meaning.split(' ') {
        if column + 1 + word.len() > WIDTH {
            lines.push_str("\n    ");
            column = 4;
        }
        lines.push(' ');
        lines.push_str(word);
        column += 1 + word.len();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_process_ends_with_the_code_that_its_parent_expects() {
        assert_eq!(Exit::Findings.code(), snapshot::watchdog::TIMED_OUT);
    }

    #[test]
    fn a_long_meaning_goes_on_below_its_first_word() {
        let long = "word ".repeat(20);
        let lines = line(Exit::Incomplete, long.trim_end());
        let expected = format!("  4  {}\n     word", "word ".repeat(19).trim_end());
        assert_eq!(lines, expected);
        let help = help("Example:\n  sealant", &[(Exit::Clean, "done")]);
        assert_eq!(help, "Example:\n  sealant\n\nExit codes:\n  0  done\n  2  wrong usage");
        assert_eq!(super::help("", &[(Exit::MonitorCritical, "critical")]), "Exit codes:\n  2  critical");
    }
}
