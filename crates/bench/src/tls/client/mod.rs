//! A minimal MySQL client: it does only what a driver does to connect and query, so that the times are those of server,
//! network and TLS.
//!
//! Packets follow the server's documentation, "Client/Server Protocol": a length of three bytes, then a sequence number
//! of one byte. Accounts must have no password: nothing secret is ever sent.

mod login;
mod stream;

use std::io::{self, BufReader, ErrorKind, Read, Write};

use self::stream::Stream;

const OK: u8 = 0x00;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// A packet that ends the rows is shorter than this. A row that starts with the same byte is longer.
const END_BYTES: usize = 9;

/// An authenticated connection.
pub struct Client {
    /// Buffered, as in drivers. TLS has a buffer of its own, so without this buffer only plaintext arms would need a
    /// system call for each small packet.
    stream: BufReader<Stream>,
    packet: Vec<u8>,
    /// Reused by all statements, to avoid allocations.
    command: Vec<u8>,
    resumed: bool,
}

/// A statement that the server has prepared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prepared {
    id: u32,
    parameters: u16,
}

/// Value of a parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'v> {
    /// An unsigned integer of 32 bits.
    Number(u32),
    /// A string shorter than 251 bytes.
    Text(&'v str),
}

impl Value<'_> {
    /// Type in the protocol: `MYSQL_TYPE_LONGLONG`, `MYSQL_TYPE_VAR_STRING`.
    const fn kind(self) -> u8 {
        match self {
            Self::Number(_) => 0x08,
            Self::Text(_) => 0xfd,
        }
    }

    fn write(self, into: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Number(number) => into.extend_from_slice(&u64::from(number).to_le_bytes()),
            Self::Text(text) => {
                // Greater lengths are encoded in more bytes.
                let length = u8::try_from(text.len()).ok().filter(|length| *length < 251);
                into.push(length.ok_or_else(|| malformed("a value that is too long"))?);
                into.extend_from_slice(text.as_bytes());
            }
        }
        Ok(())
    }
}

/// An error that the server reported.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ServerError {
    /// Its number.
    pub(crate) code: u16,
    message: String,
}

impl Client {
    /// Whether the TLS session was resumed.
    #[must_use]
    pub const fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// Runs a query, and returns the length of its result in bytes, without packet headers.
    ///
    /// # Errors
    /// Errors of the network or the server.
    pub fn query(&mut self, sql: &str) -> io::Result<u64> {
        const COM_QUERY: u8 = 3;
        self.send(COM_QUERY, sql)?;
        self.read_result()
    }

    fn send(&mut self, code: u8, sql: &str) -> io::Result<()> {
        let mut command = Vec::with_capacity(sql.len() + 1);
        command.push(code);
        command.extend_from_slice(sql.as_bytes());
        self.write(&mut 0, &command)
    }

    /// Reads a result to its end; returns its length in bytes, without packet headers.
    fn read_result(&mut self) -> io::Result<u64> {
        let (mut bytes, mut ends) = (0, 0);
        loop {
            self.read()?;
            match self.packet.first() {
                Some(&ERROR) => return Err(refusal(&self.packet)),
                Some(&OK) if bytes == 0 => return Ok(0),
                // One end packet after the columns, one after the rows.
                Some(&END) if self.packet.len() < END_BYTES => {
                    ends += 1;
                    if ends == 2 {
                        return Ok(bytes);
                    }
                }
                _ => bytes += self.packet.len() as u64,
            }
        }
    }

    /// Prepares a statement on the server.
    ///
    /// # Errors
    /// Errors of the network or the server.
    pub(crate) fn prepare(&mut self, sql: &str) -> io::Result<Prepared> {
        const COM_STMT_PREPARE: u8 = 0x16;
        self.send(COM_STMT_PREPARE, sql)?;
        self.read()?;
        let [OK, a, b, c, d, columns_low, columns_high, low, high, ..] = *self.packet.as_slice() else {
            return Err(refusal(&self.packet));
        };
        let columns = u16::from_le_bytes([columns_low, columns_high]);
        let prepared = Prepared { id: u32::from_le_bytes([a, b, c, d]), parameters: u16::from_le_bytes([low, high]) };
        // Definitions of the parameters and of the columns, each followed by an end packet.
        for count in [prepared.parameters, columns].into_iter().filter(|count| *count > 0) {
            (0..=count).try_for_each(|_| self.read().map(drop))?;
        }
        Ok(prepared)
    }

    /// Executes a prepared statement, and reads its whole result.
    ///
    /// # Errors
    /// Errors of the network or the server; the wrong number of values.
    pub(crate) fn execute(&mut self, statement: Prepared, values: &[Value<'_>]) -> io::Result<()> {
        if usize::from(statement.parameters) != values.len() {
            return Err(malformed("the statement has another number of parameters"));
        }
        let mut command = std::mem::take(&mut self.command);
        command.clear();
        // COM_STMT_EXECUTE, without a cursor, once.
        command.push(0x17);
        command.extend_from_slice(&statement.id.to_le_bytes());
        command.extend_from_slice(&[0, 1, 0, 0, 0]);
        if !values.is_empty() {
            // No value is NULL; types follow.
            command.resize(command.len() + values.len().div_ceil(8), 0);
            command.push(1);
            values.iter().for_each(|value| command.extend_from_slice(&[value.kind(), 0]));
            values.iter().try_for_each(|value| value.write(&mut command))?;
        }
        self.write(&mut 0, &command)?;
        self.command = command;
        self.read_result().map(drop)
    }

    /// Closes the connection.
    pub fn quit(mut self) {
        // COM_QUIT. An error is ignored: the server may already have closed the connection.
        let _ = self.write(&mut 0, &[1]);
    }

    /// Reads a packet; returns its sequence number.
    fn read(&mut self) -> io::Result<u8> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        let [a, b, c, sequence] = header;
        let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        self.packet.resize(length, 0);
        self.stream.read_exact(&mut self.packet)?;
        Ok(sequence)
    }

    fn write(&mut self, sequence: &mut u8, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).map_err(io::Error::other)?.to_le_bytes();
        let mut packet = Vec::with_capacity(payload.len() + 4);
        packet.extend_from_slice(&length[..3]);
        packet.push(*sequence);
        packet.extend_from_slice(payload);
        *sequence = sequence.wrapping_add(1);
        let stream = self.stream.get_mut();
        stream.write_all(&packet)?;
        stream.flush()
    }
}

/// The server's error message: after the mark and the number, `#` and five characters of state, then text.
fn refusal(packet: &[u8]) -> io::Error {
    match packet {
        [ERROR, low, high, message @ ..] => {
            let message = if message.first() == Some(&b'#') { message.get(6..).unwrap_or_default() } else { message };
            let message = String::from_utf8_lossy(message).into_owned();
            io::Error::other(ServerError { code: u16::from_le_bytes([*low, *high]), message })
        }
        _ => malformed("an answer that no MySQL server gives"),
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_their_types_require() {
        let mut bytes = Vec::new();
        Value::Number(258).write(&mut bytes).unwrap();
        Value::Text("ab").write(&mut bytes).unwrap();
        assert_eq!(bytes, [2, 1, 0, 0, 0, 0, 0, 0, 2, b'a', b'b']);
        assert!(Value::Text(&"x".repeat(251)).write(&mut bytes).is_err());
    }

    #[test]
    fn a_refusal_quotes_the_servers_message() {
        let error = refusal(b"\xff\x10\x04Too many connections");
        assert_eq!(error.to_string(), "Too many connections");
        let denied = refusal(b"\xff\x15\x04#28000Access denied");
        assert_eq!(denied.to_string(), "Access denied");
        let denied = denied.get_ref().and_then(|error| error.downcast_ref::<ServerError>());
        assert_eq!(denied.map(|error| error.code), Some(1045));
    }
}
