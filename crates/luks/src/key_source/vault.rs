//! Reads a key from HashiCorp Vault: one field of a secret in a KV engine, version 2.

use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use files::secret;
use keyservice::{Access, Login};
use zeroize::Zeroizing;

use super::{RETRY, leaves_time, wait_for};
use crate::Error;
use crate::secret::Secret;

/// Location of a key in Vault.
#[derive(Debug)]
pub struct Vault {
    /// Address of Vault, `https://HOST:PORT`; `http://` only for this machine.
    pub address: String,
    /// The secret in a KV engine of version 2, such as `secret/data/mysqldata`.
    pub path: String,
    /// Name of the secret's field that holds the key.
    pub field: String,
    /// The field holds the key in base64.
    pub is_base64: bool,
    /// File that holds the token.
    pub token_file: PathBuf,
    /// Certificates of the authorities to trust for Vault's certificate; required with https.
    pub authorities: Option<PathBuf>,
}

impl Vault {
    /// Fetches the key. Retries while there is time: at boot, network and Vault may come up later.
    pub(super) fn key(&self, deadline: Instant) -> Result<Secret, Error> {
        // Check address and certificates first: that needs no token.
        self.session(Login::Token(Zeroizing::default()), deadline)?;
        wait_for(&self.token_file, deadline)?;
        loop {
            let login = Login::TokenFile(self.token_file.clone());
            let session = self.session(login, deadline)?;
            match session.secret_at(&self.path).and_then(|answer| self.field(&session, &answer)) {
                Ok(text) => return self.decoded(&text),
                Err(error) if error.may_pass() && leaves_time(deadline) => sleep(RETRY),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn session(&self, login: Login, deadline: Instant) -> Result<keyservice::Vault, Error> {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let access = Access {
            address: self.address.clone(),
            authorities: self.authorities.clone(),
            namespace: None,
            login,
            timeout: left,
        };
        Ok(keyservice::Vault::connect(&access)?)
    }

    fn field(
        &self,
        session: &keyservice::Vault,
        answer: &keyservice::Answer,
    ) -> Result<Zeroizing<String>, keyservice::Error> {
        answer.unescaped(&self.field).map_err(|fault| session.failed(&self.path, fault))
    }

    fn decoded(&self, text: &str) -> Result<Secret, Error> {
        let wrong = |reason: String| Error::KeyField { field: self.field.clone(), reason };
        if !self.is_base64 {
            return Secret::read(&mut text.as_bytes()).map_err(|error| wrong(error.to_string()));
        }
        let bytes = secret::decode_base64(text.trim_ascii().as_bytes());
        let bytes = bytes.ok_or_else(|| wrong("it is not base64".to_owned()))?;
        Secret::read(&mut bytes.as_slice()).map_err(|error| wrong(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_decoded_exactly_or_not_at_all() {
        let decoded = |is_base64: bool, text: &str| {
            let vault = Vault {
                address: "https://v".to_owned(),
                path: "x".to_owned(),
                field: "key".to_owned(),
                is_base64,
                token_file: PathBuf::new(),
                authorities: None,
            };
            vault.decoded(text).map(|key| key.bytes().to_vec()).map_err(|error| error.to_string())
        };
        assert_eq!(decoded(false, "a b\n").unwrap(), b"a b\n");
        assert_eq!(decoded(true, "AP8=\n").unwrap(), [0, 255]);
        assert!(decoded(true, "***").unwrap_err().contains("not base64"));
        assert!(decoded(false, "").unwrap_err().contains("empty"));
    }
}
