//! Rewraps the keys of a data directory with another master key, so that two servers never share one.

mod rewrap;
mod unwrap;

pub(crate) use self::{
    rewrap::{MasterKeys, check_names},
    unwrap::{KeySink, unwrap_keys},
};
pub use self::{
    rewrap::{Rekeyed, check_location, open_keyring},
    unwrap::RekeyFault,
};
