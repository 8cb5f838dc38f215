//! Fingerprints of certificates.

use std::{fmt, str::FromStr};

use aws_lc_rs::digest;
use data_encoding::HEXLOWER;

/// SHA-256 of a certificate's DER, as shown by `openssl x509 -fingerprint -sha256`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct Fingerprint([u8; 32]);

/// The text is not a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is the SHA-256 of a certificate: 64 hexadecimal digits, with or without colons")]
pub struct NotAFingerprint;

impl Fingerprint {
    /// Computes the fingerprint of a DER certificate.
    pub fn from_der(der: &[u8]) -> Self {
        let mut bytes = [0; 32];
        for (byte, hashed) in bytes.iter_mut().zip(digest::digest(&digest::SHA256, der).as_ref()) {
            *byte = *hashed;
        }
        Self(bytes)
    }

    /// The 32 bytes of the hash.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    /// Parses hexadecimal digits of either case, with or without OpenSSL's colons.
    fn from_str(text: &str) -> Result<Self, NotAFingerprint> {
        let digits = text.bytes().filter(|byte| *byte != b':').map(|byte| char::from(byte).to_digit(16));
        let digits: Vec<u8> = digits
            .map(|digit| digit.and_then(|digit| u8::try_from(digit).ok()))
            .collect::<Option<_>>()
            .ok_or(NotAFingerprint)?;
        let pairs = digits.chunks(2).map(|pair| match pair {
            [high, low] => Ok(high << 4 | low),
            _ => Err(NotAFingerprint),
        });
        let bytes: Vec<u8> = pairs.collect::<Result<_, _>>()?;
        bytes.try_into().map(Self).map_err(|_| NotAFingerprint)
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = NotAFingerprint;

    fn try_from(text: String) -> Result<Self, NotAFingerprint> {
        text.parse()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_display(&self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_read_as_they_are_written() {
        let one = Fingerprint::from_der(b"one");
        let plain = one.to_string();
        let pairs: Vec<String> = plain.as_bytes().chunks(2).map(|c| String::from_utf8_lossy(c).into_owned()).collect();
        assert_eq!(plain.parse(), Ok(one));
        assert_eq!(pairs.join(":").to_uppercase().parse(), Ok(one));
        // 40 digits are a SHA-1.
        for wrong in ["", "x", &plain[..40], &plain[1..], &format!("{plain}00")] {
            assert_eq!(wrong.parse::<Fingerprint>(), Err(NotAFingerprint), "{wrong}");
        }
    }
}
