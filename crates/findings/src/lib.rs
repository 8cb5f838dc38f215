//! How serious a finding is, and the steps that close it.
//!
//! Other crates judge: `audit` a server, `luks` a header, `migrate` a pair of servers. `report` renders the steps of
//! all of them.

mod remedy;
mod severity;

pub use self::{
    remedy::{Action, Remedy, Step},
    severity::Severity,
};
