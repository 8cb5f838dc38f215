//! Audits the servers of a fleet again and again, each on its own schedule, and serves the results over HTTP.
//!
//! - [`Config`]: the configuration file;
//! - [`Monitor`]: audits by a pool of threads, keeps the last facts of each server on disk, and logs what changes;
//! - [`SourceView`]: metrics of other processes of this host, which are passed on;
//! - [`serve()`]: the listeners, with `/metrics`, `/healthz` and the report at `/`;
//! - [`check_once`] and [`Check`]: one round, and one line about it, for monitoring systems that run plug-ins.
//!
//! A light round queries the server and probes its ports; a full round also reads files and host. The pages combine the
//! findings of the last light round with those of the last full round that need files or host.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation, clippy::arithmetic_side_effects)]

mod access;
mod check;
mod config;
mod error;
mod exposition;
mod http;
mod measurements;
mod monitor;
mod packed;
mod round;
mod schedule;
mod serve;
mod sources;
mod state;
mod view;

pub use crate::{
    check::{Check, Level, check_once},
    config::Config,
    error::Error,
    exposition::{Family, Sample},
    http::{Page, Render},
    measurements::{CertificateExpiry, KeyRotation, Measurements},
    monitor::{Log, Monitor},
    schedule::Scope,
    serve::serve,
    sources::SourceView,
    view::{ServerView, View},
};
