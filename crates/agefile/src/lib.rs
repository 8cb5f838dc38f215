//! age files (version 1) for X25519 recipients: written and read as streams, and opened by `age -d` as well.
//!
//! [`Encryptor`] wraps a [`Write`](std::io::Write) and [`Decryptor`] a [`Read`](std::io::Read); neither holds more than two
//! chunks of 64 KiB. A file names each of its [`Recipient`]s in its header, and any [`Identity`] of them opens it. Files in
//! ASCII armor and files for passphrases are not read here.
//!
//! All input is hostile: nothing here panics, a header is at most 1 MiB, and no byte is handed out that has not been
//! authenticated. age says nothing of who made a file: anybody who knows a recipient can.
//!
//! Sources: C2SP age specification (`c2sp.org/age`); BIP-0173 (Bech32) for how keys are written. Both are confirmed on the
//! vectors in testdata/age and with the `age` program.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]
#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, reason = "tests build their own bytes")
)]

mod bech32;
mod decrypt;
mod encrypt;
mod error;
mod file_key;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod header;
mod identity;
mod recipient;
mod stream;
mod x25519;

pub use crate::decrypt::Decryptor;
pub use crate::encrypt::Encryptor;
pub use crate::error::{Error, HeaderFault, IdentityFileError, KeyError, PayloadFault};
pub use crate::header::MAX_RECIPIENTS;
pub use crate::identity::Identity;
pub use crate::recipient::Recipient;
pub use crate::stream::CHUNK_BYTES;
