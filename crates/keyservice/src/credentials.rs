//! Tokens and other credentials, from files.

use std::{
    io,
    path::{Path, PathBuf},
};

use files::regular::{self, Links};
use zeroize::Zeroizing;

use crate::error::Error;

/// Maximum length of a credential: a Vault token has fewer than 200 characters, a batch token fewer than 1000.
const MAX_BYTES: usize = 1 << 15;

/// How to authenticate to a Vault.
#[derive(Clone)]
pub enum Login {
    /// A file with a token.
    TokenFile(PathBuf),
    /// A token that a server's configuration contains.
    Token(Zeroizing<String>),
    /// The method AppRole.
    AppRole(AppRole),
}

/// Credentials of the method AppRole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppRole {
    /// Mount point of the method below `auth/`; `approle` by default.
    pub mount: String,
    /// File with the role id.
    pub role_id_file: PathBuf,
    /// File with the secret id.
    pub secret_id_file: PathBuf,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TokenFile(path) => f.debug_tuple("TokenFile").field(path).finish(),
            Self::Token(_) => f.write_str("Token"),
            Self::AppRole(role) => f.debug_tuple("AppRole").field(role).finish(),
        }
    }
}

/// The only line of a file, without blanks around it.
pub(crate) fn read(path: &Path, what: &'static str) -> Result<Zeroizing<String>, Error> {
    let bytes = bytes_of(path).map_err(|source| Error::Credentials { path: path.to_owned(), source })?;
    plain(&bytes).ok_or_else(|| Error::NoCredential { path: path.to_owned(), what })
}

/// Text that is valid in a header: letters, digits and signs, without blanks.
pub(crate) fn plain(bytes: &[u8]) -> Option<Zeroizing<String>> {
    let text = std::str::from_utf8(bytes).ok()?.trim_ascii();
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_plain.then(|| Zeroizing::new(text.to_owned()))
}

fn bytes_of(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut file = regular::open(path, Links::Followed)?;
    let too_long = || io::Error::other(format!("is longer than {MAX_BYTES} bytes"));
    files::read_wiped(&mut file, MAX_BYTES, MAX_BYTES)?.ok_or_else(too_long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_the_only_word_of_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let word = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read(&path, "Vault token").map(|token| token.to_string()).map_err(|error| error.to_string())
        };
        assert_eq!(word("hvs.abc\n").unwrap(), "hvs.abc");
        for bad in ["", "\n", "two lines\nof text", "caf\u{e9}", "a\tb"] {
            assert!(word(bad).unwrap_err().ends_with("token: holds no Vault token"), "{bad:?}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(read(&path, "x"), Err(Error::Credentials { .. })));
        assert!(matches!(read(directory.path(), "x"), Err(Error::Credentials { .. })));
        assert_eq!(format!("{:?}", Login::Token(Zeroizing::new("hvs.abc".to_owned()))), "Token");
    }
}
