//! Charts as SVG, drawn by hand: the same bytes for the same figures.

mod bar;

pub(crate) use bar::{Bar, BarChart};
