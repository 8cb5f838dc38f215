//! Captures the packets of a server's ports and determines from their bytes which connections are encrypted.
//!
//! [`watch`] reads packets of this host, [`read_file`] those of a capture file. A packet comes from the kernel filter
//! or the file. [`packet`] parses its headers, [`FlowTable`] assigns it to a connection and keeps the first bytes of
//! each direction, and [`classify()`] recognises the protocol from them. [`Outcome`] is the result.
//!
//! Nothing is sent. Of the data only a few bytes of protocol headers are reported, as evidence: never a name, a
//! password, a statement or a row. Memory use is limited, whatever arrives.

#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]
#![warn(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute lengths"))]

mod capture;
mod classify;
mod error;
mod file;
mod flow;
mod outcome;
pub mod packet;
mod service;
mod stream;
mod traffic;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::Timestamp;

pub use classify::{Class, Direction, Entropy, Evidence, Protocol, Side, State, Tls, classify};
pub use error::Error;
pub use flow::{FlowTable, Seen};
pub use outcome::{Origin, Outcome, SCHEMA, Verdict};
pub use service::{MAX_PORTS, Ports, Service};
pub use traffic::{Counts, Traffic};

/// Captures this host's packets for `time`, or until `stop` is set. Calls `begun` once the capture runs.
///
/// # Errors
/// [`Error::NotPermitted`], [`Error::NoInterface`], [`Error::TooManyPorts`], [`Error::Socket`].
pub fn watch(
    ports: &Ports,
    interface: Option<&str>,
    time: Duration,
    stop: &AtomicBool,
    begun: impl FnOnce(),
) -> Result<Outcome, Error> {
    let capture = capture::Capture::open(&ports.numbers(), interface)?;
    begun();
    let from = Timestamp::now();
    let mut table = FlowTable::new(ports.clone());
    capture.run(&mut table, time, stop)?;
    let origin = interface.map_or(Origin::AllInterfaces, |name| Origin::Interface(name.to_owned()));
    Ok(Outcome::new(origin, ports.numbers(), (from, Timestamp::now()), table.finish()))
}

/// Reads the packets of a file.
///
/// # Errors
/// [`Error::File`], [`Error::NotACapture`], [`Error::Damaged`], [`Error::LinkType`].
pub fn read_file(path: &Path, ports: &Ports) -> Result<Outcome, Error> {
    let mut table = FlowTable::new(ports.clone());
    let is_cut = file::read(path, &mut table)?;
    let (origin, seen) = (Origin::File(path.to_owned()), table.finish());
    let from = seen.first.unwrap_or(Timestamp::UNIX_EPOCH);
    let outcome = Outcome::new(origin, ports.numbers(), (from, seen.last.unwrap_or(from)), seen);
    Ok(Outcome { is_cut, ..outcome })
}
