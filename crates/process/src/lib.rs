//! Other programs: finds them, runs them with a time limit, reads their output, and ends them with their descendants.
#![forbid(unsafe_code)]

mod child;
mod find;
mod log;
mod run;

pub use child::{kill_group, signal, wait};
pub use find::{ADMIN_DIRECTORIES, USER_DIRECTORIES, find, find_admin, killed_with_parent};
pub use log::last_words;
pub use run::{Ended, run, run_with_lines, version_text};
