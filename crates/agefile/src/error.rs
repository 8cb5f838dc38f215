//! Errors of files and keys.

use std::io;

use thiserror::Error;

use crate::limits::{MAX_HEADER_BYTES, MAX_LINE_BYTES, MAX_RECIPIENTS};

/// Why an age file could not be written or opened, or an identity file could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The input could not be read.
    #[error("cannot read the age file: {0}")]
    Read(#[source] io::Error),
    /// The output could not be written.
    #[error("cannot write the age file: {0}")]
    Write(#[source] io::Error),
    /// The file does not begin as age files do.
    #[error("not an age file: it does not begin with \"age-encryption.org/\"")]
    NotAge,
    /// The file is ASCII-armored.
    #[error("the age file is in ASCII armor, which is not supported here; the age program reads it")]
    Armored,
    /// The version is not `v1`.
    #[error("the version of the age file is not supported; v1 is")]
    Version,
    /// The header breaks a rule of the format.
    #[error("the header of the age file is malformed in line {line}: {fault}")]
    Header {
        /// Line of the header, from 1.
        line: u64,
        /// The broken rule.
        fault: HeaderFault,
    },
    /// The file is for other recipients.
    #[error("none of these identities opens it: it is not encrypted to them")]
    NoMatch,
    /// The header's MAC does not match: it was changed after it was written.
    #[error("the header of the age file was changed after it was written: its MAC does not match")]
    Mac,
    /// The payload was changed after it was written.
    #[error("chunk {chunk} of the age file {fault}")]
    Payload {
        /// Number of the chunk of 64 KiB, from 0.
        chunk: u64,
        /// What is wrong.
        fault: PayloadFault,
    },
    /// The list of recipients is empty.
    #[error("an age file needs at least one recipient")]
    NoRecipient,
    /// The header would exceed what readers accept.
    #[error("an age file can have at most {MAX_RECIPIENTS} recipients; {count} were given")]
    TooManyRecipients {
        /// Number of recipients that were given.
        count: usize,
    },
    /// A line of an identity file is neither an identity nor a comment nor empty.
    #[error("line {line} is not an X25519 identity of age: {fault}")]
    IdentityLine {
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        fault: KeyFault,
    },
    /// An identity file has only comments and empty lines.
    #[error("there is no identity in it")]
    NoIdentity,
    /// The cryptographic library failed: it has no random bytes or no memory.
    #[error("the cryptographic library failed")]
    Crypto,
}

impl Error {
    /// Advice for the user on what to do next, if there is any.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoMatch => "give the identity of one of the recipients that it was encrypted to",
            Self::IdentityLine { .. } | Self::NoIdentity => "an identity file is what `age-keygen -o FILE` writes",
            _ => return None,
        })
    }
}

impl From<aws_lc_rs::error::Unspecified> for Error {
    fn from(_: aws_lc_rs::error::Unspecified) -> Self {
        Self::Crypto
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Read(error) | Error::Write(error) => error,
            Error::Crypto => Self::other(error),
            _ => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}

/// The rule of the format that a header breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HeaderFault {
    /// The file ends before the MAC does.
    #[error("the file ends here")]
    Truncated,
    /// The line is longer than any known recipient needs.
    #[error("the line is longer than {MAX_LINE_BYTES} bytes")]
    LongLine,
    /// The header is longer than [`MAX_RECIPIENTS`] recipients need.
    #[error("the header is longer than {MAX_HEADER_BYTES} bytes")]
    Long,
    /// There are more than [`MAX_RECIPIENTS`] recipients.
    #[error("it is for more than {MAX_RECIPIENTS} recipients")]
    TooManyStanzas,
    /// The MAC follows the version at once.
    #[error("there is no recipient before the MAC")]
    NoStanza,
    /// The line begins with neither `-> ` nor `--- `.
    #[error("neither a recipient nor the MAC begins here")]
    Start,
    /// An argument is empty, or has characters other than visible ASCII.
    #[error("an argument is empty or not visible ASCII")]
    Argument,
    /// A line of the body is longer than 64 columns, or is not canonical base64.
    #[error("the body is not canonical base64 in lines of 64 columns that end with a shorter one")]
    Body,
    /// The MAC is not 32 bytes in canonical base64.
    #[error("the MAC is not 32 bytes in canonical base64")]
    Mac,
    /// The number of arguments of an X25519 recipient is not one.
    #[error("an X25519 recipient has more or less than one argument")]
    X25519Arguments,
    /// The ephemeral share is not 32 bytes in canonical base64.
    #[error("the share of an X25519 recipient is not 32 bytes in canonical base64")]
    X25519Share,
    /// The wrapped file key is not 32 bytes long.
    #[error("the wrapped key of an X25519 recipient is not 32 bytes long")]
    X25519Body,
    /// The share yields the same shared key with every identity.
    #[error("the share of an X25519 recipient is a point of low order")]
    LowOrder,
    /// A passphrase recipient is not the only one, which the format forbids.
    #[error("a passphrase recipient must be the only one")]
    Passphrase,
}

/// What is wrong with a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PayloadFault {
    /// The file ends before its last chunk does.
    #[error("is missing or cut off: the file is truncated")]
    Truncated,
    /// The bytes were changed, or the chunk is at another position.
    #[error("is damaged or cut off: its authentication tag does not match")]
    Damaged,
    /// The last chunk of a file with several chunks is empty.
    #[error("is empty, which is allowed only in an empty file")]
    Empty,
    /// Bytes follow the last chunk.
    #[error("follows the last one: bytes were appended to the file")]
    Trailing,
}

/// Why a text is not a key. The error never contains the text: it may be secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyFault {
    /// A key of another kind, or no key.
    #[error("it does not begin with {expected}1")]
    Prefix {
        /// Prefix of keys of the expected kind.
        expected: &'static str,
    },
    /// A secret key, where a recipient is expected.
    #[error("it is a secret key; use its public half")]
    Secret,
    /// The key mixes upper and lower case.
    #[error("it mixes upper and lower case")]
    MixedCase,
    /// A character that Bech32 does not use.
    #[error("it has a character that is not valid in a key")]
    Character,
    /// The key is too short or too long.
    #[error("its length is not that of a key")]
    Length,
    /// The checksum does not match.
    #[error("its checksum does not match: a character is wrong")]
    Checksum,
    /// Everybody could open what is encrypted to this key.
    #[error("it is a point of low order, which protects nothing")]
    LowOrder,
}
