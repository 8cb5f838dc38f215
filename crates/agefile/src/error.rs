//! What can be wrong with a file or a key.

use std::io;

use thiserror::Error;

use crate::header::{MAX_HEADER_BYTES, MAX_LINE_BYTES, MAX_RECIPIENTS};

/// Why a file was not written or not opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The input failed.
    #[error("cannot read the age file: {0}")]
    Read(#[source] io::Error),
    /// The output failed.
    #[error("cannot write the age file: {0}")]
    Write(#[source] io::Error),
    /// It begins with something else.
    #[error("not an age file: it does not begin with \"age-encryption.org/\"")]
    NotAge,
    /// It is text.
    #[error("an age file in ASCII armor, which only the age program reads")]
    Armored,
    /// It begins with another version than `v1`.
    #[error("an age file of a version that is not known here (known is v1)")]
    Version,
    /// The header breaks a rule of the format.
    #[error("the header of the age file is malformed in line {line}: {fault}")]
    Header {
        /// Line of the header, from 1.
        line: u64,
        /// Which rule.
        fault: HeaderFault,
    },
    /// It is for others.
    #[error("none of these identities opens it: it is not encrypted to them")]
    NoMatch,
    /// The header is not the one that was written with the file key.
    #[error("the header of the age file was changed after it was written: its MAC does not match")]
    Mac,
    /// The encrypted bytes are not those that were written.
    #[error("chunk {chunk} of the age file {fault}")]
    Payload {
        /// Number of the chunk of 64 KiB, from 0.
        chunk: u64,
        /// What is wrong.
        fault: PayloadFault,
    },
    /// Nobody could open it.
    #[error("an age file needs at least one recipient")]
    NoRecipient,
    /// The header would be too large to be read again.
    #[error("an age file can have at most {MAX_RECIPIENTS} recipients here, and {count} are asked for")]
    TooManyRecipients {
        /// How many were asked for.
        count: usize,
    },
    /// The cryptographic library failed: no random bytes, or no memory.
    #[error("the cryptographic library failed")]
    Crypto,
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

/// Which rule of the format a header breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HeaderFault {
    /// The file ends before the MAC does.
    #[error("the file ends here")]
    Truncated,
    /// More than any known recipient needs.
    #[error("the line is longer than {MAX_LINE_BYTES} bytes")]
    LongLine,
    /// More than [`MAX_RECIPIENTS`] need.
    #[error("the header is longer than {MAX_HEADER_BYTES} bytes")]
    Long,
    /// More than [`MAX_RECIPIENTS`].
    #[error("it is for more than {MAX_RECIPIENTS} recipients")]
    TooManyStanzas,
    /// The MAC follows the version.
    #[error("there is no recipient before the MAC")]
    NoStanza,
    /// It begins with neither `-> ` nor `--- `.
    #[error("neither a recipient nor the MAC begins here")]
    Start,
    /// An argument is empty, or has characters other than visible ASCII.
    #[error("an argument is empty or not visible ASCII")]
    Argument,
    /// A body's line is longer than 64 columns, or not base64 as it has to be written.
    #[error("the body is not canonical base64 in lines of 64 columns that end with a shorter one")]
    Body,
    /// The MAC is not 32 bytes in base64 as it has to be written.
    #[error("the MAC is not 32 bytes in canonical base64")]
    Mac,
    /// An X25519 recipient has another number of arguments than one behind its type.
    #[error("an X25519 recipient has more or less than one argument")]
    X25519Arguments,
    /// The ephemeral share is not 32 bytes in base64 as it has to be written.
    #[error("the share of an X25519 recipient is not 32 bytes in canonical base64")]
    X25519Share,
    /// The wrapped file key is not 32 bytes long.
    #[error("the wrapped key of an X25519 recipient is not 32 bytes long")]
    X25519Body,
    /// With that share every identity would come to the same key.
    #[error("the share of an X25519 recipient is a point of low order")]
    LowOrder,
    /// A passphrase is among other recipients, which the format forbids.
    #[error("a passphrase stands among other recipients")]
    Passphrase,
}

/// What is wrong with the encrypted bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PayloadFault {
    /// The file ends before its last chunk does.
    #[error("is missing or cut off: the file is truncated")]
    Truncated,
    /// The bytes are not those that were written, or not at that place.
    #[error("is damaged or cut off: its authentication tag does not match")]
    Damaged,
    /// The last chunk of a file that has others holds nothing.
    #[error("is empty, which only that of an empty file may be")]
    Empty,
    /// The chunk before was the last one.
    #[error("stands behind the last one: bytes were appended to the file")]
    Trailing,
}

/// Why a text is not a key. The text is never repeated: it may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A key of another kind, or none.
    #[error("it does not begin with {expected}1")]
    Prefix {
        /// What a key of this kind begins with.
        expected: &'static str,
    },
    /// A secret key where a recipient belongs.
    #[error("that is a secret key, of which only the public half belongs here")]
    Secret,
    /// Upper and lower case in one key.
    #[error("it mixes upper and lower case")]
    MixedCase,
    /// A character that Bech32 does not have.
    #[error("it has a character that no key has")]
    Character,
    /// Too short or too long.
    #[error("it is not as long as a key is")]
    Length,
    /// A typing mistake.
    #[error("its checksum does not match: a character is wrong")]
    Checksum,
    /// Whatever is encrypted to it, everybody could open.
    #[error("it is a point of low order, which protects nothing")]
    LowOrder,
}

/// Why a text is not a file of identities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IdentityFileError {
    /// A line is neither an identity nor a comment nor empty.
    #[error("line {line} is no X25519 identity of age: {error}")]
    Line {
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        error: KeyError,
    },
    /// There are only comments.
    #[error("there is no identity in it")]
    None,
}
