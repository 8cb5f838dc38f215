//! TLS 1.3 (RFC 8446): between two sides of this program with mutual authentication, and for listeners that other
//! programs use.
//!
//! - [`client_config`] and [`server_config`]: the rustls configurations for an identity of `pki`;
//! - [`public_server_config`]: that of a listener whose clients may have no certificate;
//! - [`Handshake`]: performed by rustls, up to the [`RecordKeys`] of both directions;
//! - [`record`]: the record layer between the caller's memory and the wire.
#![forbid(unsafe_code)]

mod config;
mod describe;
mod handshake;
mod keys;
pub mod record;

pub use crate::{
    config::{SUITES, client_config, provider, public_server_config, server_config},
    describe::describe,
    handshake::{Handshake, Step},
    keys::RecordKeys,
};

/// Type of a handshake message with a ticket for resumption (RFC 8446, appendix B.3).
pub const NEW_SESSION_TICKET: u8 = 4;
/// Type of a handshake message that switches to the next key.
pub const KEY_UPDATE: u8 = 24;
/// A complete `KeyUpdate` that does not request one in return.
pub const OUR_KEY_UPDATE: [u8; 5] = [KEY_UPDATE, 0, 0, 1, 0];
