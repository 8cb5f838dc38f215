//! Arms: the work that is measured.

mod copy;
mod fio;
mod peer;
mod read;
mod verify;

pub use copy::{copy_by_peer, copy_by_sealant};
pub use fio::fio;
pub use peer::peer;
pub use read::{read_cached, read_direct};
pub use verify::verify;
