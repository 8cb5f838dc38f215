//! The coverage map: what is encrypted at rest and in flight, one row for each kind.

use audit::coverage::{CoverageState, DataState};

use super::Table;
use super::paint::TextStyle;
use crate::fleet::{self, Row};
use crate::text::{columns, fit, pad, visible, wrap};
use crate::{Error, labels};

impl Table<'_> {
    pub(super) fn map(&mut self) -> Result<(), Error> {
        let rows = fleet::map(self.outcome);
        if rows.is_empty() {
            return Ok(());
        }
        let layout = MapLayout::new(&rows, self.width);
        self.map_of(&rows, DataState::AtRest, "AT REST", &layout)?;
        self.map_of(&rows, DataState::InFlight, "IN FLIGHT", &layout)
    }

    fn map_of(&mut self, rows: &[Row<'_>], location: DataState, title: &str, layout: &MapLayout) -> Result<(), Error> {
        let here = |row: &&Row<'_>| row.location == location;
        writeln!(self.out, "\n{}", self.paint.text(TextStyle::Bold, &layout.head(title)))?;
        for row in rows.iter().filter(here).filter(|row| row.state != CoverageState::Absent) {
            self.map_row(row, layout)?;
        }
        let absent = rows.iter().filter(here).filter(|row| row.state == CoverageState::Absent);
        let absent: Vec<&str> = absent.map(|row| row.artefact).collect();
        if absent.is_empty() { Ok(()) } else { self.paragraph("  none here: ", &absent.join(", "), TextStyle::Dim) }
    }

    fn map_row(&mut self, row: &Row<'_>, layout: &MapLayout) -> Result<(), Error> {
        let name = visible(row.artefact);
        let name = pad(&fit(&name, layout.name, self.paint.ellipsis()), layout.name);
        let state = format!("{} {}", self.paint.symbol(row.state), labels::short_state(row.state));
        let state = self.paint.text(TextStyle::for_state(row.state), &pad(&state, STATE));
        let (layer, grade) = (labels::layer(row.layer), labels::grade(row.grade));
        let detail = self.paint.plain(&visible(&row.detail));
        if layout.narrow {
            writeln!(self.out, "  {name}  {}", state.trim_end())?;
            return self.paragraph("    ", &format!("{layer}, {grade}: {detail}"), TextStyle::Dim);
        }
        let lead = format!("  {name}  {state}  {}  {}  ", pad(layer, LAYER), pad(grade, GRADE));
        for (i, line) in wrap(&detail, layout.detail(self.width)).iter().enumerate() {
            let lead = if i == 0 { lead.clone() } else { " ".repeat(layout.before_detail()) };
            writeln!(self.out, "{lead}{line}")?;
        }
        Ok(())
    }
}

/// Widths of the map's columns except name and detail: their longest words.
const STATE: usize = 11;
const LAYER: usize = 5;
const GRADE: usize = 8;

/// Widths of the map's columns.
struct MapLayout {
    name: usize,
    /// The width does not suffice for all columns.
    narrow: bool,
}

impl MapLayout {
    fn new(rows: &[Row<'_>], width: usize) -> Self {
        let shown = rows.iter().filter(|row| row.state != CoverageState::Absent);
        let widest = shown.map(|row| columns(&visible(row.artefact))).max().unwrap_or(0);
        let narrow = width < 72;
        let most = if narrow { width - STATE - 4 } else { width * 2 / 5 };
        Self { name: widest.clamp(9, most.max(9)), narrow }
    }

    fn head(&self, title: &str) -> String {
        let title = pad(title, self.name + 2);
        if self.narrow {
            return format!("{title}  STATE");
        }
        format!("{title}  {}  {}  {}  DETAIL", pad("STATE", STATE), pad("LAYER", LAYER), pad("EVIDENCE", GRADE))
    }

    const fn before_detail(&self) -> usize {
        2 + self.name + 2 + STATE + 2 + LAYER + 2 + GRADE + 2
    }

    fn detail(&self, width: usize) -> usize {
        width.saturating_sub(self.before_detail()).max(12)
    }
}
