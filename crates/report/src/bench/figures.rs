//! Tables of figures in pages: each figure has its 95 % interval on a line of its own, and on a narrow screen a line for
//! itself, with its heading.

use std::fmt;

use askama::Template;

use crate::Error;

/// A figure, and its interval if it has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Empty if there is none.
    pub(crate) interval: String,
}

impl Cell {
    pub(crate) const fn with_interval(text: String, interval: String) -> Self {
        Self { text, interval }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, interval: String::new() }
    }
}

impl fmt::Display for Cell {
    /// Writes the interval in brackets.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)?;
        if self.interval.is_empty() { Ok(()) } else { write!(out, " ({})", self.interval) }
    }
}

#[derive(Debug, Template)]
#[template(path = "figures.html")]
struct FigureTable<'a> {
    title: &'a str,
    headings: Vec<&'a str>,
    rows: Vec<Row<'a>>,
}

#[derive(Debug)]
struct Row<'a> {
    name: String,
    columns: Vec<Column<'a>>,
}

#[derive(Debug)]
struct Column<'a> {
    /// Repeated in each row, for narrow screens.
    heading: &'a str,
    cell: Cell,
}

/// A table as HTML; `title` is the heading of the column with the names of the rows. `None` if there are no rows.
pub(crate) fn figure_table<const COLUMNS: usize>(
    title: &str,
    headings: [&str; COLUMNS],
    rows: impl IntoIterator<Item = (String, [Cell; COLUMNS])>,
) -> Result<Option<String>, Error> {
    let rows = rows.into_iter().map(|(name, cells)| (name, Vec::from(cells)));
    figure_table_of(title, &headings, rows)
}

/// Like [`figure_table`], with as many columns as there are headings.
pub(crate) fn figure_table_of(
    title: &str,
    headings: &[&str],
    rows: impl IntoIterator<Item = (String, Vec<Cell>)>,
) -> Result<Option<String>, Error> {
    let row = |(name, cells): (String, Vec<Cell>)| {
        let columns = headings.iter().zip(cells).map(|(&heading, cell)| Column { heading, cell });
        Row { name, columns: columns.collect() }
    };
    let rows: Vec<Row<'_>> = rows.into_iter().map(row).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    Ok(Some(FigureTable { title, headings: headings.to_vec(), rows }.render()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_well_formed;

    #[test]
    fn an_interval_has_a_line_of_its_own_and_names_stay_text() {
        let rows = [("<a>".to_owned(), [Cell::with_interval("2.0".to_owned(), "1.8 to 2.2".to_owned())])];
        let table = figure_table("arm", ["MB/s"], rows).unwrap().unwrap();
        assert_well_formed(&table);
        assert!(!table.contains("<a>"));
        assert!(table.contains("<td data-heading=\"MB/s\">2.0 <small>1.8 to 2.2</small></td>"), "{table}");
        assert!(figure_table("arm", ["MB/s"], []).unwrap().is_none());
    }

    #[test]
    fn an_interval_is_in_brackets_where_there_are_no_lines() {
        let cell = Cell::with_interval("2.0".to_owned(), "1.8 to 2.2".to_owned());
        assert_eq!((cell.to_string(), Cell::from("3".to_owned()).to_string()), ("2.0 (1.8 to 2.2)".into(), "3".into()));
    }
}
