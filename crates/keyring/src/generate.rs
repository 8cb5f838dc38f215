//! Generates keys for MariaDB's `file_key_management`, encrypted as the server expects by default: like `openssl enc
//! -aes-256-cbc -md sha1`.

use std::fmt::Write as _;

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use data_encoding::HEXLOWER;
use zeroize::Zeroizing;

use crate::{error::Error, openssl_enc};

/// Length of a key.
const KEY_BYTES: usize = 32;
/// Random bytes of a password. The password has two hexadecimal digits for each; the server accepts 256 characters.
const PASSWORD_BYTES: usize = 64;
/// Length of a line without the key: number, semicolon, line end.
const LINE_BYTES: usize = 16;

/// A random password in hexadecimal digits.
///
/// # Errors
/// [`Error::Cipher`] if the system has no random bytes.
pub fn new_password() -> Result<Zeroizing<Vec<u8>>, Error> {
    let digits = random_digits(PASSWORD_BYTES)?;
    Ok(Zeroizing::new(digits.as_bytes().to_vec()))
}

/// A key file with the random keys 1 to `keys`, encrypted with a password.
///
/// # Errors
/// [`Error::Cipher`] if the system has no random bytes.
pub fn new_key_file(keys: u32, password: &[u8]) -> Result<Vec<u8>, Error> {
    let lines = usize::try_from(keys).unwrap_or(usize::MAX);
    // Allocated once: reallocation would leave keys in memory.
    let capacity = lines.saturating_mul(2 * KEY_BYTES + LINE_BYTES);
    let mut text = Zeroizing::new(String::with_capacity(capacity));
    for id in 1..=keys {
        let _ = write!(text, "{id};");
        add_random(&mut text, KEY_BYTES)?;
        text.push('\n');
    }
    openssl_enc::encrypt(text.as_bytes(), password)
}

/// Random bytes in hexadecimal digits.
pub(crate) fn random_digits(bytes: usize) -> Result<Zeroizing<String>, Error> {
    let mut digits = Zeroizing::new(String::with_capacity(bytes.saturating_mul(2)));
    add_random(&mut digits, bytes)?;
    Ok(digits)
}

fn add_random(text: &mut String, bytes: usize) -> Result<(), Error> {
    let mut random = Zeroizing::new(vec![0; bytes]);
    SystemRandom::new().fill(&mut random).map_err(|_| Error::Cipher)?;
    HEXLOWER.encode_append(&random, text);
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
