//! A small private certificate authority, and the judgement of certificate files.
//!
//! - [`Authority`]: makes an authority in a directory and issues certificates from it;
//! - [`Credentials`]: a certificate, its key and its authority, read from PEM files;
//! - [`judge()`]: what is wrong, or soon will be, with credentials; pure.
//!
//! The directory is all the state there is: `ca.pem`, `ca.key`, and `NAME.pem`, `NAME.key` for each
//! certificate. Keys are PKCS #8, readable by their owner alone, and are never replaced unless told.
#![forbid(unsafe_code)]

mod authority;
pub mod check;
mod credentials;
mod error;
mod files;
mod judge;
mod key;
mod name;

pub use crate::{
    authority::{Authority, LEAF_DAYS, Order, Usage},
    credentials::{Credentials, read_certificates},
    error::Error,
    files::{CA, Files, names_in},
    judge::{Level, Limits, Problem, ProblemKind, judge, worst},
    key::{KeyType, PrivateKey},
    name::{AlternativeName, Name, subject},
};
