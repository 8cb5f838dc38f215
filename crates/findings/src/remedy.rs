//! Remedies of findings, in steps that programs can distinguish: statements, shell commands, options, lines of an
//! option file, a restart, and advice for the administrator.
//!
//! A check builds a [`Remedy`]; a finding of `audit` contains its [`Step`]s, one of `migrate` a single [`Action`]. A
//! remedy and its steps have the same text.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Steps in order, made by a check for the judged server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remedy {
    steps: Vec<Step>,
}

/// One step of a remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The action.
    #[serde(flatten)]
    pub action: Action,
    /// A condition that must be true first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once: Option<String>,
    /// The check whose remedy must come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Fork and version of the server that it is for; `None` without a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Cost of the whole remedy: locks, time, space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// How the text connects it with the previous step.
    #[serde(skip)]
    lead: Lead,
}

/// Action of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Action {
    /// A statement for the server, without its semicolon.
    Statement {
        /// SQL text of the statement.
        sql: String,
    },
    /// A shell command for the server's host.
    Command {
        /// The command.
        shell: String,
    },
    /// An option of the command that reported the finding.
    Option {
        /// The option, with a placeholder for its value: `--source-tls-ca FILE`.
        option: String,
    },
    /// Lines for the server's option file.
    OptionFile {
        /// Group of the option file, without brackets.
        group: String,
        /// The lines, each `name = value`.
        lines: Vec<String>,
    },
    /// A restart of the server.
    Restart,
    /// Something that people must decide or do.
    Advice {
        /// One clause.
        text: String,
    },
    /// Additional information; nothing needs to be done.
    Note {
        /// One clause.
        text: String,
    },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Lead {
    /// `; `
    #[default]
    Next,
    /// `, then `
    Then,
    /// `; and, to keep it, `
    ToKeep,
}

impl Lead {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Next => "; ",
            Self::Then => ", then ",
            Self::ToKeep => "; and, to keep it, ",
        }
    }
}

impl Remedy {
    fn one(action: Action) -> Self {
        Self { steps: vec![Step { action, once: None, after: None, server: None, cost: None, lead: Lead::Next }] }
    }

    /// A statement for the server, without its semicolon.
    #[must_use]
    pub fn statement(sql: impl Into<String>) -> Self {
        Self::one(Action::Statement { sql: sql.into() })
    }

    /// A shell command for the server's host.
    #[must_use]
    pub fn command(shell: impl Into<String>) -> Self {
        Self::one(Action::Command { shell: shell.into() })
    }

    /// Lines of `group` of the option file.
    #[must_use]
    pub fn option_file<L: Into<String>>(group: &str, lines: impl IntoIterator<Item = L>) -> Self {
        let lines = lines.into_iter().map(Into::into).collect();
        Self::one(Action::OptionFile { group: group.to_owned(), lines })
    }

    /// Something that people must decide or do.
    #[must_use]
    pub fn advice(text: impl Into<String>) -> Self {
        Self::one(Action::Advice { text: text.into() })
    }

    /// Appends the next step.
    #[must_use]
    pub fn and(self, next: impl Into<Self>) -> Self {
        self.lead_to(Lead::Next, next.into())
    }

    /// Appends a step that completes the previous one.
    #[must_use]
    pub fn then(self, next: impl Into<Self>) -> Self {
        self.lead_to(Lead::Then, next.into())
    }

    /// Appends a step that makes the previous ones persistent.
    #[must_use]
    pub fn to_keep(self, next: impl Into<Self>) -> Self {
        self.lead_to(Lead::ToKeep, next.into())
    }

    /// Appends a restart of the server.
    #[must_use]
    pub fn then_restart(self) -> Self {
        self.then(Self::one(Action::Restart))
    }

    /// Appends additional information.
    #[must_use]
    pub fn note(self, text: impl Into<String>) -> Self {
        self.and(Self::one(Action::Note { text: text.into() }))
    }

    /// Sets a condition for the first step.
    #[must_use]
    pub fn once(mut self, condition: &str) -> Self {
        if let Some(first) = self.steps.first_mut() {
            first.once = Some(condition.to_owned());
        }
        self
    }

    /// Sets a check whose remedy must come first.
    #[must_use]
    pub fn after(mut self, check: &str) -> Self {
        self.steps.iter_mut().for_each(|step| step.after = Some(check.to_owned()));
        self
    }

    fn lead_to(mut self, lead: Lead, mut next: Self) -> Self {
        if let Some(first) = next.steps.first_mut() {
            first.lead = lead;
        }
        self.steps.extend(next.steps);
        self
    }

    /// Whether a step that is not a note contains one of these texts.
    #[must_use]
    pub fn asks_for(&self, message: &[&str]) -> bool {
        let steps = self.steps.iter().filter(|step| !matches!(step.action, Action::Note { .. }));
        steps.map(ToString::to_string).any(|text| message.iter().any(|word| text.contains(word)))
    }

    /// The steps, each with this server and this cost.
    #[must_use]
    pub fn into_steps(mut self, server: Option<String>, cost: Option<&str>) -> Vec<Step> {
        for step in &mut self.steps {
            step.server.clone_from(&server);
            step.cost = cost.map(str::to_owned);
        }
        self.steps
    }
}

/// Prefixes of statements that set a variable and change nothing else.
const SETTING: [&str; 2] = ["SET PERSIST ", "SET GLOBAL "];

impl Step {
    /// Whether it is a statement that only sets a variable, and has no placeholder to fill in.
    #[must_use]
    pub fn sets_variable(&self) -> bool {
        match &self.action {
            Action::Statement { sql } => SETTING.iter().any(|begin| sql.starts_with(begin)) && !sql.contains('…'),
            _ => false,
        }
    }

    /// Whether it can be pasted into a shell or client.
    #[must_use]
    pub const fn is_command(&self) -> bool {
        !matches!(self.action, Action::Option { .. } | Action::Advice { .. } | Action::Note { .. })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(condition) = &self.once {
            write!(f, "once {condition}: ")?;
        }
        self.action.fmt(f)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Statement { sql: text } | Self::Command { shell: text } | Self::Option { option: text } => {
                f.write_str(text)
            }
            Self::Advice { text } | Self::Note { text } => f.write_str(text),
            Self::OptionFile { group, lines } => write!(f, "{} under [{group}] of the option file", listed(lines)),
            Self::Restart => f.write_str("restart"),
        }
    }
}

fn listed(lines: &[String]) -> String {
    match lines {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(check) = self.steps.first().and_then(|step| step.after.as_ref()) {
            write!(f, "after the fix of {check}: ")?;
        }
        for (at, step) in self.steps.iter().enumerate() {
            match &step.action {
                _ if at == 0 => {}
                Action::Note { .. } => f.write_str(" -- ")?,
                _ => f.write_str(step.lead.as_str())?,
            }
            write!(f, "{step}")?;
        }
        Ok(())
    }
}

impl From<&str> for Remedy {
    fn from(text: &str) -> Self {
        Self::advice(text)
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Self {
        Self::advice(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_read_as_one_sentence() {
        let line = || Remedy::option_file("mariadb", ["a = 1", "b = 2", "c = 3"]);
        let on = Remedy::statement("SET GLOBAL a = 1").to_keep(line());
        assert_eq!(
            on.to_string(),
            "SET GLOBAL a = 1; and, to keep it, a = 1, b = 2 and c = 3 under [mariadb] of the option file"
        );
        let restarted = Remedy::command("mkdir /k").and(line().then_restart()).note("better: a KMS");
        assert!(restarted.to_string().ends_with("of the option file, then restart -- better: a KMS"), "{restarted}");
        let waits = Remedy::statement("FLUSH BINARY LOGS").and(Remedy::statement("PURGE").once("all were read"));
        assert_eq!(
            waits.after("key-not-loaded").to_string(),
            "after the fix of key-not-loaded: FLUSH BINARY LOGS; once all were read: PURGE"
        );
    }

    #[test]
    fn a_step_is_read_again_as_it_was_written() {
        let remedy = Remedy::option_file("mysqld", ["a = 1"]).then_restart().after("tls-disabled");
        let steps = remedy.into_steps(Some("MySQL 9.7.4".to_owned()), Some("a restart"));
        let json = serde_json::to_string(&steps).unwrap();
        assert!(
            json.starts_with(r#"[{"kind":"option-file","group":"mysqld","lines":["a = 1"],"after":"tls-disabled""#)
        );
        let again: Vec<Step> = serde_json::from_str(&json).unwrap();
        assert_eq!(again.iter().map(Step::is_command).collect::<Vec<_>>(), [true, true]);
        assert_eq!(again[1].action, Action::Restart);
    }

    #[test]
    fn notes_ask_for_nothing() {
        assert!(Remedy::statement("ALTER USER a REQUIRE SSL").asks_for(&["REQUIRE SSL"]));
        assert!(!Remedy::statement("DROP USER a").note("or REQUIRE SSL").asks_for(&["REQUIRE SSL"]));
    }
}
