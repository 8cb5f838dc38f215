//! Reads manifests from untrusted sources.

use std::io::{BufRead, Read};

use codec::{
    entry::Kind,
    hash::{Hash, chunks_of, file_hash},
};
use data_encoding::BASE64;

use super::{
    FileHead, Head, MAX_HEAD_BYTES, MAX_LINE_BYTES, Manifest, SCHEMA, StoredFile,
    lines::{ChunksLine, HeadLine, Line, RunLine},
};
use crate::{Error, pack::MAX_FRAME_BYTES, receipt::Object};

impl Manifest {
    /// Reads a manifest and checks it: runs are in order and within their files and packs, and chunk hashes combine to
    /// the file's hash. Paths are not checked here; the restore does that.
    ///
    /// # Errors
    /// [`Error::Manifest`], [`Error::Version`], [`Error::Io`].
    pub fn read(input: &mut dyn BufRead) -> Result<Self, Error> {
        let mut lines = Lines { input, number: 0, text: Vec::new() };
        let head = lines.head()?;
        let mut manifest = Self { head, files: Vec::new(), packs: Vec::new(), keys: Vec::new() };
        while lines.advance()? {
            let line: Line =
                serde_json::from_slice(&lines.text).map_err(|_| lines.wrong("it is not a line of a manifest"))?;
            manifest.take(line).map_err(|reason| lines.wrong(reason))?;
        }
        if manifest.head.entries != manifest.files.len() as u64 {
            return Err(lines.wrong("the number of entries differs from the head's"));
        }
        match manifest.unsound() {
            Some(reason) => Err(lines.wrong(reason)),
            None => Ok(manifest),
        }
    }

    fn take(&mut self, line: Line) -> Result<(), &'static str> {
        match line {
            Line::Entry(line) => {
                let (entry, hash) = line.parse().ok_or("it is not an entry")?;
                self.files.push(StoredFile { entry, hash, head: None, chunks: Vec::new(), runs: Vec::new() });
            }
            Line::Chunks(line) => self.chunks(&line)?,
            Line::Head(line) => self.head_of(&line)?,
            Line::Pack(line) => self.packs.push(Object { sha256: line.sha256, bytes: line.bytes }),
            Line::Run(line) => self.run(&line)?,
            Line::Key(key) => self.keys.push(key),
        }
        Ok(())
    }

    fn chunks(&mut self, line: &ChunksLine) -> Result<(), &'static str> {
        let bytes = BASE64.decode(line.b3.as_bytes()).map_err(|_| "its hashes are not base64")?;
        let (hashes, rest) = bytes.as_chunks();
        if !rest.is_empty() {
            return Err("its hashes are incomplete");
        }
        self.file(line.f)?.chunks.extend(hashes.iter().copied().map(Hash));
        Ok(())
    }

    fn head_of(&mut self, line: &HeadLine) -> Result<(), &'static str> {
        let mut head = BASE64.decode(line.b.as_bytes()).map_err(|_| "its bytes are not base64")?;
        let length = usize::try_from(line.n).unwrap_or(usize::MAX);
        let file = self.file(line.f)?;
        if length > MAX_HEAD_BYTES || head.len() > length || length as u64 > file.file_bytes() {
            return Err("a head is longer than its file, or than the limit");
        }
        head.resize(length, 0);
        file.head = Some(FileHead::new(&head));
        Ok(())
    }

    fn run(&mut self, line: &RunLine) -> Result<(), &'static str> {
        let (run, packs) = (line.run(), self.packs.len());
        let file = self.file(line.f)?;
        let begin = file.runs.last().map_or(0, super::Run::end);
        let fits_file = run.bytes > 0 && run.at >= begin && run.end() <= file.file_bytes();
        let fits_frame = u64::from(run.offset).saturating_add(run.bytes) <= MAX_FRAME_BYTES as u64;
        if !fits_file || !fits_frame {
            return Err("a run is out of order, or does not fit its file or frame");
        }
        if usize::try_from(run.pack).is_ok_and(|pack| pack >= packs) {
            return Err("a run is in an unknown pack");
        }
        file.runs.push(run);
        Ok(())
    }

    fn file(&mut self, number: u32) -> Result<&mut StoredFile, &'static str> {
        usize::try_from(number)
            .ok()
            .and_then(|number| self.files.get_mut(number))
            .ok_or("it refers to an entry that does not exist")
    }

    /// The first inconsistency, if any. Also gives files of one chunk their chunk hash, and memory back.
    fn unsound(&mut self) -> Option<&'static str> {
        for file in &mut self.files {
            file.chunks.shrink_to_fit();
            file.runs.shrink_to_fit();
            match (&file.entry.kind, file.hash) {
                (Kind::File { bytes }, Some(hash)) => {
                    if chunks_of(*bytes) == 1 && file.chunks.is_empty() {
                        file.chunks.push(hash);
                    }
                    if file.chunks.len() as u64 != chunks_of(*bytes) || file_hash(&file.chunks) != Some(hash) {
                        return Some("the hashes of the chunks of a file do not combine to the file's hash");
                    }
                }
                (Kind::File { .. }, None) => return Some("a file has no hash"),
                (Kind::Directory | Kind::Link { .. }, _) if file.chunks.is_empty() && file.runs.is_empty() => {}
                (Kind::Directory | Kind::Link { .. }, _) => return Some("a directory or link has bytes"),
            }
        }
        None
    }
}

struct Lines<'i> {
    input: &'i mut dyn BufRead,
    number: u64,
    text: Vec<u8>,
}

impl Lines<'_> {
    /// Reads the next line; returns false at the end. A line over the limit is cut, and does not parse.
    fn advance(&mut self) -> Result<bool, Error> {
        self.text.clear();
        self.number = self.number.saturating_add(1);
        Ok((&mut *self.input).take(MAX_LINE_BYTES).read_until(b'\n', &mut self.text)? > 0)
    }

    fn head(&mut self) -> Result<Head, Error> {
        #[derive(serde::Deserialize)]
        struct Schema {
            schema: String,
        }
        self.advance()?;
        let none = |_| Error::Manifest { line: 1, reason: "it is not a head" };
        let Schema { schema } = serde_json::from_slice(&self.text).map_err(none)?;
        if schema != SCHEMA {
            return Err(Error::Version { found: schema, known: SCHEMA });
        }
        serde_json::from_slice(&self.text).map_err(none)
    }

    const fn wrong(&self, reason: &'static str) -> Error {
        Error::Manifest { line: self.number, reason }
    }
}
