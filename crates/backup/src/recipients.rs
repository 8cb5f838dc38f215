//! Proves that somebody holds the identities of the recipients. Without them nobody could restore the backup.
//!
//! For each recipient a random word is encrypted to it alone; only its identity can decrypt the word. The state of the
//! host keeps the encrypted word, the hash of the answer, and when it was given:
//!
//! ```text
//! STATE/REPOSITORY/HOST/recipients.json
//! ```

use std::{
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use agefile::{Encryptor, Recipient};
use archive::{Digest, receipt::fingerprint};
use data_encoding::{BASE64, HEXLOWER};
use files::{WriteOptions, write_atomic};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Random bytes of an answer, enough not to be guessed.
const ANSWER_BYTES: usize = 10;
/// Length of a line of ASCII armor, the same as in age.
const ARMOR_COLUMNS: usize = 64;

/// A recipient and its encrypted word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Fingerprint of the recipient, as receipts show it.
    pub fingerprint: String,
    /// Public key of the recipient, `age1…`.
    pub recipient: String,
    /// The encrypted word, an age file.
    pub file: Vec<u8>,
}

impl Challenge {
    /// The age file in ASCII armor, as `age -d` reads it.
    #[must_use]
    pub fn armored(&self) -> String {
        let encoded = BASE64.encode(&self.file);
        let lines: Vec<&str> =
            encoded.as_bytes().chunks(ARMOR_COLUMNS).filter_map(|line| std::str::from_utf8(line).ok()).collect();
        format!("-----BEGIN AGE ENCRYPTED FILE-----\n{}\n-----END AGE ENCRYPTED FILE-----", lines.join("\n"))
    }
}

/// Writes the age files of challenges into a directory, which is created if it does not exist.
///
/// # Errors
/// [`Error::Io`].
pub fn write_challenges(directory: &Path, challenges: &[Challenge]) -> Result<(), Error> {
    fs::create_dir_all(directory).map_err(Error::io(directory, "cannot be created"))?;
    for challenge in challenges {
        let path = directory.join(format!("{}.age", challenge.fingerprint));
        write_atomic(&path, &challenge.file, WriteOptions::PUBLIC.replacing(true))
            .map_err(Error::io(&path, "cannot be written"))?;
    }
    Ok(())
}

/// Proofs of the recipients of a host.
#[derive(Debug)]
pub(crate) struct Recipients {
    path: PathBuf,
    known: Vec<KnownRecipient>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct KnownRecipient {
    fingerprint: String,
    /// The age file, in base64.
    challenge: String,
    /// SHA-256 of the answer.
    answer: Digest,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    proven: Option<Timestamp>,
}

impl Recipients {
    /// Reads the file; empty if it is missing or damaged.
    pub(crate) fn read(directory: &Path) -> Result<Self, Error> {
        let path = directory.join("recipients.json");
        let known = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io(&path, "cannot be read")(error)),
        };
        Ok(Self { path, known })
    }

    /// The recipients for whom nobody has proven possession of the identity.
    pub(crate) fn unproven<'r>(&self, recipients: &'r [Recipient]) -> Vec<&'r Recipient> {
        let is_proven = |recipient: &Recipient| {
            let fingerprint = fingerprint(recipient);
            self.known.iter().any(|known| known.fingerprint == fingerprint && known.proven.is_some())
        };
        recipients.iter().filter(|recipient| !is_proven(recipient)).collect()
    }

    /// Checks an answer.
    ///
    /// # Errors
    /// [`Error::Answer`] if it is the word of no recipient.
    pub(crate) fn answer(&mut self, answer: &str) -> Result<(), Error> {
        let digest = Digest::compute(answer.trim().as_bytes());
        let known = self.known.iter_mut().find(|known| known.answer == digest).ok_or(Error::Answer)?;
        known.proven.get_or_insert_with(Timestamp::now);
        self.write()
    }

    /// Returns each recipient's open challenge, or creates one.
    pub(crate) fn challenges(&mut self, unproven: &[&Recipient]) -> Result<Vec<Challenge>, Error> {
        let mut challenges = Vec::new();
        for recipient in unproven {
            let fingerprint = fingerprint(recipient);
            let kept = self.known.iter().find(|known| known.fingerprint == fingerprint);
            let file = match kept.and_then(|known| BASE64.decode(known.challenge.as_bytes()).ok()) {
                Some(file) => file,
                None => self.challenge(recipient, &fingerprint)?,
            };
            challenges.push(Challenge { fingerprint, recipient: recipient.to_string(), file });
        }
        self.write()?;
        Ok(challenges)
    }

    fn challenge(&mut self, recipient: &Recipient, fingerprint: &str) -> Result<Vec<u8>, Error> {
        let mut random = [0; ANSWER_BYTES];
        aws_lc_rs::rand::fill(&mut random).map_err(|_| Error::Randomness)?;
        let answer = HEXLOWER.encode(&random);
        let failed = |error: agefile::Error| Error::Archive(error.into());
        let mut out = Encryptor::new(Vec::new(), std::slice::from_ref(recipient)).map_err(failed)?;
        let written = out.write_all(format!("{answer}\n").as_bytes()).and_then(|()| out.finish());
        let file = written.map_err(|error| failed(agefile::Error::Write(error)))?;
        self.known.retain(|known| known.fingerprint != fingerprint);
        self.known.push(KnownRecipient {
            fingerprint: fingerprint.to_owned(),
            challenge: BASE64.encode(&file),
            answer: Digest::compute(answer.as_bytes()),
            proven: None,
        });
        Ok(file)
    }

    fn write(&self) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(&self.known).unwrap_or_default();
        write_atomic(&self.path, &text, WriteOptions::SECRET.replacing(true))
            .map_err(Error::io(&self.path, "cannot be written"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use agefile::{Decryptor, Identity};

    use super::*;

    fn opened(identity: &Identity, challenge: &Challenge) -> String {
        let mut text = String::new();
        let mut file = Decryptor::new(&*challenge.file, std::slice::from_ref(identity)).unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn only_the_word_that_was_decrypted_proves_a_recipient() {
        let directory = tempfile::tempdir().unwrap();
        let identities = [Identity::generate().unwrap(), Identity::generate().unwrap()];
        let recipients = identities.each_ref().map(Identity::recipient);
        let mut known = Recipients::read(directory.path()).unwrap();
        let challenges = known.challenges(&known.unproven(&recipients)).unwrap();
        assert_eq!(challenges.len(), 2);
        assert!(Decryptor::new(&*challenges[0].file, &identities[1..]).is_err());
        assert!(matches!(known.answer("0123456789"), Err(Error::Answer)));

        known.answer(&opened(&identities[0], &challenges[0])).unwrap();
        let mut known = Recipients::read(directory.path()).unwrap();
        assert_eq!(known.unproven(&recipients), [&recipients[1]]);
        // The other recipient's word stays the same until it is answered.
        let again = known.challenges(&known.unproven(&recipients)).unwrap();
        assert_eq!(again, challenges[1..]);
        known.answer(&opened(&identities[1], &again[0])).unwrap();
        assert!(known.unproven(&recipients).is_empty());
        let other = [Identity::generate().unwrap().recipient()];
        assert_eq!(known.unproven(&other), [&other[0]]);
    }
}
