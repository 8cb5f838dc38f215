//! Binary logs of MySQL and MariaDB, decoded into events and row changes.
//!
//! - [`Decoder`]: the bytes of one event become an [`Event`], its checksum is compared; no input or output;
//! - [`event`]: the content of events, one type for each kind;
//! - [`value`]: the values of rows, decoded without loss, and their types;
//! - [`LogFile`]: the events of a log file, encrypted or not;
//! - [`replica`]: the events that a server sends to a replica.
//!
//! All input is untrusted: nothing here panics, and memory is at most a constant multiple of an event's length, within
//! [`Limits`].

#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]
#![warn(clippy::arithmetic_side_effects)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        reason = "tests build their own bytes"
    )
)]

mod bytes;
mod checksum;
mod decoder;
mod error;
pub mod event;
mod event_type;
mod fault;
mod header;
mod limits;
mod log_file;
pub mod replica;
mod tables;
pub mod value;

pub use checksum::Checksum;
pub use decoder::Decoder;
pub use error::Error;
pub use event::{Body, Event};
pub use event_type::EventType;
pub use fault::Fault;
pub use header::{EventHeader, HEADER_BYTES};
pub use limits::Limits;
pub use log_file::LogFile;
pub use value::{Column, ColumnType, Value};
