//! age files (version 1) for X25519 recipients, written and read as streams; compatible with the `age` program.
//!
//! [`Encryptor`] wraps a [`Write`](std::io::Write), [`Decryptor`] a [`Read`](std::io::Read); neither buffers more than
//! two chunks of 64 KiB. [`PartDecryptor`] decrypts parts of a file without the rest of it. The header has a stanza for
//! each [`Recipient`], and the [`Identity`] of any of them opens the file. ASCII armor and passphrases are not
//! supported.
//!
//! All input is untrusted: nothing here panics, a header is at most 1 MiB, and only authenticated bytes are returned.
//! age does not authenticate the sender: anybody who knows a recipient can write a file for it.
//!
//! Sources: C2SP age specification (`c2sp.org/age`); BIP-0173 (Bech32) for the text of keys. Both are confirmed with
//! the vectors in testdata/age and the `age` program.
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
mod limits;
mod part;
mod recipient;
mod stream;
mod x25519;

pub use crate::decrypt::Decryptor;
pub use crate::encrypt::Encryptor;
pub use crate::error::{Error, HeaderFault, KeyFault, PayloadFault};
pub use crate::header::{ARMOR, FORMAT};
pub use crate::identity::Identity;
pub use crate::limits::MAX_RECIPIENTS;
pub use crate::part::PartDecryptor;
pub use crate::recipient::{IDENTITY_PREFIX, Recipient};
pub use crate::stream::CHUNK_BYTES;
