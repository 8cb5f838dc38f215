//! The unwrapped keys of a backup's files, encrypted to recipients of their own. A restore with these keys does not
//! need the keyring of the server.
//!
//! The format is an age file of JSON lines: [`Head`], then a [`Line`] for each key.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
};

use agefile::{Decryptor, Encryptor, Identity, Recipient};
use archive::{Error as ArchiveError, names::Number};
use data_encoding::BASE64;
use files::secret;
use innodb::{crypt::wrapped::Wrapped, keys::KeySource};
use serde::{Deserialize, Serialize};
use verify::Keys;
use zeroize::{Zeroize, Zeroizing};

use crate::Error;

const SCHEMA: &str = "sealant.backup-keys/1";
/// Maximum length of a line.
const MAX_LINE_BYTES: u64 = 1 << 10;

/// Keys of files. The map's key is the form in which files store them, wrapped with a master key.
#[derive(Default)]
pub(crate) struct FileKeys(BTreeMap<Vec<u8>, Zeroizing<Vec<u8>>>);

/// The first line, which identifies the backup.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    schema: String,
    repo: String,
    host: String,
    number: Number,
}

/// One key, both in base64.
#[derive(Serialize, Deserialize)]
struct Line {
    /// The wrapped key, as a file stores it.
    wrapped: String,
    /// The secret: a key with its initialisation vector, or the password of a binary log.
    key: String,
}

impl Head {
    pub(crate) fn new(repo: &str, host: &str, number: Number) -> Self {
        Self { schema: SCHEMA.to_owned(), repo: repo.to_owned(), host: host.to_owned(), number }
    }
}

impl FileKeys {
    /// Adds the key of a file, if the file is encrypted and `keys` can unwrap its key. `head` is the beginning of the
    /// file.
    pub(crate) fn add(&mut self, head: &[u8], keys: &dyn KeySource) {
        let Some(wrapped) = Wrapped::find(head) else { return };
        if let Ok(secret) = wrapped.unwrap(head, keys) {
            self.0.insert(wrapped.bytes().to_vec(), Zeroizing::new(secret.expose().to_vec()));
        }
    }

    /// Encrypts the keys to an age file.
    pub(crate) fn encrypt(&self, head: &Head, recipients: &[Recipient]) -> Result<Vec<u8>, Error> {
        let mut age = Encryptor::new(Vec::new(), recipients).map_err(ArchiveError::Age)?;
        let failed = |error: serde_json::Error| Error::Archive(ArchiveError::Io(error.into()));
        write_line(&mut age, &serde_json::to_vec(head).map_err(failed)?)?;
        for (wrapped, key) in &self.0 {
            let mut line = Line { wrapped: BASE64.encode(wrapped), key: BASE64.encode(key) };
            let text = serde_json::to_vec(&line).map(Zeroizing::new).map_err(failed);
            line.key.zeroize();
            write_line(&mut age, &text?)?;
        }
        Ok(age.finish().map_err(ArchiveError::Io)?)
    }

    /// Reads the age file, which must be of the same backup, and adds its keys to `into`.
    pub(crate) fn decrypt(
        input: impl Read,
        head: &Head,
        identities: &[Identity],
        into: &mut Keys,
    ) -> Result<(), ArchiveError> {
        const WRONG: ArchiveError = ArchiveError::Pack("the keys are not as the format has them");
        let mut lines = BufReader::new(Decryptor::new(input, identities)?);
        let first = read_line(&mut lines)?.and_then(|line| serde_json::from_slice::<Head>(&line).ok());
        if first.as_ref() != Some(head) {
            return Err(WRONG);
        }
        while let Some(line) = read_line(&mut lines)? {
            let line: Line = serde_json::from_slice(&line).map_err(|_| WRONG)?;
            let text = Zeroizing::new(line.key);
            let wrapped = BASE64.decode(line.wrapped.as_bytes()).map_err(|_| WRONG)?;
            let key = secret::decode_base64(text.as_bytes()).ok_or(WRONG)?;
            into.add_unwrapped(wrapped, key);
        }
        Ok(())
    }
}

fn write_line(out: &mut impl Write, line: &[u8]) -> Result<(), Error> {
    let written = out.write_all(line).and_then(|()| out.write_all(b"\n"));
    written.map_err(|error| Error::Archive(ArchiveError::Io(error)))
}

fn read_line(lines: &mut impl BufRead) -> Result<Option<Zeroizing<Vec<u8>>>, ArchiveError> {
    let mut line = Zeroizing::new(Vec::with_capacity(256));
    let read = lines.take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
    Ok((read > 0).then_some(line))
}

#[cfg(test)]
mod tests {
    use innodb::keys::KeySource;

    use super::*;

    #[test]
    fn keys_read_back_for_the_same_backup_alone() {
        let identity = Identity::generate().unwrap();
        let mut keys = FileKeys::default();
        keys.0.insert(vec![1; 64], Zeroizing::new(vec![2; 64]));
        let head = Head::new("repo", "db1", 7);
        let bytes = keys.encrypt(&head, &[identity.recipient()]).unwrap();
        let identities = [identity];
        let mut found = Keys::default();
        FileKeys::decrypt(bytes.as_slice(), &head, &identities, &mut found).unwrap();
        assert_eq!(found.unwrapped(&[1; 64]).unwrap().as_slice(), [2; 64]);
        assert!(found.unwrapped(&[2; 64]).is_none() && found.has_mysql());
        let other = Head::new("repo", "db1", 8);
        assert!(FileKeys::decrypt(bytes.as_slice(), &other, &identities, &mut found).is_err());
        let others = [Identity::generate().unwrap()];
        assert!(FileKeys::decrypt(bytes.as_slice(), &head, &others, &mut found).is_err());
    }
}
