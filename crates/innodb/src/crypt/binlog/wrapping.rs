//! The password in the header of a MySQL log: unwrapping it, and wrapping it with another master
//! key.

use zeroize::Zeroizing;

use super::{MySqlHeader, PASSWORD_BYTES};
use crate::{
    binlog::{MAGIC_ENCRYPTED, MYSQL_HEADER_BYTES},
    crypt::aes::{Aes, Block, CipherFault},
    keys::{KeySource, MASTER_KEY_BYTES},
};

impl MySqlHeader {
    /// Unwraps the password.
    pub(crate) fn password(
        &self,
        master_key: &[u8; MASTER_KEY_BYTES],
    ) -> Result<Zeroizing<[u8; PASSWORD_BYTES]>, CipherFault> {
        let mut password = Zeroizing::new(self.password);
        Aes::new(master_key).map_err(|_| CipherFault)?.cbc_decrypt(&self.iv, password.as_mut_slice())?;
        Ok(password)
    }

    /// The password, unwrapped with an available key or given unwrapped. Nothing here shows whether it is right.
    pub(crate) fn password_of(&self, keys: &dyn KeySource) -> Option<Zeroizing<[u8; PASSWORD_BYTES]>> {
        if let Some(password) = keys.unwrapped(&self.password) {
            return password.first_chunk().map(|password| Zeroizing::new(*password));
        }
        self.password(&*keys.mysql(&self.key_name)?).ok()
    }

    /// The wrapped password, as it is stored.
    pub(crate) const fn wrapped_password(&self) -> &[u8] {
        self.password.as_slice()
    }

    /// Makes a header with the log's password wrapped by a master key.
    pub(crate) fn wrap(
        key_name: String,
        password: &[u8; PASSWORD_BYTES],
        iv: Block,
        master_key: &[u8; MASTER_KEY_BYTES],
    ) -> Result<Self, CipherFault> {
        let mut password = *password;
        Aes::new(master_key).map_err(|_| CipherFault)?.cbc_encrypt(&iv, &mut password)?;
        Ok(Self { key_name, padded_with_zeros: true, password, iv })
    }

    /// Encodes the header as in a log, padded with zeros to 512 bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let name_bytes = u8::try_from(self.key_name.len()).unwrap_or_default();
        let mut out = MAGIC_ENCRYPTED.to_vec();
        out.extend([1, 1, name_bytes]);
        out.extend(self.key_name.as_bytes());
        out.push(2);
        out.extend(self.password);
        out.push(3);
        out.extend(self.iv);
        out.resize(MYSQL_HEADER_BYTES, 0);
        out
    }
}
