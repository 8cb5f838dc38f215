//! SHA-256 of objects, by which they are named and verified.

use std::{
    fmt,
    io::{self, Read, Write},
    str::FromStr,
};

use aws_lc_rs::digest::{Context, SHA256, SHA256_OUTPUT_LEN, digest};
use data_encoding::HEXLOWER;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

/// A SHA-256, written as 64 hexadecimal digits in lower case.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; SHA256_OUTPUT_LEN]);

/// The text is not a [`Digest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a SHA-256 in 64 lower-case hexadecimal digits")]
pub struct InvalidDigest;

impl Digest {
    /// SHA-256 of `bytes`.
    #[must_use]
    pub fn compute(bytes: &[u8]) -> Self {
        Self::from_output(digest(&SHA256, bytes).as_ref())
    }

    /// The digest as 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; SHA256_OUTPUT_LEN] {
        &self.0
    }

    fn from_output(output: &[u8]) -> Self {
        let mut bytes = [0; SHA256_OUTPUT_LEN];
        bytes.iter_mut().zip(output).for_each(|(to, from)| *to = *from);
        Self(bytes)
    }
}

impl From<[u8; SHA256_OUTPUT_LEN]> for Digest {
    fn from(bytes: [u8; SHA256_OUTPUT_LEN]) -> Self {
        Self(bytes)
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let mut bytes = [0; SHA256_OUTPUT_LEN];
        if text.len() != bytes.len().saturating_mul(2) {
            return Err(InvalidDigest);
        }
        HEXLOWER.decode_mut(text.as_bytes(), &mut bytes).map_err(|_| InvalidDigest)?;
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Receipts have millions of them, so none is copied into a text of its own.
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Digest;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a SHA-256 in hexadecimal digits")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Digest, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_display(&self.0).fmt(f)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A reader or writer that hashes the bytes passing through it.
pub struct HashingStream<T> {
    inner: T,
    context: Context,
    bytes: u64,
}

impl<T> HashingStream<T> {
    /// Wraps a reader or writer.
    pub fn new(inner: T) -> Self {
        Self { inner, context: Context::new(&SHA256), bytes: 0 }
    }

    /// The wrapped value, the hash, and the number of bytes hashed.
    pub fn finish(self) -> (T, Digest, u64) {
        (self.inner, Digest::from_output(self.context.finish().as_ref()), self.bytes)
    }

    fn note(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
    }
}

impl<W: Write> Write for HashingStream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.note(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for HashingStream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.note(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

impl<T> fmt::Debug for HashingStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashingStream").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_written_as_sha256sum_writes_them() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::compute(b"").to_string(), empty);
        assert_eq!(empty.parse(), Ok(Digest::compute(b"")));
        for bad in ["", "e3", &empty.to_uppercase(), &empty[1..], &format!("{empty}0"), &empty.replace('b', "+")] {
            assert_eq!(bad.parse::<Digest>(), Err(InvalidDigest), "{bad}");
        }
        let mut summing = HashingStream::new(Vec::new());
        summing.write_all(b"some").unwrap();
        summing.write_all(b" bytes").unwrap();
        assert_eq!(summing.finish(), (b"some bytes".to_vec(), Digest::compute(b"some bytes"), 10));
    }
}
