//! Reads manifests from untrusted sources.

use std::io::{self, BufRead, Read};

use codec::{
    entry::Kind,
    hash::{Hash, Tree, chunks_of},
};
use data_encoding::BASE64;

use super::{
    FileHead, Head, Lists, MAX_HEAD_BYTES, MAX_LINE_BYTES, Manifest, Run, SCHEMA, StoredFile,
    lines::{ChunksLine, HeadLine, Line, RunLine},
};
use crate::{Error, List, list::ListWriter, pack::MAX_FRAME_BYTES, receipt::Object};

impl Manifest {
    /// Reads a manifest, with all lists in memory: see [`Self::read_with`].
    ///
    /// # Errors
    /// [`Error::Manifest`], [`Error::Version`], [`Error::Io`].
    pub fn read(input: &mut dyn BufRead) -> Result<Self, Error> {
        Self::read_with(input, Lists::default())
    }

    /// Reads a manifest and checks it: runs are in order and within their files and packs, and chunk hashes combine to
    /// the file's hash. Paths are not checked here; the restore does that.
    ///
    /// # Errors
    /// [`Error::Manifest`], [`Error::Version`], [`Error::Io`].
    pub fn read_with(input: &mut dyn BufRead, lists: Lists) -> Result<Self, Error> {
        let mut lines = Lines { input, number: 0, text: Vec::new() };
        let head = lines.head()?;
        let mut reading = Reading::new(Self { head, files: Vec::new(), packs: Vec::new(), keys: Vec::new() }, lists);
        while lines.advance()? {
            let line: Line =
                serde_json::from_slice(&lines.text).map_err(|_| lines.wrong("it is not a line of a manifest"))?;
            reading.take(line).map_err(|fault| lines.failed(fault))?;
        }
        reading.finish().map_err(|fault| lines.failed(fault))
    }
}

/// Why a line cannot be used.
enum Fault {
    /// It breaks a rule.
    Wrong(&'static str),
    /// A list cannot be kept.
    Lists(io::Error),
}

impl From<&'static str> for Fault {
    fn from(reason: &'static str) -> Self {
        Self::Wrong(reason)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Lists(error)
    }
}

/// A manifest of which some lines are read.
struct Reading {
    manifest: Manifest,
    chunks: ListWriter<Hash>,
    runs: ListWriter<Run>,
    /// The file to which the last hashes belong, and the tree of its hashes so far.
    hashed: Option<(u32, Tree)>,
    /// End of the last run.
    last_end: u64,
}

impl Reading {
    fn new(manifest: Manifest, lists: Lists) -> Self {
        let (chunks, runs) = (ListWriter::new(lists.chunks), ListWriter::new(lists.runs));
        Self { manifest, chunks, runs, hashed: None, last_end: 0 }
    }

    fn take(&mut self, line: Line) -> Result<(), Fault> {
        let manifest = &mut self.manifest;
        match line {
            Line::Entry(line) => {
                let (entry, hash) = line.parse().ok_or("it is not an entry")?;
                let (chunks, runs) = (List::default(), List::default());
                manifest.files.push(StoredFile { entry, hash, head: None, chunks, runs });
            }
            Line::Chunks(line) => self.chunks(&line)?,
            Line::Head(line) => self.head_of(&line)?,
            Line::Pack(line) => manifest.packs.push(Object { sha256: line.sha256, bytes: line.bytes }),
            Line::Run(line) => self.run(&line)?,
            Line::Key(key) => manifest.keys.push(key),
        }
        Ok(())
    }

    fn chunks(&mut self, line: &ChunksLine) -> Result<(), Fault> {
        let bytes = BASE64.decode(line.b3.as_bytes()).map_err(|_| "its hashes are not base64")?;
        let (hashes, rest) = bytes.as_chunks();
        if !rest.is_empty() {
            return Err("its hashes are incomplete".into());
        }
        let of_other = self.hashed.take_if(|(file, _)| *file != line.f);
        if let Some((file, tree)) = of_other {
            self.check_hash(file, &tree)?;
        }
        let file = file(&mut self.manifest, line.f)?;
        let all = chunks_of(file.file_bytes());
        if file.chunks.len().saturating_add(hashes.len() as u64) > all {
            return Err("a file has more hashes than chunks".into());
        }
        let (_, tree) = self.hashed.get_or_insert_with(|| (line.f, Tree::default()));
        for hash in hashes.iter().copied().map(Hash) {
            tree.add(all, file.chunks.len(), hash);
            if !self.chunks.push(&mut file.chunks, &hash)? {
                return Err("the hashes of a file do not follow one another".into());
            }
        }
        Ok(())
    }

    /// Compares the hash of a file with that of its chunks.
    fn check_hash(&mut self, number: u32, tree: &Tree) -> Result<(), Fault> {
        let file = file(&mut self.manifest, number)?;
        match tree.hash(chunks_of(file.file_bytes())) {
            Some(hash) if file.hash == Some(hash) => Ok(()),
            _ => Err(OTHER_HASH.into()),
        }
    }

    fn head_of(&mut self, line: &HeadLine) -> Result<(), Fault> {
        let mut head = BASE64.decode(line.b.as_bytes()).map_err(|_| "its bytes are not base64")?;
        let length = usize::try_from(line.n).unwrap_or(usize::MAX);
        let file = file(&mut self.manifest, line.f)?;
        if length > MAX_HEAD_BYTES || head.len() > length || length as u64 > file.file_bytes() {
            return Err("a head is longer than its file, or than the limit".into());
        }
        head.resize(length, 0);
        file.head = Some(FileHead::new(&head));
        Ok(())
    }

    fn run(&mut self, line: &RunLine) -> Result<(), Fault> {
        let (run, packs) = (line.run(), self.manifest.packs.len());
        let file = file(&mut self.manifest, line.f)?;
        let begin = if file.runs.is_empty() { 0 } else { self.last_end };
        let fits_file = run.bytes > 0 && run.at >= begin && run.end() <= file.file_bytes();
        let fits_frame = u64::from(run.offset).saturating_add(run.bytes) <= MAX_FRAME_BYTES as u64;
        if !fits_file || !fits_frame {
            return Err("a run is out of order, or does not fit its file or frame".into());
        }
        if usize::try_from(run.pack).is_ok_and(|pack| pack >= packs) {
            return Err("a run is in an unknown pack".into());
        }
        if !self.runs.push(&mut file.runs, &run)? {
            return Err("the runs of a file do not follow one another".into());
        }
        self.last_end = run.end();
        Ok(())
    }

    /// Checks what only the end shows, and gives files of one chunk their chunk hash.
    fn finish(mut self) -> Result<Manifest, Fault> {
        if self.manifest.head.entries != self.manifest.files.len() as u64 {
            return Err("the number of entries differs from the head's".into());
        }
        if let Some((file, tree)) = self.hashed.take() {
            self.check_hash(file, &tree)?;
        }
        for file in &mut self.manifest.files {
            match (&file.entry.kind, file.hash) {
                (Kind::File { bytes }, Some(hash)) => {
                    if chunks_of(*bytes) == 1 && file.chunks.is_empty() {
                        self.chunks.push(&mut file.chunks, &hash)?;
                    }
                    if file.chunks.len() != chunks_of(*bytes) {
                        return Err(OTHER_HASH.into());
                    }
                }
                (Kind::File { .. }, None) => return Err("a file has no hash".into()),
                (Kind::Directory | Kind::Link { .. }, _) if file.chunks.is_empty() && file.runs.is_empty() => {}
                (Kind::Directory | Kind::Link { .. }, _) => return Err("a directory or link has bytes".into()),
            }
        }
        let Self { mut manifest, chunks, runs, .. } = self;
        chunks.finish(manifest.files.iter_mut().map(|file| &mut file.chunks))?;
        runs.finish(manifest.files.iter_mut().map(|file| &mut file.runs))?;
        Ok(manifest)
    }
}

const OTHER_HASH: &str = "the hashes of the chunks of a file do not combine to the file's hash";

fn file(manifest: &mut Manifest, number: u32) -> Result<&mut StoredFile, &'static str> {
    usize::try_from(number)
        .ok()
        .and_then(|number| manifest.files.get_mut(number))
        .ok_or("it refers to an entry that does not exist")
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

    fn failed(&self, fault: Fault) -> Error {
        match fault {
            Fault::Wrong(reason) => self.wrong(reason),
            Fault::Lists(error) => Error::Lists(error),
        }
    }
}
