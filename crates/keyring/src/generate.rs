//! New keys for MariaDB's `file_key_management`, in a file that is encrypted as the server expects it
//! without further options: as by `openssl enc -aes-256-cbc -md sha1`.

use std::fmt::Write as _;

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use crate::{error::KeyringError, salted};

/// Bytes of a key.
const KEY_BYTES: usize = 32;
/// Random bytes of a password, which is written in twice as many digits: the server takes 256.
const PASSWORD_BYTES: usize = 64;
/// Characters of a line besides the key: number, semicolon, line end.
const LINE_BYTES: usize = 16;

/// A random password, in digits that every editor shows.
///
/// # Errors
/// [`KeyringError::Cipher`] if the system gives no random bytes.
pub fn new_password() -> Result<Zeroizing<Vec<u8>>, KeyringError> {
    let mut digits = Zeroizing::new(String::with_capacity(2 * PASSWORD_BYTES));
    add_random(&mut digits, PASSWORD_BYTES)?;
    Ok(Zeroizing::new(digits.as_bytes().to_vec()))
}

/// A key file with random keys 1 to `keys`, encrypted with a password.
///
/// # Errors
/// [`KeyringError::Cipher`] if the system gives no random bytes.
pub fn new_key_file(keys: u32, password: &[u8]) -> Result<Vec<u8>, KeyringError> {
    let lines = usize::try_from(keys).unwrap_or(usize::MAX);
    // Room from the start: a text that grows leaves keys behind.
    let room = lines.saturating_mul(2 * KEY_BYTES + LINE_BYTES);
    let mut text = Zeroizing::new(String::with_capacity(room));
    for id in 1..=keys {
        let _ = write!(text, "{id};");
        add_random(&mut text, KEY_BYTES)?;
        text.push('\n');
    }
    salted::seal(text.as_bytes(), password)
}

fn add_random(text: &mut String, bytes: usize) -> Result<(), KeyringError> {
    let mut random = Zeroizing::new(vec![0; bytes]);
    SystemRandom::new().fill(&mut random).map_err(|_| KeyringError::Cipher)?;
    for byte in random.iter() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Derivation, MariaDbKeys};

    #[test]
    fn a_new_key_file_opens_with_its_password_as_the_server_opens_it() {
        let password = new_password().unwrap();
        let file = new_key_file(3, &password).unwrap();
        assert!(!file.windows(2).any(|window| window == b"1;"), "it is encrypted");
        let keys = MariaDbKeys::load_derived(&file, Some(&password), Derivation::default()).unwrap();
        assert_eq!(keys.ids().collect::<Vec<_>>(), [(1, 1), (2, 1), (3, 1)]);
        assert_ne!(keys.get(1, 1).unwrap().as_bytes(), keys.get(2, 1).unwrap().as_bytes());
        assert!(keys.damage().is_empty());
        assert!(MariaDbKeys::load_derived(&file, Some(b"other"), Derivation::default()).is_err());
        assert_ne!(new_key_file(3, &password).unwrap(), file);
    }
}
