//! What is encrypted on a MySQL-family server and what is not.
//!
//! Data flows one way: [`collect`] examines the server and its host and gathers [`facts::Facts`], one serialisable
//! tree; [`checks`] are pure functions from facts to [`finding::Finding`]s; [`run`] applies the table of checks, the
//! waivers and the coverage map and returns an [`outcome::Outcome`], which the `report` crate renders.

mod access;
pub mod artefact;
pub mod channel;
pub mod check;
pub mod checks;
pub mod collect;
pub mod coverage;
pub mod diff;
mod error;
pub mod exposure;
pub mod facts;
pub mod finding;
pub mod fleet;
pub mod key_access;
pub mod outcome;
mod path;
pub mod policy;
pub mod rules;
pub mod run;
pub mod source;
#[cfg(test)]
mod testing;
pub mod waiver;

pub use error::Error;
