//! The manifest: the list of everything that was transferred, with the hash of every file, stored
//! next to the data.
//!
//! One JSON object per line: first a head (`schema`, number of entries, bytes, `tree`), then one
//! per entry. A file's `blake3` is what `b3sum` prints. `tree` is BLAKE3 over all encoded entries,
//! each followed by the file's hash, so no line can be lost or changed unnoticed.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
};

use ::codec::entry::EntryLine;
use files::regular::{self, Links};
use serde::{Deserialize, Serialize};

pub use crate::fault::ManifestFault;
use crate::{
    Error,
    hash::Hash,
    wire::{Control, Entry, Kind},
};

/// Schema of the manifests of this version.
pub const SCHEMA: &str = "sealant.manifest/1";

/// Maximum length of a line: a path of [`MAX_PATH_BYTES`](crate::path::MAX_PATH_BYTES) with every
/// byte escaped, the path and a link's target in hexadecimal, and the other fields.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// Entries in the order of transfer, with the hashes of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Entries; files have a hash.
    pub entries: Vec<(Entry, Option<Hash>)>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    schema: String,
    entries: usize,
    bytes: u64,
    tree: String,
}

impl Manifest {
    /// Hash of the list.
    #[must_use]
    pub fn tree(&self) -> Hash {
        let mut hasher = blake3::Hasher::new();
        let mut bytes = Vec::new();
        for (entry, hash) in &self.entries {
            bytes.clear();
            Control::Entry(entry.clone()).encode(&mut bytes);
            bytes.extend(hash.map(|hash| hash.0).unwrap_or_default());
            hasher.update(&bytes);
        }
        Hash(*hasher.finalize().as_bytes())
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bytes = self.entries.iter().map(|(entry, _)| match entry.kind {
            Kind::File { bytes } => bytes,
            _ => 0,
        });
        bytes.fold(0, u64::saturating_add)
    }

    /// Writes the manifest.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let tree = self.tree().to_string();
        let head = Head { schema: SCHEMA.to_owned(), entries: self.entries.len(), bytes: self.bytes(), tree };
        serde_json::to_writer(&mut *out, &head)?;
        out.write_all(b"\n")?;
        for (entry, hash) in &self.entries {
            serde_json::to_writer(&mut *out, &EntryLine::new(entry, *hash))?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Reads the manifest at `path`, which the user named.
    ///
    /// # Errors
    /// [`Error::Manifest`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let read = regular::open(path, Links::Followed).map_err(ManifestFault::Io);
        let read = read.and_then(|file| Self::read(&mut BufReader::new(file)));
        read.map_err(|fault| Error::Manifest { path: path.to_owned(), fault })
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// [`ManifestFault`] if it cannot be read or is invalid.
    pub fn read(input: &mut dyn BufRead) -> Result<Self, ManifestFault> {
        let mut text = Vec::new();
        next_line(input, &mut text)?;
        let head: Head = serde_json::from_slice(&text).map_err(|_| ManifestFault::Line(1))?;
        if head.schema != SCHEMA {
            return Err(ManifestFault::Line(1));
        }
        let mut entries = Vec::new();
        while next_line(input, &mut text)? {
            // The head limits the number of lines, so even an endless list ends here.
            if entries.len() == head.entries {
                return Err(ManifestFault::Tree);
            }
            let line = serde_json::from_slice(&text).ok().and_then(EntryLine::parse);
            entries.push(line.ok_or(ManifestFault::Line(entries.len() + 2))?);
        }
        let manifest = Self { entries };
        let whole = manifest.entries.len() == head.entries && Some(manifest.tree()) == Hash::parse(&head.tree);
        if whole { Ok(manifest) } else { Err(ManifestFault::Tree) }
    }
}

/// Reads the next line; returns whether there is one. A line that exceeds the maximum is cut and
/// therefore invalid.
fn next_line(input: &mut dyn BufRead, text: &mut Vec<u8>) -> io::Result<bool> {
    text.clear();
    Ok(input.take(MAX_LINE_BYTES).read_until(b'\n', text)? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::RelativePath;

    fn manifest() -> Manifest {
        let entry = |path: &[u8], kind| Entry {
            path: RelativePath::parse(path).unwrap(),
            kind,
            mode: 0o640,
            uid: 27,
            gid: 27,
            modified: (-1, 5),
        };
        Manifest {
            entries: vec![
                (entry(b"d", Kind::Directory), None),
                (entry(b"d/\xff\n", Kind::File { bytes: 7 }), Some(Hash::compute(b"x"))),
                (entry(b"l", Kind::Link { target: b"d/\xfe".to_vec() }), None),
            ],
        }
    }

    #[test]
    fn a_manifest_reads_back() {
        let mut text = Vec::new();
        manifest().write(&mut text).unwrap();
        assert_eq!(Manifest::read(&mut text.as_slice()).unwrap(), manifest());
    }

    #[test]
    fn a_changed_manifest_is_refused() {
        let mut text = Vec::new();
        manifest().write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lost: Vec<&str> = text.lines().filter(|line| !line.contains("\"link\"")).collect();
        for changed in
            [text.replace("0640", "0777"), text.replace("\"bytes\":7,\"b", "\"bytes\":8,\"b"), lost.join("\n")]
        {
            assert_ne!(changed, text);
            assert!(matches!(Manifest::read(&mut changed.as_bytes()), Err(ManifestFault::Tree)), "{changed}");
        }
        assert!(matches!(Manifest::read(&mut "{}\n".as_bytes()), Err(ManifestFault::Line(1))));
    }

    /// Endless repetition of some bytes.
    struct Repeated(&'static [u8]);

    impl Read for Repeated {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            buf.iter_mut().zip(self.0.iter().cycle()).for_each(|(to, from)| *to = *from);
            Ok(buf.len() - buf.len() % self.0.len())
        }
    }

    /// Panics if a reader does not stop.
    struct Endless<R>(BufReader<R>, usize);

    impl<R: Read> Read for Endless<R> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.0.read(buf)
        }
    }

    impl<R: Read> BufRead for Endless<R> {
        fn fill_buf(&mut self) -> io::Result<&[u8]> {
            assert!(self.1 < 1 << 20, "read without an end");
            self.0.fill_buf()
        }

        fn consume(&mut self, bytes: usize) {
            self.1 += bytes;
            self.0.consume(bytes);
        }
    }

    #[test]
    fn the_longest_line_is_read_and_a_longer_one_is_not() {
        let names = |byte: u8| vec![vec![byte; 255]; 16].join(&b'/');
        for byte in [1, 0xff] {
            let path = RelativePath::parse(&names(byte)).unwrap();
            let kind = Kind::Link { target: vec![0xff; 4095] };
            let modified = (i64::MIN, 999_999_999);
            let entry = Entry { path, kind, mode: 0o7777, uid: u32::MAX, gid: u32::MAX, modified };
            let longest = Manifest { entries: vec![(entry, None)] };
            let mut text = Vec::new();
            longest.write(&mut text).unwrap();
            assert_eq!(Manifest::read(&mut text.as_slice()).unwrap(), longest);
        }
        let read = |text: Vec<u8>, rest: &'static [u8]| {
            let endless = text.as_slice().chain(Repeated(rest));
            Manifest::read(&mut Endless(BufReader::new(endless), 0))
        };
        assert!(matches!(read(Vec::new(), b"x"), Err(ManifestFault::Line(1))));
        let mut text = Vec::new();
        manifest().write(&mut text).unwrap();
        let lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
        assert!(matches!(read(lines[..2].concat(), b"x"), Err(ManifestFault::Line(3))));
        assert!(matches!(read(text.clone(), b"{}\n"), Err(ManifestFault::Tree)));
    }
}
