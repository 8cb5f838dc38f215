//! Query events: statements, with their session variables.

use std::borrow::Cow;

use crate::{
    Checksum, EventHeader, EventType, Fault, HEADER_BYTES,
    bytes::Bytes,
    checksum::{CHECKSUM_BYTES, crc32},
    event::{compressed::decompress, status::StatusVariables},
};

/// Length of the fixed part before MySQL 5.0, without the length of the variables.
const OLD_POST_HEADER_BYTES: u8 = 11;

/// A statement. Also `BEGIN` and, for engines without transactions, `COMMIT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<'e> {
    /// Number of the connection.
    pub thread_id: u32,
    /// Duration of the statement in seconds.
    pub seconds: u32,
    /// Error number with which the statement ended on the source.
    pub error_code: u16,
    /// The session's variables during the statement, encoded.
    pub status: &'e [u8],
    /// Current database, may be empty.
    pub database: &'e [u8],
    /// Text, in the client's character set.
    pub statement: Cow<'e, [u8]>,
}

impl<'e> Query<'e> {
    pub(crate) fn parse(bytes: Bytes<'e>, post_header: Option<u8>) -> Result<Self, Fault> {
        let has_status = post_header != Some(OLD_POST_HEADER_BYTES);
        let (mut query, rest) = Self::head(bytes, has_status)?;
        query.statement = Cow::Borrowed(rest);
        Ok(query)
    }

    /// Decompresses a statement of MariaDB's `log_bin_compress`.
    pub(crate) fn decompress(bytes: Bytes<'e>, limit: u64) -> Result<Self, Fault> {
        let (mut query, rest) = Self::head(bytes, true)?;
        query.statement = Cow::Owned(decompress(rest, "statement", limit)?);
        Ok(query)
    }

    /// The statement's variables, as far as they are known.
    #[must_use]
    pub fn variables(&self) -> StatusVariables<'e> {
        StatusVariables::parse(self.status)
    }

    /// Replaces the statement in a query event, and updates its length and checksum. `event` has the bytes from the
    /// log.
    ///
    /// # Errors
    /// [`Fault`] if it is not the event of a statement.
    pub fn with_statement(event: &[u8], statement: &[u8]) -> Result<Vec<u8>, Fault> {
        const LENGTH_AT: usize = 9;
        const WHAT: &str = "query event";
        let header = EventHeader::parse(event)?;
        if header.kind != EventType::QUERY {
            return Err(Fault::Misplaced(header.kind));
        }
        let summed = Checksum::Crc32.strip(event, header.kind);
        let (covered, has_checksum) = summed.map_or((event, false), |covered| (covered, true));
        let (_, content) = covered.split_at_checked(HEADER_BYTES).ok_or(Fault::Short { what: WHAT })?;
        let old = Query::parse(Bytes::new(content, WHAT), None)?.statement.len();
        let mut made = covered.get(..covered.len().saturating_sub(old)).unwrap_or_default().to_vec();
        made.extend_from_slice(statement);
        let bytes = made.len().saturating_add(if has_checksum { CHECKSUM_BYTES } else { 0 });
        let length = u32::try_from(bytes).map_err(|_| Fault::Malformed { what: WHAT })?.to_le_bytes();
        for (to, byte) in made.iter_mut().skip(LENGTH_AT).zip(length) {
            *to = byte;
        }
        if has_checksum {
            made.extend(crc32(&made, header.kind).to_le_bytes());
        }
        Ok(made)
    }

    fn head(mut bytes: Bytes<'e>, has_status: bool) -> Result<(Self, &'e [u8]), Fault> {
        let (thread_id, seconds) = (bytes.u32()?, bytes.u32()?);
        let (database_bytes, error_code) = (bytes.u8()?, bytes.u16()?);
        let status = if has_status { bytes.prefixed(2)? } else { &[] };
        let database = bytes.take(usize::from(database_bytes))?;
        if bytes.u8()? != 0 {
            return Err(bytes.malformed());
        }
        let query = Self { thread_id, seconds, error_code, status, database, statement: Cow::Borrowed(&[]) };
        Ok((query, bytes.rest()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_replaced_with_length_and_checksum() {
        let body = [&[7, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0][..], b"shop\0", b"DROP TABLE t"].concat();
        let mut event = vec![1, 0, 0, 0, 2, 9, 0, 0, 0];
        let bytes = u32::try_from(HEADER_BYTES + body.len()).unwrap();
        event.extend(bytes.to_le_bytes());
        event.extend([0; 6]);
        event.extend(&body);
        let clear = Query::with_statement(&event, b"BEGIN").unwrap();
        assert_eq!((clear.len(), clear.ends_with(b"shop\0BEGIN")), (event.len() - 7, true));
        let summed = |event: &[u8]| {
            let mut summed = event.to_vec();
            summed[9..13].copy_from_slice(&u32::try_from(event.len() + 4).unwrap().to_le_bytes());
            let sum = crc32(&summed, EventType::QUERY).to_le_bytes();
            summed.extend(sum);
            summed
        };
        assert_eq!(Query::with_statement(&summed(&event), b"BEGIN").unwrap(), summed(&clear));
        event[4] = 19;
        assert_eq!(Query::with_statement(&event, b"BEGIN").unwrap_err(), Fault::Misplaced(EventType::TABLE_MAP));
    }
}
