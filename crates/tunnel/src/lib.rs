//! A local socket for a remote server, over TLS 1.3 connections that are opened in advance.
//!
//! - [`Near`] runs next to the client: clients connect to it as if it were the server;
//! - [`Far`] runs next to the server: it accepts links of near ends with a certificate of its
//!   authority.
//!
//! A link is one TLS connection between the two. It serves one session after the other, so a client
//! never waits for a handshake. The near end keeps spare links, and for the clients it expects each
//! of them already has a fresh server connection whose greeting has arrived.
#![forbid(unsafe_code)]

pub mod address;
mod copier;
mod credentials;
mod error;
mod far;
#[cfg(feature = "fuzzing")]
#[expect(clippy::expect_used, reason = "there is nothing to fuzz without them")]
pub mod fuzzing;
mod greeting;
mod link;
mod listener;
mod local_stream;
mod memory;
mod message;
mod metrics;
mod near;
mod proxy;
mod rate_limited_log;
mod runtime;
mod server_stream;
mod signals;
mod socket;
mod stream_socket;

use std::time::Duration;

pub use crate::{
    credentials::Credentials,
    error::Error,
    far::{Far, FarOptions, ServerAddress, ServerTls},
    listener::{Listen, SocketAccess},
    near::{Near, NearOptions, ReachedFarEnd},
    proxy::ProxyVersion,
    runtime::run,
};

/// Time limit of the first connection at startup; the other side may come up later.
const FIRST_CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// The last line of an end's log.
const STOPPED: &str = "stopped";

/// Receives lines for the operator.
pub type Log = dyn Fn(&str) + Send + Sync;
