//! The coverage map as a picture: the server, network channels at its sides or above, storage below. Drawn twice, for
//! wide and for narrow windows.

use audit::coverage::{CoverageState, DataState};

use crate::fleet::Row;
use crate::labels;
use crate::text::{columns, fit, visible, wrap};

/// One drawing, in units of its view box.
#[derive(Debug)]
pub(super) struct Picture {
    /// `wide` or `narrow`; a prefix of its ids.
    pub(super) name: &'static str,
    pub(super) width: u32,
    pub(super) height: u32,
    /// Text alternative.
    pub(super) description: String,
    pub(super) boxes: Vec<Node>,
    pub(super) wires: Vec<Wire>,
    /// Where all connectors join before the server, in the narrow drawing.
    pub(super) trunk: Option<String>,
    pub(super) server: Server,
    pub(super) disk: Option<Area>,
}

/// A channel, or a kind of stored data.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) area: Area,
    /// CSS class and symbol: `encrypted`, `partly`, `clear`, `unknown`.
    pub(super) state: &'static str,
    pub(super) label: String,
    /// State and evidence.
    pub(super) status: String,
    pub(super) detail: Vec<String>,
    /// The full text, shown as tooltip.
    pub(super) tooltip: String,
}

/// The line between the server and a channel.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) path: String,
    pub(super) state: &'static str,
}

/// The box of the server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) area: Area,
    pub(super) name: String,
    pub(super) product: String,
}

/// A rectangle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Area {
    const fn new(x: u32, y: u32, width: u32, height: u32) -> Self {
        Self { x, y, width, height }
    }

    pub(super) const fn right(&self) -> u32 {
        self.x + self.width
    }

    pub(super) const fn bottom(&self) -> u32 {
        self.y + self.height
    }

    pub(super) const fn middle_x(&self) -> u32 {
        self.x + self.width / 2
    }

    pub(super) const fn middle_y(&self) -> u32 {
        self.y + self.height / 2
    }
}

/// Height of a box with two lines of detail.
const BOX_HEIGHT: u32 = 84;
/// Space between boxes.
const GAP: u32 = 14;
/// Space above the boxes on the disk, for its label.
const DISK_HEAD: u32 = 40;
/// Space between the disk's frame and its boxes.
const DISK_PAD: u32 = 16;

/// Left edge of text in a box, and the space to keep at its right.
const TEXT_LEFT: u32 = 34;
const TEXT_RIGHT: u32 = 12;
/// Average widths of a letter of a wide system font (DejaVu Sans), at the sizes of the style sheet.
const LABEL_LETTER: u32 = 9;
const DETAIL_LETTER: u32 = 7;

/// Content of the picture.
struct Subject<'a> {
    left: Vec<&'a Row<'a>>,
    right: Vec<&'a Row<'a>>,
    rest: Vec<&'a Row<'a>>,
    server: &'a str,
    product: &'a str,
}

/// Draws both pictures; artefacts that do not exist are omitted.
#[must_use]
pub(super) fn draw(rows: &[Row<'_>], server: &str, product: &str) -> Vec<Picture> {
    let there =
        |location| rows.iter().filter(move |row| row.location == location && row.state != CoverageState::Absent);
    // Channels of clients are at the left, those between servers at the right.
    let (left, right) = there(DataState::InFlight).partition(|row| row.is_client_channel);
    let subject = Subject { left, right, rest: there(DataState::AtRest).collect(), server, product };
    if subject.left.is_empty() && subject.right.is_empty() && subject.rest.is_empty() {
        return Vec::new();
    }
    vec![subject.wide(), subject.narrow()]
}

impl Subject<'_> {
    fn wide(&self) -> Picture {
        const WIDTH: u32 = 1120;
        const SIDE: u32 = 310;
        let tallest = u32::try_from(self.left.len().max(self.right.len()).max(1)).unwrap_or(1);
        let top_height = tallest * (BOX_HEIGHT + GAP) - GAP;
        let server = Area::new(430, 0, 260, top_height);
        let mut picture = self.picture("wide", WIDTH, server);
        picture.side(&self.left, 0, SIDE, top_height);
        picture.side(&self.right, WIDTH - SIDE, SIDE, top_height);
        picture.disk(&self.rest, Area::new(0, top_height + 52, WIDTH, 0), 4);
        picture
    }

    fn narrow(&self) -> Picture {
        const WIDTH: u32 = 360;
        const TRUNK: u32 = 8;
        let variants: Vec<&Row<'_>> = self.left.iter().chain(&self.right).copied().collect();
        let count = u32::try_from(variants.len()).unwrap_or(0);
        let server = Area::new(0, count * (BOX_HEIGHT + GAP) + 18, WIDTH, 76);
        let mut picture = self.picture("narrow", WIDTH, server);
        for (i, row) in (0_u32..).zip(&variants) {
            let area = Area::new(24, i * (BOX_HEIGHT + GAP), WIDTH - 24, BOX_HEIGHT);
            picture.add(row, area, Some(format!("M{} {}H{TRUNK}", area.x, area.middle_y())));
        }
        picture.trunk = variants.first().map(|_| format!("M{TRUNK} {}V{}", BOX_HEIGHT / 2, server.y));
        picture.disk(&self.rest, Area::new(0, server.bottom() + 36, WIDTH, 0), 1);
        picture
    }

    fn picture(&self, name: &'static str, width: u32, server: Area) -> Picture {
        let room = (server.width - 32) / 8;
        let cut = |text: &str| fit(&visible(text), room as usize, "…").into_owned();
        Picture {
            name,
            width,
            height: server.bottom(),
            description: self.description(),
            boxes: Vec::new(),
            wires: Vec::new(),
            server: Server { area: server, name: cut(self.server), product: cut(self.product) },
            disk: None,
            trunk: None,
        }
    }

    fn description(&self) -> String {
        let message = |rows: &[&Row<'_>]| {
            let each = rows.iter().map(|row| format!("{}: {}", visible(row.artefact), labels::state(row.state)));
            each.collect::<Vec<String>>().join("; ")
        };
        let variants: Vec<&Row<'_>> = self.left.iter().chain(&self.right).copied().collect();
        format!("On the network: {}. On the disk: {}.", message(&variants), message(&self.rest))
    }
}

impl Picture {
    /// Places the channels of one side, centred on the server's height.
    fn side(&mut self, rows: &[&Row<'_>], x: u32, width: u32, height: u32) {
        let count = u32::try_from(rows.len()).unwrap_or(0);
        let top = height.saturating_sub((count * (BOX_HEIGHT + GAP)).saturating_sub(GAP)) / 2;
        for (i, row) in (0_u32..).zip(rows) {
            let area = Area::new(x, top + i * (BOX_HEIGHT + GAP), width, BOX_HEIGHT);
            let server = self.server.area;
            let (from, to) = if x < server.x { (area.right(), server.x) } else { (area.x, server.right()) };
            self.add(row, area, Some(format!("M{from} {}H{to}", area.middle_y())));
        }
    }

    /// Places the disk below, with its boxes in a grid.
    fn disk(&mut self, rows: &[&Row<'_>], at: Area, columns: u32) {
        if rows.is_empty() {
            return;
        }
        let width = (at.width - 2 * DISK_PAD - (columns - 1) * GAP) / columns;
        let count = u32::try_from(rows.len()).unwrap_or(0);
        for (i, row) in (0_u32..).zip(rows) {
            let (column, line) = (i % columns, i / columns);
            let x = at.x + DISK_PAD + column * (width + GAP);
            let y = at.y + DISK_HEAD + line * (BOX_HEIGHT + GAP);
            self.add(row, Area::new(x, y, width, BOX_HEIGHT), None);
        }
        let height = DISK_HEAD + count.div_ceil(columns) * (BOX_HEIGHT + GAP) - GAP + DISK_PAD;
        let disk = Area { height, ..at };
        self.height = disk.bottom();
        self.disk = Some(disk);
    }

    fn add(&mut self, row: &Row<'_>, area: Area, wire: Option<String>) {
        let state = labels::state_key(row.state);
        if let Some(path) = wire {
            self.wires.push(Wire { path, state });
        }
        self.boxes.push(node(row, area));
    }
}

fn node(row: &Row<'_>, area: Area) -> Node {
    let room = area.width - TEXT_LEFT - TEXT_RIGHT;
    let (label_room, detail_room) = ((room / LABEL_LETTER) as usize, (room / DETAIL_LETTER) as usize);
    let (name, detail) = (visible(row.artefact), visible(&row.detail));
    let tooltip = format!("{name}: {}. {detail}", status(row));
    let (label, detail) = shorten(&name, &detail, label_room);
    Node {
        area,
        state: labels::state_key(row.state),
        label: fit(&label, label_room, "…").into_owned(),
        status: status(row),
        detail: two_lines(&detail, detail_room),
        tooltip,
    }
}

/// Moves the parenthesised part of a name that is too long to the detail.
fn shorten(name: &str, detail: &str, room: usize) -> (String, String) {
    match name.strip_suffix(')').and_then(|name| name.split_once(" (")) {
        Some((short, more)) if columns(name) > room => (short.to_owned(), format!("{more}: {detail}")),
        _ => (name.to_owned(), detail.to_owned()),
    }
}

fn status(row: &Row<'_>) -> String {
    let layer = match row.state {
        CoverageState::Encrypted => format!(" by {}", labels::layer(row.layer)),
        _ => String::new(),
    };
    let grade = row.grade.map_or_else(String::new, |grade| format!(" · {}", grade.as_str()));
    format!("{}{layer}{grade}", labels::state(row.state))
}

fn two_lines(text: &str, room: usize) -> Vec<String> {
    let mut lines = wrap(text, room);
    if lines.len() > 2 {
        let rest = lines.split_off(1).join(" ");
        lines.push(fit(&rest, room, "…").into_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet;
    use crate::testing::rich;

    fn pictures() -> Vec<Picture> {
        let outcome = rich();
        draw(&fleet::map(&outcome), "db1", "MySQL 9.7.4")
    }

    fn apart(a: &Area, b: &Area) -> bool {
        a.right() <= b.x || b.right() <= a.x || a.bottom() <= b.y || b.bottom() <= a.y
    }

    #[test]
    fn no_box_overlaps_another_or_leaves_the_picture() {
        for picture in pictures() {
            let mut areas: Vec<Area> = picture.boxes.iter().map(|node| node.area).collect();
            areas.push(picture.server.area);
            for (i, a) in areas.iter().enumerate() {
                assert!(a.right() <= picture.width && a.bottom() <= picture.height, "{} {a:?}", picture.name);
                assert!(areas.iter().skip(i + 1).all(|b| apart(a, b)), "{} {a:?}", picture.name);
            }
        }
    }

    #[test]
    fn what_is_absent_is_not_drawn() {
        let outcome = rich();
        let there = outcome.coverage.iter().filter(|c| c.state != CoverageState::Absent).count();
        assert!(pictures().iter().all(|picture| picture.boxes.len() == there));
        assert!(draw(&[], "db1", "").is_empty());
    }

    #[test]
    fn the_description_names_every_box() {
        for picture in pictures() {
            for row in rich().coverage.iter().filter(|c| c.state != CoverageState::Absent) {
                let message = format!("{}: {}", row.artefact, labels::state(row.state));
                assert!(picture.description.contains(&message), "{message}");
            }
        }
    }
}
