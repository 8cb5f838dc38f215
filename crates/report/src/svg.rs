//! Charts as SVG, deterministic: equal figures give equal bytes.

mod bar;

pub(crate) use bar::{Bar, BarChart, Caption};
