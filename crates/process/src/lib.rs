//! Other programs: found, run with a limit of time, heard, and ended with what they started.
#![forbid(unsafe_code)]

mod child;
mod find;
mod run;

pub use child::{kill_group, signal, wait};
pub use find::{ADMIN_DIRECTORIES, find, find_admin, killed_with_parent};
pub use run::{Ended, run, run_telling};
