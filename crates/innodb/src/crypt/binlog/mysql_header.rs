//! The header of an encrypted MySQL log: the name of its master key, and the password, wrapped with that key.

use super::{PASSWORD_BYTES, mysql_stream::MySqlStream};
use crate::{
    binlog::MYSQL_HEADER_BYTES,
    bytes::{Bytes, all_zero, as_u64},
    crypt::aes::{BLOCK, Block, CipherFault},
    keys::{BINARY_LOG_KEY_PREFIX, MASTER_KEY_BYTES},
};

/// The header of an encrypted MySQL log, with the password still wrapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MySqlHeader {
    /// Name of the master key in the keyring, `MySQLReplicationKey_<server uuid>_<n>`.
    pub key_name: String,
    /// `true` if only zeros follow the fields, as the server writes it.
    pub padded_with_zeros: bool,
    pub(super) password: [u8; PASSWORD_BYTES],
    pub(super) iv: Block,
}

/// Why a header cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderFault {
    /// Unknown header version.
    #[error("version {0} of the header is not known")]
    Version(u8),
    /// Unknown field type.
    #[error("field {field} at offset {offset} is not known")]
    Field {
        /// Type of the field.
        field: u8,
        /// Offset of the field in the header, in bytes.
        offset: u64,
    },
    /// A required field is missing, cut off or duplicated.
    #[error("the {0} is missing, cut off or duplicated")]
    Missing(&'static str),
    /// The key name does not have the form of a binary log key.
    #[error("the key has no name of the form {BINARY_LOG_KEY_PREFIX}<server uuid>_<number>")]
    KeyName,
}

impl MySqlHeader {
    /// Parses the header at the start of a log. The magic is not checked.
    ///
    /// # Errors
    /// [`HeaderFault`]. A changed byte inside the password or the initialisation vector cannot be
    /// detected here: only the decrypted log shows it.
    pub fn parse(log: &[u8]) -> Result<Self, HeaderFault> {
        let head = log.range(0, MYSQL_HEADER_BYTES);
        match head.array_at(4) {
            Some([1]) => {}
            Some([version]) => return Err(HeaderFault::Version(version)),
            None => return Err(HeaderFault::Missing("version")),
        }
        let mut fields = Fields::default();
        let mut at = 5_usize;
        while let Some(next) = fields.read(head, at)? {
            at = next;
        }
        let rest = head.range(at, head.len());
        fields.header(all_zero(rest))
    }

    /// Unwraps the password and derives the log's key. Unwrapping succeeds with any key: the magic
    /// at offset 0 of the decrypted stream shows whether it was the right one.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn unwrap(&self, master_key: &[u8; MASTER_KEY_BYTES]) -> Result<MySqlStream, CipherFault> {
        self.stream_key(master_key)?.stream()
    }
}

#[derive(Default)]
struct Fields {
    key_name: Option<String>,
    password: Option<[u8; PASSWORD_BYTES]>,
    iv: Option<Block>,
}

impl Fields {
    /// Parses the field at `at`. Returns the offset of the next field, `None` after the last.
    fn read(&mut self, head: &[u8], at: usize) -> Result<Option<usize>, HeaderFault> {
        let [field] = head.array_at(at).ok_or(HeaderFault::Missing("end of the fields"))?;
        let from = at.saturating_add(1);
        match field {
            // Also reached at the end of the fields, because the padding is zero.
            0 => Ok(None),
            1 => {
                let text = short_text(head, from).ok_or(HeaderFault::Missing("name of the key"))?;
                once(&mut self.key_name, key_name(text), "name of the key")?;
                Ok(Some(from.saturating_add(1).saturating_add(text.len())))
            }
            2 => {
                once(&mut self.password, head.array_at(from), "password")?;
                Ok(Some(from.saturating_add(PASSWORD_BYTES)))
            }
            3 => {
                once(&mut self.iv, head.array_at(from), "initialisation vector")?;
                Ok(Some(from.saturating_add(BLOCK)))
            }
            field => Err(HeaderFault::Field { field, offset: as_u64(at) }),
        }
    }

    fn header(self, padded_with_zeros: bool) -> Result<MySqlHeader, HeaderFault> {
        let key_name = self.key_name.ok_or(HeaderFault::Missing("name of the key"))?;
        if key_name.is_empty() {
            return Err(HeaderFault::KeyName);
        }
        let password = self.password.ok_or(HeaderFault::Missing("password"))?;
        let iv = self.iv.ok_or(HeaderFault::Missing("initialisation vector"))?;
        Ok(MySqlHeader { key_name, padded_with_zeros, password, iv })
    }
}

fn once<T>(field: &mut Option<T>, value: Option<T>, name: &'static str) -> Result<(), HeaderFault> {
    match value {
        Some(value) if field.is_none() => {
            *field = Some(value);
            Ok(())
        }
        _ => Err(HeaderFault::Missing(name)),
    }
}

/// Text with a length prefix of one byte.
fn short_text(head: &[u8], at: usize) -> Option<&[u8]> {
    let [length] = head.array_at(at)?;
    let from = at.checked_add(1)?;
    head.get(from..from.checked_add(usize::from(length))?)
}

/// The name if it has the right form, else `None`.
fn key_name(text: &[u8]) -> Option<String> {
    let name = str::from_utf8(text).unwrap_or_default();
    let well_formed = name.strip_prefix(BINARY_LOG_KEY_PREFIX).and_then(|rest| rest.rsplit_once('_')).is_some_and(
        |(uuid, number)| {
            uuid.len() == 36
                && uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit())
        },
    );
    Some(if well_formed { name.to_owned() } else { String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names() {
        let uuid = "95b2f013-e4cd-11f1-8c02-02fc00000001";
        let name = format!("{BINARY_LOG_KEY_PREFIX}{uuid}_12");
        assert_eq!(key_name(name.as_bytes()).as_deref(), Some(name.as_str()));
        for wrong in
            [format!("{BINARY_LOG_KEY_PREFIX}{uuid}_"), format!("{BINARY_LOG_KEY_PREFIX}{uuid}"), format!("x{name}")]
        {
            assert_eq!(key_name(wrong.as_bytes()).as_deref(), Some(""), "{wrong}");
        }
    }
}
