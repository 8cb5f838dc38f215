//! A local socket to a remote server over warm TLS 1.3 connections.
//!
//! - [`Near`] is beside the client: clients connect to it as if the server were there;
//! - [`Far`] is beside the server: it takes links of near ends that its authority has certified.
//!
//! A link is one TLS connection between the two. It serves one session after the other, so that a
//! client never waits for a handshake; the near end keeps links ahead of its clients, and for the clients that it
//! expects each of these has a fresh server connection already, whose greeting is here.
#![forbid(unsafe_code)]

pub mod address;
mod credentials;
mod error;
mod far;
#[cfg(feature = "fuzzing")]
#[expect(clippy::expect_used, reason = "there is nothing to fuzz without them")]
pub mod fuzzing;
mod greeting;
mod link;
mod listener;
mod local;
mod memory;
mod message;
mod metrics;
mod near;
mod proxy;
mod pump;
mod rate_limited_log;
mod runtime;
mod signals;
mod socket;
mod wire;

pub use crate::{
    credentials::Credentials,
    error::Error,
    far::{Far, FarOptions, ServerAddress, ServerTls},
    listener::{Listen, SocketAccess},
    near::{FarAddress, Near, NearOptions},
    proxy::ProxyVersion,
    runtime::run,
};

/// Where lines for the operator go.
pub type Log = dyn Fn(&str) + Send + Sync;
