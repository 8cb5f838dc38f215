//! Statements.

use std::borrow::Cow;

use crate::{
    Fault,
    bytes::Bytes,
    event::{compressed::decompress, status::StatusVariables},
};

/// Fixed part before MySQL 5.0, without the length of the variables.
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
    /// The session's variables at that time.
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

    /// MariaDB's `log_bin_compress`.
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
