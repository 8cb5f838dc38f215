//! Output for users: messages on stderr, data on stdout, and a status line for long runs.

mod errors;
pub(crate) mod file;
pub(crate) mod message;
pub(crate) mod progress;
pub(crate) mod render;
pub(crate) mod terminal;
