//! Wraps the keys of a data directory with another master key, so that two servers never share one.

mod rewrap;
mod staged;
mod unwrap;

pub use self::{
    rewrap::Rekeyed,
    staged::{check_committed, check_keyring, rekey_staged},
    unwrap::UnwrapFault,
};
pub(crate) use self::{
    rewrap::{MasterKeys, check_location, check_names},
    unwrap::{KeySink, unwrap_keys},
};
