//! Tables of figures. In pages each figure has its 95 % interval on a line of its own, and on a narrow screen a line for
//! itself, with its heading; in Markdown and on a terminal the interval is in brackets.

use std::fmt;
use std::io::Write;

use askama::Template;

use crate::Error;
use crate::markdown::plain;
use crate::text::{columns, pad};

/// A figure, and its interval if it has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Empty if there is none.
    pub(crate) interval: String,
    /// What it shows; empty if nothing more is to be said.
    pub(crate) remark: String,
}

impl Cell {
    pub(crate) const fn with_interval(text: String, interval: String) -> Self {
        Self { text, interval, remark: String::new() }
    }

    /// The figure with its interval, and what it shows.
    pub(crate) fn without_remark(mut self) -> (Self, String) {
        let remark = std::mem::take(&mut self.remark);
        (self, remark)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl fmt::Display for Cell {
    /// Writes the interval in brackets, then the remark.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, interval, remark } = self;
        out.write_str(text)?;
        if !interval.is_empty() {
            write!(out, " ({interval})")?;
        }
        if remark.is_empty() { Ok(()) } else { write!(out, ": {remark}") }
    }
}

/// A table; the title is the heading of the column with the names of the rows.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    title: String,
    headings: Vec<String>,
    rows: Vec<(String, Vec<Cell>)>,
}

#[derive(Debug, Template)]
#[template(path = "figures.html")]
struct Page<'a> {
    title: &'a str,
    headings: &'a [String],
    rows: Vec<Row<'a>>,
}

#[derive(Debug)]
struct Row<'a> {
    name: &'a str,
    columns: Vec<Column<'a>>,
}

#[derive(Debug)]
struct Column<'a> {
    /// Repeated in each row, for narrow screens.
    heading: &'a str,
    cell: &'a Cell,
}

impl Figures {
    /// A table whose rows have a cell for each of the headings.
    pub(crate) fn new<H: Into<String>, C: Into<Vec<Cell>>>(
        title: &str,
        headings: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = (String, C)>,
    ) -> Self {
        Self {
            title: title.to_owned(),
            headings: headings.into_iter().map(Into::into).collect(),
            rows: rows.into_iter().map(|(name, cells)| (name, cells.into())).collect(),
        }
    }

    /// Whether it has no rows.
    pub(crate) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as HTML.
    pub(crate) fn html(&self) -> Result<String, Error> {
        let rows = self.rows.iter().map(|(name, cells)| {
            let columns = self.headings.iter().zip(cells).map(|(heading, cell)| Column { heading, cell });
            Row { name, columns: columns.collect() }
        });
        Ok(Page { title: &self.title, headings: &self.headings, rows: rows.collect() }.render()?)
    }

    /// Writes the table as Markdown.
    pub(crate) fn markdown(&self, out: &mut dyn Write) -> Result<(), Error> {
        let joined = |cells: Vec<String>| cells.join(" | ");
        let headings = joined(self.headings.iter().map(|heading| plain(heading)).collect());
        writeln!(out, "| {} | {headings} |", plain(&self.title))?;
        writeln!(out, "|---|{}", "---:|".repeat(self.headings.len()))?;
        for (name, cells) in &self.rows {
            let cells = joined(cells.iter().map(|cell| plain(&cell.to_string())).collect());
            writeln!(out, "| {} | {cells} |", plain(name))?;
        }
        Ok(())
    }

    /// Writes the table in columns, for a terminal.
    pub(crate) fn text(&self, out: &mut dyn Write) -> Result<(), Error> {
        let headings = (self.title.as_str(), self.headings.clone());
        let rows = self.rows.iter().map(|(name, cells)| (name.as_str(), cells.iter().map(Cell::to_string).collect()));
        let lines: Vec<(&str, Vec<String>)> = std::iter::once(headings).chain(rows).collect();
        let names = lines.iter().map(|(name, _)| columns(name)).max().unwrap_or(0);
        let width = |column: usize| lines.iter().filter_map(|(_, cells)| Some(columns(cells.get(column)?))).max();
        let widths: Vec<usize> = (0..self.headings.len()).filter_map(width).collect();
        for (name, cells) in &lines {
            write!(out, "{}", pad(name, names))?;
            for (cell, width) in cells.iter().zip(&widths) {
                write!(out, "  {}{cell}", pad("", width.saturating_sub(columns(cell))))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_well_formed;
    use crate::text::collect;

    fn table() -> Figures {
        let cell = Cell::with_interval("2.0".to_owned(), "1.8 to 2.2".to_owned());
        Figures::new("arm", ["MB/s", "ms"], [("<a|b>".to_owned(), [cell, "3".to_owned().into()])])
    }

    #[test]
    fn an_interval_has_a_line_of_its_own_and_names_stay_text() {
        let page = table().html().unwrap();
        assert_well_formed(&page);
        assert!(!page.contains("<a|b>"));
        assert!(page.contains("<td data-heading=\"MB/s\">2.0 <small>1.8 to 2.2</small></td>"), "{page}");
        assert!(Figures::new::<&str, Vec<Cell>>("arm", ["MB/s"], []).is_empty() && !table().is_empty());
    }

    #[test]
    fn an_interval_is_in_brackets_where_there_are_no_lines() {
        let text = collect(|out| table().text(out)).unwrap();
        assert_eq!(text, "arm                MB/s  ms\n<a|b>  2.0 (1.8 to 2.2)   3\n");
        let markdown = collect(|out| table().markdown(out)).unwrap();
        assert_eq!(markdown, "| arm | MB/s | ms |\n|---|---:|---:|\n| &lt;a\\|b&gt; | 2.0 (1.8 to 2.2) | 3 |\n");
    }
}
