//! TLS 1.3 (RFC 8446), both sides known to each other, no other mode.
//!
//! - [`Identity`] and [`Authorities`]: who this side is, and whom it believes;
//! - [`client_config`] and [`server_config`]: what rustls is told;
//! - [`Handshake`]: by rustls, up to the [`RecordKeys`] of both directions;
//! - [`record`]: the record layer between the caller's memory and the wire.
#![forbid(unsafe_code)]

mod config;
mod describe;
mod handshake;
mod identity;
mod key;
mod keys;
mod names;
pub mod record;

pub use crate::{
    config::{SUITES, client_config, provider, server_config},
    describe::describe,
    handshake::{Handshake, Step},
    identity::{Authorities, Error, Identity},
    key::{private_key, private_key_pem, read_secret},
    keys::RecordKeys,
    names::check_name,
};

/// Type of a handshake message that gives a ticket for resumption (RFC 8446, appendix B.3).
pub const NEW_SESSION_TICKET: u8 = 4;
/// Type of a handshake message that goes on to the next key.
pub const KEY_UPDATE: u8 = 24;
/// A whole `KeyUpdate` that does not ask for one in return.
pub const OUR_KEY_UPDATE: [u8; 5] = [KEY_UPDATE, 0, 0, 1, 0];
