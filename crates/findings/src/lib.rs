//! How serious a finding is, and the steps that close it.
//!
//! The judgements are in the crates that make them: `audit` of servers, `luks` of headers, `migrate` of a pair of
//! servers. `report` renders the steps of all of them.

mod remedy;
mod severity;

pub use self::{
    remedy::{Action, Remedy, Step},
    severity::Severity,
};
