//! Entry points of the fuzz targets: everything that parses untrusted input.

use std::io::{BufReader, Read};

use crate::{
    Decryptor, Error, Identity, PartDecryptor, PayloadFault, Recipient,
    file_key::{FILE_KEY_BYTES, FileKey, PAYLOAD_NONCE_BYTES},
    stream::{CHUNK_BYTES, Chunks},
};

/// Identity that opens the seed files, which are vectors of testdata/age.
const IDENTITY: &str = "AGE-SECRET-KEY-1EGTZVFFV20835NWYV6270LXYVK2VKNX2MMDKWYKLMGR48UAWX40Q2P2LM0";

/// Decrypts any bytes as an age file, and as a part of one that is the whole of it.
///
/// # Panics
/// If the plain text is longer than the file, or one of both accepts what the other refuses.
pub fn file(bytes: &[u8]) {
    let identities = Identity::parse_file(IDENTITY).unwrap_or_default();
    let mut plain = Vec::new();
    let is_read = match Decryptor::new(bytes, &identities) {
        Ok(mut decryptor) => decryptor.read_to_end(&mut plain).is_ok(),
        Err(_) => false,
    };
    assert!(plain.is_empty() || plain.len() < bytes.len());
    let mut room = Vec::new();
    let part = PartDecryptor::new(bytes, bytes.len() as u64, &identities).ok();
    let decrypted = part.filter(|part| part.plain_bytes() > 0).and_then(|part| {
        let all = 0..part.plain_bytes();
        let encrypted = bytes.get(usize::try_from(part.encrypted(&all)?.start).ok()?..)?;
        part.decrypt(&all, encrypted, &mut room).ok()
    });
    assert_eq!(decrypted, Some(plain.as_slice()).filter(|plain| is_read && !plain.is_empty()));
}

/// Parses any text as a key, and as an identity file.
///
/// # Panics
/// If a key does not serialize to the text it was parsed from.
pub fn keys(text: &str) {
    if let Ok(recipient) = text.parse::<Recipient>() {
        assert_eq!(recipient.to_string(), text.to_ascii_lowercase());
    }
    if let Ok(identity) = text.parse::<Identity>() {
        assert_eq!(identity.to_secret_text().as_str(), text.to_ascii_uppercase());
    }
    let _ = Identity::parse_file(text);
}

/// Builds a payload as the input says, three bytes a chunk: flags and length. Then decrypts it, and compares the plain
/// text and the error with what the format demands.
///
/// # Panics
/// If they differ.
pub fn payload(input: &[u8]) {
    // Enough for every order of a few chunks, and still fast.
    let chunks: Vec<Chunk> = input.chunks_exact(3).take(8).map(Chunk::parse).collect();
    let (Some(file_key), nonce) = (FileKey::from_bytes(&[7; FILE_KEY_BYTES]), [9; PAYLOAD_NONCE_BYTES]) else { return };
    let Ok(key) = file_key.payload_key(&nonce) else { return };
    let (mut encryptor, mut file) = (Chunks::new(key), nonce.to_vec());
    for chunk in &chunks {
        let mut encrypted = vec![b'f'; chunk.bytes];
        assert!(encryptor.encrypt(chunk.last, &mut encrypted).is_ok());
        if let (true, Some(byte)) = (chunk.damaged, encrypted.last_mut()) {
            *byte ^= 1;
        }
        file.extend(encrypted);
    }
    let opened = Decryptor::from_file_key(BufReader::new(file.as_slice()), &file_key);
    let Ok(mut decryptor) = opened else { return assert!(opened.is_err()) };
    let mut plain = Vec::new();
    let end = decryptor.read_to_end(&mut plain).map(drop).map_err(|error| error.into_inner());
    let found = end.err().flatten().and_then(|error| error.downcast::<Error>().ok()).map(|error| match *error {
        Error::Payload { chunk, fault } => (chunk, fault),
        other => panic!("{other}"),
    });
    assert_eq!((plain.len(), found), expected(&chunks));
}

struct Chunk {
    bytes: usize,
    last: bool,
    damaged: bool,
}

impl Chunk {
    fn parse(bytes: &[u8]) -> Self {
        let [flags, low, high] = bytes else { return Self { bytes: 0, last: true, damaged: false } };
        let bytes = if flags & 4 == 0 { CHUNK_BYTES } else { usize::from(u16::from_le_bytes([*low, *high])) };
        Self { bytes, last: flags & 1 != 0, damaged: flags & 2 != 0 }
    }
}

/// How many bytes are returned, and which fault ends the file.
fn expected(chunks: &[Chunk]) -> (usize, Option<(u64, PayloadFault)>) {
    let mut bytes = 0_usize;
    let mut number = 0_u64;
    for (at, chunk) in chunks.iter().enumerate() {
        let (more, full) = (at.saturating_add(1) < chunks.len(), chunk.bytes == CHUNK_BYTES);
        let next = number.saturating_add(1);
        if chunk.damaged || !full && (more || !chunk.last) {
            return (bytes, Some((number, PayloadFault::Damaged)));
        }
        if !full && chunk.bytes == 0 && number > 0 {
            return (bytes, Some((number, PayloadFault::Empty)));
        }
        bytes = bytes.saturating_add(chunk.bytes);
        match (chunk.last, more) {
            (true, false) => return (bytes, None),
            (true, true) => return (bytes, Some((next, PayloadFault::Trailing))),
            (false, _) => number = next,
        }
    }
    (bytes, Some((number, PayloadFault::Truncated)))
}
