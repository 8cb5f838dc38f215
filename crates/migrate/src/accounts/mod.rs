//! Accounts and roles: read at the source, rewritten for the target, created there before the cut-over, and compared.
//!
//! A credential goes from server to server, and into no message, plan, log or report.

mod create;
mod definition;
mod facts;
mod grant;
mod judge;

pub(crate) use self::{
    create::{create, drop_created, open},
    facts::{is_locked, may_read},
    judge::Moved,
};
pub use self::{
    facts::AccountFacts,
    judge::{AccountAction, AccountPlan},
};

/// What a migration does with the accounts of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accounts {
    /// A plan names them; none is created.
    #[default]
    Report,
    /// The cut-over creates them at the target, locked until the switch.
    Create,
}
