//! Many rows at once: results row by row, statements as bytes, and `LOAD DATA LOCAL`.
//!
//! [`Connection::query`] is for a few rows of text. Here values stay bytes, rows are not collected, and sent data is
//! not copied.
//!
//! Source: MySQL's "Text Resultset", "LOCAL INFILE Request", "OK_Packet".

use std::{ops::ControlFlow, time::Duration};

use super::{Connection, ends_connection, rows::is_end};
use crate::{
    bytes::Bytes,
    error::{Error, Phase},
    packet::{self, PacketError},
};

/// The name of the file in `LOAD DATA LOCAL INFILE`. No such file is read: the rows are in memory.
pub const LOCAL_NAME: &str = "sealant-rows";

/// Takes the fields of a row; ends the query early with `Break`.
pub type EachRow<'e> = dyn FnMut(&[Option<&[u8]>]) -> ControlFlow<()> + 'e;

const COM_QUERY: u8 = 3;
/// First byte of a server's request for a local file.
const LOCAL_INFILE: u8 = 0xfb;
/// Maximum payload of a packet with rows for `LOAD DATA LOCAL`, in bytes. A server refuses one of `max_allowed_packet`, which is
/// rarely less than 1 MiB.
const PIECE_BYTES: usize = 1 << 18;

/// Content of the OK packet after a statement without rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Number of rows that were changed.
    pub affected_rows: u64,
    /// Number of warnings, at most 65,535.
    pub warnings: u16,
}

impl Connection {
    /// Executes a statement without rows.
    ///
    /// # Errors
    /// [`Error`], as [`Self::query`].
    pub fn execute(&mut self, sql: &[u8]) -> Result<Executed, Error> {
        self.send_statement(sql)?;
        let executed = self.read_executed();
        self.settled(executed)
    }

    /// Sends a query and passes each row to `each` as it arrives. A field is the text of the value, in the character
    /// set of the session's results, or `None` for NULL. Only one row is in memory at a time.
    ///
    /// Returns false if `each` has ended the query early. The connection cannot be used after that, because the server
    /// still sends rows.
    ///
    /// # Errors
    /// [`Error`], as [`Self::query`]; [`Error::ResultTooLarge`] for one row beyond the limit.
    pub fn query_rows(&mut self, sql: &[u8], each: &mut EachRow<'_>) -> Result<bool, Error> {
        self.send_statement(sql)?;
        let whole = self.read_rows(each);
        match whole {
            Ok(false) => Ok(false),
            ended => self.settled(ended),
        }
    }

    /// Executes `LOAD DATA LOCAL INFILE 'sealant-rows' …` ([`LOCAL_NAME`]) and sends `data` as the content of that
    /// file. Needs [`Options::bulk_load`](super::Options::bulk_load).
    ///
    /// # Errors
    /// [`Error`], as [`Self::query`]; [`Error::LocalInfileRefused`] if the server asks for another file.
    pub fn load_data(&mut self, sql: &[u8], data: &[u8]) -> Result<Executed, Error> {
        self.send_statement(sql)?;
        let executed = self.answer_local_infile(data);
        self.settled(executed)
    }

    fn send_statement(&mut self, sql: &[u8]) -> Result<(), Error> {
        if self.broken {
            return Err(Error::Lost { phase: Phase::Statement });
        }
        self.allow(self.io_timeout());
        // The connection is usable again only after the whole answer was read.
        self.broken = true;
        self.in_transaction = true;
        self.send_bulk(&mut 0, &[COM_QUERY], sql)
    }

    /// Marks the connection as usable again, unless the error ends it.
    fn settled<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        self.broken = result.as_ref().err().is_some_and(ends_connection);
        result
    }

    fn answer_local_infile(&mut self, data: &[u8]) -> Result<Executed, Error> {
        let mut sequence = 0;
        let request = self.receive(&mut sequence, 1 << 16, Phase::Statement)?;
        match request.split_first() {
            Some((&LOCAL_INFILE, name)) if name == LOCAL_NAME.as_bytes() => {}
            Some((&LOCAL_INFILE, _)) => return Err(Error::LocalInfileRefused),
            _ => return executed(&request),
        }
        for piece in data.chunks(PIECE_BYTES) {
            self.allow(self.io_timeout());
            self.send_bulk(&mut sequence, &[], piece)?;
        }
        // An empty packet ends the file.
        self.send_bulk(&mut sequence, &[], &[])?;
        self.allow(self.io_timeout());
        self.read_executed()
    }

    fn read_executed(&mut self) -> Result<Executed, Error> {
        executed(&self.receive(&mut 0, 1 << 16, Phase::Statement)?)
    }

    fn read_rows(&mut self, each: &mut EachRow<'_>) -> Result<bool, Error> {
        let mut head_limit = self.max_result_bytes;
        let Some(columns) = self.read_columns(&mut head_limit)? else {
            return Err(Error::Malformed { what: "result without columns" });
        };
        let mut packet = Vec::new();
        loop {
            self.allow(self.io_timeout());
            self.receive_into(&mut packet)?;
            if is_end(&packet) {
                return Ok(true);
            }
            if packet.first() == Some(&0xff) {
                return Err(packet::server_error(&packet).unwrap_or(Error::Malformed { what: "error packet" }));
            }
            let row = raw_row(&packet, columns.len()).ok_or(Error::Malformed { what: "row" })?;
            if each(&row).is_break() {
                return Ok(false);
            }
        }
    }

    fn receive_into(&mut self, buffer: &mut Vec<u8>) -> Result<(), Error> {
        let limit = usize::try_from(self.max_result_bytes).unwrap_or(usize::MAX);
        packet::read_into(&mut self.transport, &mut 0, limit, buffer).map_err(|error| match error {
            PacketError::Io(error) => self.failure(Phase::Statement, error),
            PacketError::TooLarge => Error::ResultTooLarge { limit_bytes: self.max_result_bytes },
        })
    }

    fn send_bulk(&mut self, sequence: &mut u8, head: &[u8], body: &[u8]) -> Result<(), Error> {
        packet::write_bulk(self.transport.get_mut(), sequence, head, body)
            .map_err(|error| self.failure(Phase::Statement, error))
    }

    /// Longest wait for a piece of an answer.
    const fn io_timeout(&self) -> Duration {
        self.statement_timeout.saturating_add(Duration::from_secs(2))
    }
}

/// Reads an OK packet.
fn executed(packet: &[u8]) -> Result<Executed, Error> {
    match packet.first() {
        Some(0) => ok_packet(packet).ok_or(Error::Malformed { what: "end of a statement" }),
        Some(0xff) => Err(packet::server_error(packet).unwrap_or(Error::Malformed { what: "error packet" })),
        Some(&LOCAL_INFILE) => Err(Error::LocalInfileRefused),
        _ => Err(Error::Malformed { what: "end of a statement" }),
    }
}

fn ok_packet(packet: &[u8]) -> Option<Executed> {
    let mut bytes = Bytes::new(packet);
    bytes.take(1)?;
    let affected_rows = bytes.length_encoded()?;
    // The last insert id, and two bytes of status.
    bytes.length_encoded()?;
    bytes.take(2)?;
    Some(Executed { affected_rows, warnings: bytes.u16_le()? })
}

/// The fields of a row of the text protocol.
fn raw_row(packet: &[u8], columns: usize) -> Option<Vec<Option<&[u8]>>> {
    let mut bytes = Bytes::new(packet);
    let mut row = Vec::with_capacity(columns);
    for _ in 0..columns {
        if bytes.peek() == Some(0xfb) {
            bytes.take(1)?;
            row.push(None);
        } else {
            row.push(Some(bytes.length_encoded_string()?));
        }
    }
    bytes.is_empty().then_some(row)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_ok_packet_tells_rows_and_warnings() {
        assert_eq!(
            executed(&[0, 0xfc, 0x34, 0x12, 0, 2, 0, 7, 1]).unwrap(),
            Executed { affected_rows: 0x1234, warnings: 263 }
        );
        for cut in [&[0][..], &[0, 1], &[0, 1, 0, 2, 0, 1], &[0, 0xfc, 1], &[1, 0, 0]] {
            assert!(matches!(executed(cut), Err(Error::Malformed { .. })), "{cut:?}");
        }
    }

    #[test]
    fn a_request_for_a_file_is_no_end_of_a_statement() {
        assert!(matches!(executed(b"\xfb/etc/passwd"), Err(Error::LocalInfileRefused)));
    }

    #[test]
    fn fields_are_bytes() {
        assert_eq!(raw_row(&[2, 0xff, 0, 0xfb, 0], 3), Some(vec![Some(&[0xff, 0][..]), None, Some(&[][..])]));
        assert_eq!(raw_row(&[1, b'a', 1], 1), None);
        assert_eq!(raw_row(&[0xfc, 0xff, 0xff, 1], 1), None);
    }

    proptest! {
        #[test]
        fn hostile_answers_never_panic(data: Vec<u8>, columns in 0_usize..8) {
            let _ = raw_row(&data, columns);
            let _ = executed(&data);
        }
    }
}
