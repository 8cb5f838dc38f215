//! Encryption of binary and relay logs: MySQL encrypts the whole log, MariaDB and Percona Server
//! 5.7 each event.
//!
//! MySQL wraps a random password in a 512-byte header. The password gives the log's key and
//! counter; everything after the header is one stream in counter mode. MariaDB encrypts each event
//! with a key of its key file and a nonce made of the log's nonce and the event's offset; only the
//! event's length stays readable. Percona Server 5.7 does the same with a key of the keyring, and
//! encrypts the nonce and offset before it uses them.
//!
//! Source: docs/formats, "MySQL binary / relay log encryption" and "Binary / relay log" of MariaDB; MySQL 9.7, MariaDB
//! 10.11 (both modes) and Percona Server 5.7.22 confirmed on testdata.

mod events;
mod events_key;
mod mysql_header;
mod mysql_stream;
mod run;
mod stream_key;
mod wrapping;

pub use self::{
    events::{EventMode, EventPieces, MariaDbEvents},
    events_key::EventsKey,
    mysql_header::{HeaderFault, MySqlHeader},
    mysql_stream::MySqlStream,
    stream_key::StreamKey,
};

/// Bytes of the password in the header of MySQL's logs.
const PASSWORD_BYTES: usize = 32;
/// Bytes of the nonce in MariaDB's start-encryption event.
pub const NONCE_BYTES: usize = 12;
