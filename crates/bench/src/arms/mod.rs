//! Things to measure.

mod fio;
mod peer;
mod read;
mod verify;

pub use fio::fio;
pub use peer::peer;
pub use read::{read_cached, read_direct};
pub use verify::verify;
