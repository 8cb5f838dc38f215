//! The pairing code: one line with the receiver's addresses, the fingerprint of its key, and a
//! one-time secret.
//!
//! ```text
//! sealant1-<base32, lower case, no padding>
//!
//! 1            number of addresses, 1 to 4
//! 5 or 17 each kind (4 or 6), address
//! 2            port
//! 20           fingerprint: the first 20 bytes of SHA-256 over the receiver's SubjectPublicKeyInfo
//! 16           secret
//! 4            checksum: the first 4 bytes of SHA-256 over all of the above
//! ```
//!
//! The secret itself is never sent: each side sends an HMAC, keyed with it, over the TLS exporter
//! of the connection (`docs/wire-protocol.md`, "Pairing code").

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

use aws_lc_rs::{
    digest::{SHA256, digest},
    hmac,
    rand::{SecureRandom, SystemRandom},
};
use zeroize::Zeroizing;

pub use crate::fault::{CodeFault, PREFIX};
use crate::{error::Error, wire::PROOF_BYTES};

/// Maximum number of addresses in a code.
pub const MAX_ADDRESSES: usize = 4;
/// Bytes of a fingerprint.
pub const PIN_BYTES: usize = 20;
/// Bytes of the TLS exporter output that a proof covers.
pub const EXPORTER_BYTES: usize = 32;
const SECRET_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 4;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Maximum length of a code (four IPv6 addresses), with some reserve.
const MAX_CHARS: usize = 256;

/// Fingerprint of a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin(pub [u8; PIN_BYTES]);

impl Pin {
    /// Computes the fingerprint of a SubjectPublicKeyInfo in DER.
    #[must_use]
    pub(crate) fn from_spki(spki: &[u8]) -> Self {
        let mut pin = [0; PIN_BYTES];
        pin.iter_mut().zip(digest(&SHA256, spki).as_ref()).for_each(|(to, from)| *to = *from);
        Self(pin)
    }
}

/// The one-time secret. Wiped on drop.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<[u8; SECRET_BYTES]>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The side that made a proof. A proof of one side is not valid for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that sends the data (the donor).
    Sender,
    /// The side that receives the data (the joiner).
    Receiver,
}

impl Secret {
    /// Generates a secret with the operating system's random number generator.
    ///
    /// # Errors
    /// [`Error::Randomness`] if it fails.
    pub fn generate() -> Result<Self, Error> {
        let mut bytes = Zeroizing::new([0; SECRET_BYTES]);
        SystemRandom::new().fill(bytes.as_mut_slice()).map_err(|_| Error::Randomness)?;
        Ok(Self(bytes))
    }

    /// Proof of knowing the secret, valid for one connection only.
    #[must_use]
    pub fn proof(&self, side: Side, exporter: &[u8; EXPORTER_BYTES]) -> [u8; PROOF_BYTES] {
        let tag = hmac::sign(&self.key(), &Self::message(side, exporter));
        let mut proof = [0; PROOF_BYTES];
        proof.iter_mut().zip(tag.as_ref()).for_each(|(to, from)| *to = *from);
        proof
    }

    /// Whether `proof` is the proof of `side`; compares in constant time.
    #[must_use]
    pub fn is_proven(&self, side: Side, exporter: &[u8; EXPORTER_BYTES], proof: &[u8]) -> bool {
        hmac::verify(&self.key(), &Self::message(side, exporter), proof).is_ok()
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.0.as_slice())
    }

    fn message(side: Side, exporter: &[u8; EXPORTER_BYTES]) -> Vec<u8> {
        let label: &[u8] = match side {
            Side::Sender => b"sealant pairing 1 sender",
            Side::Receiver => b"sealant pairing 1 receiver",
        };
        [label, exporter].concat()
    }
}

/// A pairing code. `Debug` hides the secret; `Display` is the whole code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairingCode {
    /// Addresses of the receiver, most likely first.
    pub addresses: Vec<IpAddr>,
    /// The receiver's port.
    pub port: u16,
    /// Fingerprint of the receiver's key.
    pub pin: Pin,
    /// Known to both sides, never sent; proves that the peer has the code.
    pub secret: Secret,
}

impl PairingCode {
    /// The addresses, each with the port.
    pub fn sockets(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.addresses.iter().map(|address| SocketAddr::new(*address, self.port))
    }

    fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::new());
        let addresses = self.addresses.iter().take(MAX_ADDRESSES);
        bytes.push(u8::try_from(addresses.len()).unwrap_or_default());
        for address in addresses {
            match address {
                IpAddr::V4(address) => {
                    bytes.push(4);
                    bytes.extend(address.octets());
                }
                IpAddr::V6(address) => {
                    bytes.push(6);
                    bytes.extend(address.octets());
                }
            }
        }
        bytes.extend(self.port.to_be_bytes());
        bytes.extend(self.pin.0);
        bytes.extend(self.secret.0.as_slice());
        let sum = checksum(&bytes);
        bytes.extend(sum);
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, CodeFault> {
        let (body, sum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(CodeFault::Checksum)?;
        if checksum(body) != *sum {
            return Err(CodeFault::Checksum);
        }
        Self::parse(body).ok_or(CodeFault::Version)
    }

    fn parse(body: &[u8]) -> Option<Self> {
        let (count, mut rest) = body.split_first()?;
        let count = usize::from(*count);
        let mut addresses = Vec::new();
        if count == 0 || count > MAX_ADDRESSES {
            return None;
        }
        for _ in 0..count {
            let (kind, after) = rest.split_first()?;
            let address = match kind {
                4 => take::<4>(after).map(|(octets, after)| (IpAddr::from(octets), after)),
                6 => take::<16>(after).map(|(octets, after)| (IpAddr::from(octets), after)),
                _ => None,
            };
            let (address, after) = address?;
            addresses.push(address);
            rest = after;
        }
        let (port, rest) = take::<2>(rest)?;
        let (pin, rest) = take::<PIN_BYTES>(rest)?;
        let (secret, rest) = take::<SECRET_BYTES>(rest)?;
        let secret = Secret(Zeroizing::new(secret));
        rest.is_empty().then_some(Self { addresses, port: u16::from_be_bytes(port), pin: Pin(pin), secret })
    }
}

/// A receiver's fingerprint and secret for a context that already has its address: `USER:SECRET`,
/// only letters, digits and `-`.
///
/// ```text
/// sealant1-<fingerprint, base32>:<secret, base32>      a key made for this transfer
/// sealant1-certificate:<secret, base32>                a certificate of the site
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairingToken {
    /// Fingerprint of the receiver's key; `None` if it uses a certificate of the site.
    pub pin: Option<Pin>,
    /// Known to both sides, never sent; proves that the peer has the code.
    pub secret: Secret,
}

const CERTIFICATE: &str = "certificate";

impl PairingToken {
    /// The token as text.
    #[must_use]
    pub fn text(&self) -> Zeroizing<String> {
        let pin = self.pin.map_or_else(|| Zeroizing::new(CERTIFICATE.to_owned()), |pin| base32(&pin.0));
        let secret = base32(self.secret.0.as_slice());
        Zeroizing::new(format!("{PREFIX}{}:{}", pin.as_str(), secret.as_str()))
    }
}

impl FromStr for PairingToken {
    type Err = CodeFault;

    fn from_str(text: &str) -> Result<Self, CodeFault> {
        let rest = text.strip_prefix(PREFIX).ok_or(CodeFault::Prefix)?;
        let (pin, secret) = rest.split_once(':').ok_or(CodeFault::Version)?;
        if text.len() > MAX_CHARS {
            return Err(CodeFault::Version);
        }
        let pin = match pin {
            CERTIFICATE => None,
            pin => Some(Pin(exact(pin)?)),
        };
        Ok(Self { pin, secret: Secret(Zeroizing::new(exact(secret)?)) })
    }
}

fn exact<const N: usize>(text: &str) -> Result<[u8; N], CodeFault> {
    decode_base32(text)?.as_slice().try_into().map_err(|_| CodeFault::Version)
}

fn take<const N: usize>(bytes: &[u8]) -> Option<([u8; N], &[u8])> {
    bytes.split_first_chunk::<N>().map(|(first, rest)| (*first, rest))
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut sum = [0; CHECKSUM_BYTES];
    sum.iter_mut().zip(digest(&SHA256, bytes).as_ref()).for_each(|(to, from)| *to = *from);
    sum
}

impl fmt::Display for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        f.write_str(&base32(&self.encode()))
    }
}

impl FromStr for PairingCode {
    type Err = CodeFault;

    /// Case and surrounding blanks do not matter.
    fn from_str(text: &str) -> Result<Self, CodeFault> {
        let text = Zeroizing::new(text.trim().to_ascii_lowercase());
        let digits = text.strip_prefix(PREFIX).ok_or(CodeFault::Prefix)?;
        if digits.len() > MAX_CHARS {
            return Err(CodeFault::Checksum);
        }
        Self::decode(&decode_base32(digits)?)
    }
}

/// RFC 4648 base32 in lower case, without padding.
fn base32(bytes: &[u8]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::new());
    for group in bytes.chunks(5) {
        let mut value = 0_u64;
        for at in 0..5 {
            value = value << 8 | u64::from(group.get(at).copied().unwrap_or_default());
        }
        let digits = (group.len() * 8).div_ceil(5);
        for at in 0..digits {
            let digit = (value >> (35 - 5 * at)) & 31;
            let digit = usize::try_from(digit).ok().and_then(|digit| ALPHABET.get(digit));
            text.push(char::from(digit.copied().unwrap_or(b'a')));
        }
    }
    text
}

fn decode_base32(text: &str) -> Result<Zeroizing<Vec<u8>>, CodeFault> {
    let mut bytes = Zeroizing::new(Vec::new());
    let (mut value, mut bits) = (0_u32, 0_u32);
    for digit in text.chars() {
        let location = ALPHABET.iter().position(|letter| char::from(*letter) == digit);
        let location = location.and_then(|location| u32::try_from(location).ok()).ok_or(CodeFault::Character(digit))?;
        value = (value << 5 | location) & 0xffff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(value >> bits & 0xff).unwrap_or_default());
        }
    }
    // Our encoder sets the unused bits of the last digit to zero.
    if bits >= 5 || value & ((1 << bits) - 1) != 0 {
        return Err(CodeFault::Checksum);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn code() -> PairingCode {
        PairingCode {
            addresses: vec![IpAddr::from([192, 0, 2, 7])],
            port: 4444,
            pin: Pin([0x5a; PIN_BYTES]),
            secret: Secret(Zeroizing::new([0xa5; SECRET_BYTES])),
        }
    }

    #[test]
    fn a_token_reads_back() {
        let PairingCode { pin, secret, .. } = code();
        for pin in [Some(pin), None] {
            let token = PairingToken { pin, secret: secret.clone() };
            let text = token.text();
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == ':';
            assert!(text.chars().all(allowed) && text.matches(':').count() == 1 && text.len() < 100, "{}", *text);
            assert_eq!(text.parse(), Ok(token));
        }
        for bad in ["", "user:password", "sealant1-certificate", "sealant1-aa:aa", "sealant1-certificate:!"] {
            assert!(bad.parse::<PairingToken>().is_err(), "{bad}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let shown = format!("{:?}", code());
        assert!(!shown.contains("165") && !shown.to_lowercase().contains("a5a5"), "{shown}");
    }

    #[test]
    fn a_code_reads_back_in_any_case() {
        let text = code().to_string();
        assert_eq!(text.len(), PREFIX.len() + 77);
        assert_eq!(text.parse(), Ok(code()));
        assert_eq!(format!(" {}\n", text.to_uppercase()).parse(), Ok(code()));
    }

    #[test]
    fn every_typing_error_is_reported() {
        let text = code().to_string();
        for at in PREFIX.len()..text.len() {
            for digit in ALPHABET {
                let mut typed = text.clone().into_bytes();
                if typed[at] == *digit {
                    continue;
                }
                typed[at] = *digit;
                let typed = String::from_utf8(typed).unwrap();
                assert_eq!(typed.parse::<PairingCode>(), Err(CodeFault::Checksum), "{typed}");
            }
        }
        for end in PREFIX.len()..text.len() {
            assert_eq!(text[..end].parse::<PairingCode>(), Err(CodeFault::Checksum), "{end}");
        }
        assert_eq!("host:4444".parse::<PairingCode>(), Err(CodeFault::Prefix));
        assert_eq!("sealant1-abc!".parse::<PairingCode>(), Err(CodeFault::Character('!')));
    }

    #[test]
    fn a_proof_is_valid_for_one_side_one_secret_and_one_connection() {
        let (secret, other) = (Secret::generate().unwrap(), Secret::generate().unwrap());
        let proof = secret.proof(Side::Sender, &[1; 32]);
        assert!(secret.is_proven(Side::Sender, &[1; 32], &proof));
        assert!(!secret.is_proven(Side::Receiver, &[1; 32], &proof));
        assert!(!secret.is_proven(Side::Sender, &[2; 32], &proof));
        assert!(!other.is_proven(Side::Sender, &[1; 32], &proof));
        assert!(!secret.is_proven(Side::Sender, &[1; 32], &proof[..31]));
    }

    proptest! {
        #[test]
        fn any_text_is_refused_without_panic(text in ".{0,300}") {
            let _ = text.parse::<PairingCode>();
            let _ = format!("{PREFIX}{text}").parse::<PairingCode>();
        }

        #[test]
        fn any_bytes_survive_base32(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(decode_base32(&base32(&bytes)).unwrap().to_vec(), bytes);
        }
    }
}
