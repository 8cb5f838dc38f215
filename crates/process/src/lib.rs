//! Other programs: finds them, runs them with a time limit, reads their output, and ends them with their descendants.
#![forbid(unsafe_code)]

mod child;
mod find;
mod log;
mod output;
mod program;
mod running;
mod shell;

pub use child::{kill_group, signal, wait};
pub use find::{ADMIN_DIRECTORIES, USER_DIRECTORIES, admin_path, find, find_admin};
pub use log::last_error;
pub use output::Output;
pub use program::{EndSignal, Program, Unguarded, version_text};
pub use running::{Running, Stopper};
pub use shell::shell_word;
