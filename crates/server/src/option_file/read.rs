//! Reads option files and the files that they include.

use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use zeroize::Zeroizing;

use super::{
    Entries, Entry, Value, Warning,
    line::{Line, parse_line},
};
use crate::{error::Error, option_name::with_hyphens, secret_name::is_secret};

/// Maximum depth of `!include`; the servers' limit is ten.
const MAX_DEPTH: usize = 10;

/// Maximum size of an option file.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Maximum number of included files.
const MAX_FILES: usize = 1000;

/// A parsed line with its value.
#[derive(Debug)]
pub(super) struct RawLine {
    pub(super) group: String,
    pub(super) key: String,
    pub(super) value: Option<Zeroizing<String>>,
    pub(super) file: PathBuf,
    pub(super) number: u32,
}

#[derive(Debug, Default)]
pub(super) struct Raw {
    pub(super) lines: Vec<RawLine>,
    pub(super) warnings: Vec<Warning>,
    pub(super) files: Vec<PathBuf>,
    /// Files being read, from the outermost one.
    open: Vec<PathBuf>,
}

impl Raw {
    pub(super) fn into_entries(self) -> Entries {
        let entries = self.lines.into_iter().map(RawLine::into_entry).collect();
        Entries { entries, warnings: self.warnings, files: self.files }
    }

    fn file(&mut self, path: &Path) -> Result<(), io::Error> {
        let identity = path.canonicalize()?;
        if self.open.contains(&identity) || self.open.len() >= MAX_DEPTH || self.files.len() >= MAX_FILES {
            self.warnings.push(Warning::IncludeLoop { file: path.to_owned() });
            return Ok(());
        }
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        if metadata.len() > MAX_FILE_BYTES {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large for an option file"));
        }
        let mode = metadata.mode() & 0o7777;
        if mode & 0o002 != 0 {
            self.warnings.push(Warning::WorldWritable { file: path.to_owned() });
            return Ok(());
        }
        let bytes = Zeroizing::new(fs::read(path)?);
        let text = Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned());
        self.files.push(path.to_owned());
        self.open.push(identity);
        let before = self.lines.len();
        self.text(path, &text);
        self.open.pop();

        let password_option = self
            .lines
            .get(before..)
            .unwrap_or_default()
            .iter()
            .any(|line| line.file == path && line.value.as_ref().is_some_and(|value| is_secret(&line.key, value)));
        if password_option {
            self.warnings.extend(Warning::readable_secret(path));
        }
        Ok(())
    }

    /// Whether the file has options, but none of them in a group.
    pub(super) fn has_no_group(&self) -> bool {
        self.lines.is_empty() && self.warnings.iter().any(|warning| matches!(warning, Warning::NoGroup { .. }))
    }

    fn text(&mut self, path: &Path, text: &str) {
        let mut group = String::new();
        let mut without_group = None;
        for (number, line) in (1_u32..).zip(text.lines()) {
            match parse_line(line) {
                Line::Empty => {}
                Line::Group(name) => group = name.to_ascii_lowercase(),
                Line::Include(target) => self.include(path, Path::new(target)),
                Line::IncludeDir(target) => self.include_dir(path, Path::new(target)),
                Line::Option { .. } if group.is_empty() => {
                    without_group = without_group.or(Some(number));
                }
                Line::Option { key, value } => self.lines.push(RawLine {
                    group: group.clone(),
                    key: with_hyphens(key),
                    value,
                    file: path.to_owned(),
                    number,
                }),
                Line::Bad(reason) => self.bad(path, number, reason),
            }
        }
        if let Some(line) = without_group {
            self.warnings.push(Warning::NoGroup { file: path.to_owned(), line });
        }
    }

    fn bad(&mut self, path: &Path, line: u32, reason: &str) {
        self.warnings.push(Warning::BadLine { file: path.to_owned(), line, reason: reason.to_owned() });
    }

    /// Relative names are resolved relative to the including file. The servers resolve them relative to their working
    /// directory, which nobody intends.
    fn include(&mut self, from: &Path, target: &Path) {
        let path = from.parent().unwrap_or_else(|| Path::new("")).join(target);
        if let Err(error) = self.file(&path) {
            self.warnings.push(Warning::Unreadable { file: path, reason: error.to_string() });
        }
    }

    /// Reads the directory's `*.cnf` files in alphabetical order.
    fn include_dir(&mut self, from: &Path, target: &Path) {
        let directory = from.parent().unwrap_or_else(|| Path::new("")).join(target);
        let listing = match fs::read_dir(&directory) {
            Ok(listing) => listing,
            Err(error) => {
                self.warnings.push(Warning::Unreadable { file: directory, reason: error.to_string() });
                return;
            }
        };
        let files: BTreeSet<PathBuf> = listing
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "cnf"))
            .take(MAX_FILES)
            .collect();
        for file in files {
            if let Err(error) = self.file(&file) {
                self.warnings.push(Warning::Unreadable { file, reason: error.to_string() });
            }
        }
    }
}

impl RawLine {
    pub(super) fn wrong(&self, reason: &'static str) -> Error {
        Error::OptionFileSyntax { path: self.file.clone(), line: self.number, reason }
    }

    fn into_entry(self) -> Entry {
        let value = match self.value {
            None => Value::None,
            Some(text) if is_secret(&self.key, &text) => Value::Secret,
            Some(text) => Value::Text(text.to_string()),
        };
        Entry { group: self.group, key: self.key, value, file: self.file, line: self.number }
    }
}

pub(super) fn read(path: &Path) -> Result<Raw, Error> {
    let mut raw = Raw::default();
    raw.file(path).map_err(|source| Error::OptionFileRead { path: path.to_owned(), source })?;
    Ok(raw)
}
