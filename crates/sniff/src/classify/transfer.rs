//! Recognises state transfers and backups: data that programs send over a plain connection.
//!
//! Sources: `xbstream.h` of Percona XtraBackup; rsync's `clientserver.c`; POSIX for tar; RFC 1952, RFC 8878 and the LZ4
//! frame format; "age-encryption.org/v1"; `xbcrypt.h`; OpenSSL's `enc`.

use super::{Class, Direction, Evidence, Protocol, State};

/// First bytes of each kind of data.
const MAGICS: [(&[u8], &str, Protocol); 9] = [
    (b"XBSTCK01", "chunk of an xbstream", Protocol::Xbstream),
    (b"@RSYNCD:", "greeting of rsync", Protocol::Rsync),
    (b"\x1f\x8b\x08", "gzip", Protocol::CompressedData),
    (b"\x28\xb5\x2f\xfd", "zstd", Protocol::CompressedData),
    (b"\x04\x22\x4d\x18", "LZ4", Protocol::CompressedData),
    (b"qpress10", "qpress", Protocol::CompressedData),
    (b"age-encryption.org/v1\n", "age", Protocol::EncryptedData),
    (b"XBCRYP0", "xbcrypt", Protocol::EncryptedData),
    (b"Salted__", "openssl enc", Protocol::EncryptedData),
];

/// Offset and bytes of the magic in a tar header; GNU's has spaces after it.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// Recognises a connection that begins with one of the [`MAGICS`] or a tar header.
pub(super) fn from_start(to_server: &[u8], to_client: &[u8]) -> Option<Class> {
    by_magic(Direction::ToServer, 0, to_server)
        .or_else(|| by_magic(Direction::ToClient, 0, to_client))
        .or_else(|| tar(Direction::ToServer, to_server))
        .or_else(|| tar(Direction::ToClient, to_client))
}

/// Recognises an xbstream whose beginning was not captured: a chunk may begin anywhere.
pub(super) fn in_the_middle(direction: Direction, bytes: &[u8]) -> Option<Class> {
    let (magic, meaning, protocol) = MAGICS.first()?;
    let at = bytes.windows(magic.len()).position(|window| window == *magic)?;
    let evidence = Evidence::new(direction, at, magic, magic.len(), *meaning);
    Some(Class::new(*protocol, State::Clear, vec![evidence]).settled())
}

fn by_magic(direction: Direction, at: usize, bytes: &[u8]) -> Option<Class> {
    let (magic, meaning, protocol) = MAGICS.iter().find(|(magic, ..)| bytes.starts_with(magic))?;
    let state = if *protocol == Protocol::EncryptedData { State::Encrypted } else { State::Clear };
    let evidence = Evidence::new(direction, at, bytes, magic.len(), *meaning);
    Some(Class::new(*protocol, state, vec![evidence]).settled())
}

fn tar(direction: Direction, bytes: &[u8]) -> Option<Class> {
    let (at, magic) = TAR;
    let field = bytes.get(at..)?;
    let is_tar = field.starts_with(magic);
    let evidence = || Evidence::new(direction, at, field, magic.len(), "header of a tar archive");
    is_tar.then(|| Class::new(Protocol::Tar, State::Clear, vec![evidence()]).settled())
}
