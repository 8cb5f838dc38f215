//! Upper limits of files and of searches.

/// Larger files are not key stores: MariaDB's limit is 1 MiB, and 16 MiB hold more than 50,000 keys in MySQL's formats.
pub const MAX_STORE_BYTES: u64 = 16 << 20;

/// Upper limit of the search for PBKDF2 rounds: twenty times OpenSSL's default. A wrong password then takes one to two
/// seconds.
pub(crate) const MAX_ROUNDS: u32 = 200_000;
