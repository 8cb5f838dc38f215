//! Evidence for auditors: one self-contained page for each of `verify`, `encrypt run` and `rotate run` that says what
//! was proven, when, where and by whom, and what was not.

mod encrypt;
mod rotate;
mod verify;

use std::{borrow::Cow, io::Write};

use askama::Template;
use change::{Outcome, StepReport};
use files::accounts;
use jiff::Timestamp;

pub use self::{encrypt::write_encrypt_html, rotate::write_rotate_html, verify::write_proof_html};
use crate::{Error, html::content_security, labels, text::visible};

const STYLE: &str = concat!(
    include_str!("../templates/bench.css"),
    include_str!("../templates/migrate.css"),
    include_str!("../templates/evidence.css")
);

/// A page. All its text is escaped by the template, and made visible by [`Page::write`].
#[derive(Template)]
#[template(path = "evidence.html")]
struct Page {
    policy: String,
    style: &'static str,
    title: &'static str,
    verdict: String,
    proven: bool,
    facts: Vec<(&'static str, String)>,
    tables: Vec<Table>,
    /// What the evidence does not show.
    limits: String,
}

/// A table of a page.
struct Table {
    title: &'static str,
    note: &'static str,
    headings: Vec<&'static str>,
    rows: Vec<Row>,
}

/// A row of a table. Rows that are not good are highlighted.
struct Row {
    cells: Vec<String>,
    good: bool,
}

impl Page {
    fn new(title: &'static str, verdict: String, proven: bool, limits: impl Into<String>) -> Self {
        let host = accounts::host_name().unwrap_or_else(|| "unknown".to_owned());
        let facts = vec![
            ("written", labels::second(Timestamp::now())),
            ("host", host),
            ("by", format!("{}, with sealant {}", accounts::operator(), env!("CARGO_PKG_VERSION"))),
        ];
        let policy = content_security(STYLE, "");
        let limits = limits.into();
        Self { policy, style: STYLE, title, verdict, proven, facts, tables: Vec::new(), limits }
    }

    fn fact(mut self, label: &'static str, text: impl Into<String>) -> Self {
        self.facts.push((label, text.into()));
        self
    }

    /// Adds a table, unless it has no row.
    fn table(mut self, table: Table) -> Self {
        if !table.rows.is_empty() {
            self.tables.push(table);
        }
        self
    }

    fn write(mut self, out: &mut dyn Write) -> Result<(), Error> {
        let rows = self.tables.iter_mut().flat_map(|table| &mut table.rows);
        let cells = rows.flat_map(|row| &mut row.cells);
        for text in cells.chain(self.facts.iter_mut().map(|(_, text)| text)).chain([&mut self.verdict]) {
            if let Cow::Owned(escaped) = visible(text) {
                *text = escaped;
            }
        }
        Ok(out.write_all(self.render()?.as_bytes())?)
    }
}

/// The steps of a run, with their statements.
fn steps<'r>(steps: impl IntoIterator<Item = &'r StepReport>) -> Table {
    let rows = steps.into_iter().map(|step| {
        let (outcome, good) = match &step.outcome {
            Outcome::Planned => ("not begun".to_owned(), false),
            Outcome::Done => ("done".to_owned(), true),
            Outcome::Skipped { reason } => (format!("skipped: {reason}"), true),
            Outcome::Failed { reason } => (format!("failed: {reason}"), false),
        };
        let statements = step.statements.join("; ");
        Row { cells: vec![step.what.clone(), outcome, format!("{:.1} s", step.seconds), statements], good }
    });
    Table {
        title: "Steps",
        note: "In the order in which they ran.",
        headings: vec!["step", "outcome", "took", "statements"],
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{testing::assert_page, text::collect};

    #[test]
    fn hostile_names_stay_text_and_the_page_loads_nothing() {
        let row = Row { cells: vec!["<script>alert(1)</script>\u{202e}".to_owned()], good: false };
        let table = Table { title: "Files", note: "", headings: vec!["file"], rows: vec![row] };
        let page =
            Page::new("Proof", "Not proven: \"<b>\"".to_owned(), false, "Nothing.").fact("server", "a<b>").table(table);
        let html = collect(|out| page.write(out)).unwrap();
        assert_page(&html, STYLE);
        assert!(html.contains("<td data-heading=\"file\">&#60;script"), "{html}");
        assert!(!html.contains("<b>") && !html.contains('\u{202e}'));
    }
}
