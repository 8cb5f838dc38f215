//! Reads option files (`my.cnf` and similar files) as servers and clients do.
//!
//! Source: MySQL manual, "Using Option Files"; MariaDB documentation, "Configuring MariaDB with Option Files";
//! `mysys/my_default.c` of both.

use std::{
    collections::BTreeSet,
    fmt, fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use pki::Fingerprint;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{connect::TlsMode, endpoint::Endpoint, error::Error, secret::Password, tls::TlsVersion};

/// Maximum depth of `!include`; the servers' limit is ten.
const MAX_DEPTH: usize = 10;

/// Maximum size of an option file.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Maximum number of included files.
const MAX_FILES: usize = 1000;

/// An option's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// Without `=`.
    None,
    /// The text, unquoted and unescaped.
    Text(String),
    /// The value seems to be secret and was not kept.
    Secret,
}

impl Value {
    /// The text, if it was kept.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::None | Self::Secret => None,
        }
    }
}

/// A line with an option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The `[group]` of the line, in lower case: the servers ignore case (`find_type` of `mysys/typelib.c`).
    pub group: String,
    /// The key with `_` replaced by `-`; prefixes such as `skip-` and `loose-` are kept.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Path of the file.
    pub file: PathBuf,
    /// Line number, from 1.
    pub line: u32,
}

/// A problem that does not prevent reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// A file with a password is readable by others.
    ReadableSecret {
        /// Path of the file.
        file: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A file is writable by everybody: the servers ignore it, and this reader too.
    WorldWritable {
        /// Path of the file.
        file: PathBuf,
    },
    /// A line is not an option, comment, group or include.
    BadLine {
        /// Path of the file.
        file: PathBuf,
        /// Line number, from 1.
        line: u32,
        /// What is wrong, without the line's content.
        reason: String,
    },
    /// An included file or directory cannot be read.
    Unreadable {
        /// Path of the file or directory.
        file: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// A file includes itself, or is nested too deeply.
    IncludeLoop {
        /// Path of the file that is not read again.
        file: PathBuf,
    },
    /// A connection option that is not followed.
    NotFollowed {
        /// Path of the file.
        file: PathBuf,
        /// Line number, from 1.
        line: u32,
        /// Name of the option.
        key: String,
        /// What is done instead.
        instead: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadableSecret { file, mode } => {
                let (file, mode) = (file.display(), mode & 0o7777);
                write!(f, "{file} holds a password and others may read it (mode {mode:04o}); chmod 0600 it")
            }
            Self::WorldWritable { file } => write!(f, "{} is ignored, because everyone may write it", file.display()),
            Self::BadLine { file, line, reason } => write!(f, "{} line {line}: {reason}", file.display()),
            Self::Unreadable { file, reason } => write!(f, "{}: {reason}", file.display()),
            Self::IncludeLoop { file } => write!(f, "{} includes itself", file.display()),
            Self::NotFollowed { file, line, key, instead } => {
                write!(f, "{} line {line}: {key} is not followed: {instead}", file.display())
            }
        }
    }
}

/// All options of several files, in the order in which servers read them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entries {
    /// The options.
    pub entries: Vec<Entry>,
    /// Problems.
    pub warnings: Vec<Warning>,
    /// The files that were read.
    pub files: Vec<PathBuf>,
}

impl Entries {
    /// Reads a file and its includes; values that seem to be secret are not kept.
    ///
    /// # Errors
    /// [`Error::OptionFileRead`] if the file itself cannot be read. Problems inside it, or in included files, become a
    /// [`Warning`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        read(path).map(|raw| raw.into_entries())
    }

    /// Options of a group.
    pub fn group<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(move |entry| entry.group.eq_ignore_ascii_case(group))
    }

    /// The last option with this key in any of the groups: the effective one.
    pub fn last(&self, groups: &[&str], key: &str) -> Option<&Entry> {
        let key = normalised(key);
        self.entries.iter().rev().find(|entry| entry.key == key && is_in(groups, &entry.group))
    }
}

/// The option files that a server reads, according to its command line.
///
/// Source: MySQL manual, "Command-Line Options that Affect Option-File Handling"; MariaDB documentation, the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionFileArguments {
    /// `--no-defaults`: no files.
    pub none: bool,
    /// `--defaults-file`: only this file.
    pub only: Option<PathBuf>,
    /// `--defaults-extra-file`: this file after the usual ones.
    pub extra: Option<PathBuf>,
    /// `--defaults-group-suffix`: also groups with this suffix.
    pub suffix: Option<String>,
}

impl OptionFileArguments {
    /// Parses the arguments of a server process.
    #[must_use]
    pub fn parse(arguments: &[String]) -> Self {
        let value_of =
            |option: &str| arguments.iter().find_map(|argument| argument.strip_prefix(option)?.strip_prefix('='));
        Self {
            none: arguments.iter().any(|argument| argument == "--no-defaults"),
            only: value_of("--defaults-file").map(PathBuf::from),
            extra: value_of("--defaults-extra-file").map(PathBuf::from),
            suffix: value_of("--defaults-group-suffix").map(str::to_owned),
        }
    }
}

/// Client options from option files.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// `host`.
    pub host: Option<String>,
    /// `port`.
    pub port: Option<u16>,
    /// `socket`.
    pub socket: Option<PathBuf>,
    /// `user`.
    pub user: Option<String>,
    /// `password`.
    pub password: Option<Password>,
    /// `ssl-ca`.
    pub ssl_ca: Option<PathBuf>,
    /// `ssl-capath`.
    pub ssl_capath: Option<PathBuf>,
    /// `ssl-fp`, or the content of the file `ssl-fplist`.
    pub fingerprints: Vec<Fingerprint>,
    /// `tls-version`, restricted to supported versions.
    pub tls_versions: Vec<TlsVersion>,
    /// `ssl-verify-server-cert`.
    pub verify_server_cert: Option<bool>,
    /// `ssl-cert`.
    pub ssl_cert: Option<PathBuf>,
    /// `ssl-key`.
    pub ssl_key: Option<PathBuf>,
    /// `ssl-mode`. `PREFERRED` counts as `REQUIRED`: there is no fallback.
    pub ssl_mode: Option<TlsMode>,
    /// Problems.
    pub warnings: Vec<Warning>,
}

/// The groups that this client reads, as the servers' programs read `[client]` and their own name.
pub const CLIENT_GROUPS: [&str; 2] = ["client", "sealant"];

impl ClientOptions {
    /// Reads one file, as given by `--defaults-file`.
    ///
    /// # Errors
    /// [`Error::OptionFileRead`]; [`Error::OptionFileSyntax`] for an invalid value, such as a port that is not a
    /// number.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let mut options = Self::default();
        options.apply(&read(path)?)?;
        Ok(options)
    }

    /// Reads the usual files, the later ones taking precedence; a missing file is not an error.
    ///
    /// # Errors
    /// Those of [`Self::from_file`], for files that exist.
    pub fn from_usual_files() -> Result<Self, Error> {
        let mut options = Self::default();
        for path in usual_files() {
            if path.exists() {
                options.apply(&read(&path)?)?;
            }
        }
        Ok(options)
    }

    fn apply(&mut self, raw: &Raw) -> Result<(), Error> {
        self.warnings.extend(raw.warnings.iter().cloned());
        for line in &raw.lines {
            if CLIENT_GROUPS.contains(&line.group.as_str()) {
                self.apply_line(line)?;
            }
        }
        Ok(())
    }

    fn apply_line(&mut self, line: &RawLine) -> Result<(), Error> {
        let wrong = |reason| line.wrong(reason);
        let key = line.key.strip_prefix("loose-").unwrap_or(&line.key);
        let value = line.value.as_ref().map(|value| value.as_str());
        let text = || value.map(ToOwned::to_owned);
        match key {
            "host" => self.host = text(),
            "port" => {
                let port = value.and_then(|value| value.parse().ok());
                self.port = Some(port.ok_or_else(|| wrong("the port must be a number from 0 to 65535"))?);
            }
            "socket" => self.socket = value.map(PathBuf::from),
            "user" => self.user = text(),
            "password" => self.password = value.map(Password::new),
            _ => return self.apply_tls(key, value, line),
        }
        Ok(())
    }

    /// TLS options of both families. What they require is enforced, or the file is refused; none is silently ignored.
    ///
    /// Source: MySQL manual, "Command Options for Encrypted Connections"; MariaDB documentation, "Securing Connections
    /// for Client and Server"; `mariadb_defaults` of MariaDB Connector/C.
    fn apply_tls(&mut self, key: &str, value: Option<&str>, line: &RawLine) -> Result<(), Error> {
        let path = || value.filter(|value| !value.is_empty()).map(PathBuf::from);
        match key {
            "ssl-ca" => self.ssl_ca = path(),
            "ssl-capath" => self.ssl_capath = path(),
            "ssl-cert" => self.ssl_cert = path(),
            "ssl-key" => self.ssl_key = path(),
            "ssl-mode" => self.ssl_mode = Some(mode_named(value).ok_or_else(|| line.wrong("unknown ssl-mode"))?),
            "ssl-verify-server-cert" | "enable-ssl-verify-server-cert" => {
                let on = value.map_or(Some(true), switch);
                self.verify_server_cert = Some(on.ok_or_else(|| line.wrong("ssl-verify-server-cert must be 0 or 1"))?);
            }
            "skip-ssl-verify-server-cert" | "disable-ssl-verify-server-cert" => self.verify_server_cert = Some(false),
            "ssl-fp" | "tls-fp" => self.fingerprints = fingerprints(value.unwrap_or_default(), line)?,
            "ssl-fplist" | "ssl-fp-list" | "tls-fplist" | "tls-fp-list" => {
                let list = fs::read_to_string(path().unwrap_or_default());
                let list = list.map_err(|_| line.wrong("the file of its fingerprints cannot be read"))?;
                self.fingerprints = fingerprints(&list, line)?;
            }
            "tls-version" => self.tls_versions = versions(value.unwrap_or_default(), line)?,
            "ssl-crl" | "ssl-crlpath" if path().is_some() => {
                return Err(line.wrong(
                    "lists of revoked certificates are not looked at; take ssl-crl and ssl-crlpath out, or name the \
                     server's certificate with ssl-fp",
                ));
            }
            "ssl" | "enable-ssl" if value.and_then(switch) == Some(false) => self.not_followed(line, TLS_STAYS),
            "skip-ssl" | "disable-ssl" => self.not_followed(line, TLS_STAYS),
            "ssl-cipher" | "tls-ciphersuites" => {
                self.not_followed(line, "only suites with forward secrecy and authenticated encryption are offered");
            }
            _ if KNOWN_TLS.contains(&key) => {}
            _ if key.starts_with("ssl-") || key.starts_with("tls-") => {
                self.not_followed(line, "the connection is made without it");
            }
            _ => {}
        }
        Ok(())
    }

    fn not_followed(&mut self, line: &RawLine, instead: &str) {
        let (file, key, instead) = (line.file.clone(), line.key.clone(), instead.to_owned());
        self.warnings.push(Warning::NotFollowed { file, line: line.number, key, instead });
    }

    /// The mode that `ssl-mode` and `ssl-verify-server-cert` together require for the endpoint; `None` if neither is
    /// set.
    ///
    /// With an authority, `ssl-verify-server-cert` requires its certificate with the server's name; without one, the
    /// proof by the password hash, as in MariaDB's own client. On a socket it requires nothing.
    pub fn mode_for(&self, endpoint: &Endpoint, has_authority: bool) -> Option<TlsMode> {
        let verify = self.verify_server_cert == Some(true) && !endpoint.is_socket();
        match self.ssl_mode {
            Some(mode @ (TlsMode::Off | TlsMode::VerifyIdentity)) => Some(mode),
            _ if verify && has_authority => Some(TlsMode::VerifyIdentity),
            None | Some(TlsMode::Required) if verify && self.fingerprints.is_empty() => Some(TlsMode::VerifyProof),
            mode => mode,
        }
    }
}

const TLS_STAYS: &str = "over TCP there is TLS, or no connection";

/// Options without effect here: over TCP there is always TLS, sessions are not resumed, and no key is requested from
/// the server.
const KNOWN_TLS: [&str; 8] = [
    "ssl",
    "enable-ssl",
    "ssl-enforce",
    "tls-enforce",
    "ssl-crl",
    "ssl-crlpath",
    "ssl-session-data",
    "ssl-session-data-continue-on-failed-reuse",
];

fn mode_named(value: Option<&str>) -> Option<TlsMode> {
    let mode = value.unwrap_or_default().to_ascii_uppercase().replace('-', "_");
    Some(match mode.as_str() {
        "DISABLED" => TlsMode::Off,
        "PREFERRED" | "REQUIRED" => TlsMode::Required,
        "VERIFY_CA" => TlsMode::VerifyCa,
        "VERIFY_IDENTITY" => TlsMode::VerifyIdentity,
        _ => return None,
    })
}

/// Parses a boolean as `my_getopt.c` does.
fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "on" | "true" | "yes" => Some(true),
        "0" | "off" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// A list separated by lines or commas.
fn fingerprints(list: &str, line: &RawLine) -> Result<Vec<Fingerprint>, Error> {
    let each = list.split(['\n', ',']).map(str::trim).filter(|text| !text.is_empty() && !text.starts_with('#'));
    let all: Result<Vec<Fingerprint>, _> = each.map(str::parse).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(line.wrong("a fingerprint has to be a certificate's SHA-256 of 64 hexadecimal digits")),
    }
}

fn versions(list: &str, line: &RawLine) -> Result<Vec<TlsVersion>, Error> {
    let named = |text: &str| TlsVersion::ALL.into_iter().find(|version| version.name().eq_ignore_ascii_case(text));
    let all: Option<Vec<TlsVersion>> = list.split(',').map(|text| named(text.trim())).collect();
    let all = all.ok_or_else(|| line.wrong("unknown tls-version"))?;
    let spoken: Vec<TlsVersion> = all.into_iter().filter(|version| *version >= TlsVersion::Tls12).collect();
    if spoken.is_empty() { Err(line.wrong("tls-version has to allow TLSv1.2 or TLSv1.3")) } else { Ok(spoken) }
}

/// `/etc/my.cnf`, `/etc/mysql/my.cnf` and `~/.my.cnf`, in reading order.
pub fn usual_files() -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("/etc/my.cnf"), PathBuf::from("/etc/mysql/my.cnf")];
    if let Some(home) = std::env::var_os("HOME").filter(|home| !home.is_empty()) {
        files.push(Path::new(&home).join(".my.cnf"));
    }
    files
}

/// Whether the value of this key is secret in option files of MySQL or MariaDB.
pub fn is_secret(key: &str) -> bool {
    let key = normalised(key);
    let key = key.strip_prefix("loose-").unwrap_or(&key);
    // wsrep_sst_auth=user:password; [sst] encrypt-key; file_key_management_filekey, which may contain the key itself
    // instead of FILE:path; MySQL's keyring and LDAP plug-ins.
    key.contains("password")
        || key.contains("passwd")
        || key.contains("passphrase")
        || key.contains("secret")
        || key.contains("token")
        || key.ends_with("auth")
        || key.ends_with("-pwd")
        || key == "encrypt-key"
        || key.ends_with("filekey")
        || key.ends_with("master-key")
}

/// A parsed line with its value.
#[derive(Debug)]
struct RawLine {
    group: String,
    key: String,
    value: Option<Zeroizing<String>>,
    file: PathBuf,
    number: u32,
}

#[derive(Debug, Default)]
struct Raw {
    lines: Vec<RawLine>,
    warnings: Vec<Warning>,
    files: Vec<PathBuf>,
    /// Files being read, from the outermost one.
    open: Vec<PathBuf>,
}

impl Raw {
    fn into_entries(self) -> Entries {
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
            .any(|line| line.file == path && line.value.is_some() && is_secret(&line.key));
        if password_option && mode & 0o077 != 0 {
            self.warnings.push(Warning::ReadableSecret { file: path.to_owned(), mode });
        }
        Ok(())
    }

    fn text(&mut self, path: &Path, text: &str) {
        let mut group = String::new();
        for (number, line) in (1_u32..).zip(text.lines()) {
            match parse_line(line) {
                Line::Empty => {}
                Line::Group(name) => group = name.to_ascii_lowercase(),
                Line::Include(target) => self.include(path, Path::new(target)),
                Line::IncludeDir(target) => self.include_dir(path, Path::new(target)),
                Line::Option { .. } if group.is_empty() => {
                    self.bad(path, number, "an option before the first group");
                }
                Line::Option { key, value } => self.lines.push(RawLine {
                    group: group.clone(),
                    key: normalised(key),
                    value,
                    file: path.to_owned(),
                    number,
                }),
                Line::Bad(reason) => self.bad(path, number, reason),
            }
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
    fn wrong(&self, reason: &'static str) -> Error {
        Error::OptionFileSyntax { path: self.file.clone(), line: self.number, reason }
    }

    fn into_entry(self) -> Entry {
        let value = match self.value {
            None => Value::None,
            // The path of a key is not secret.
            Some(text) if is_secret(&self.key) && !text.starts_with("FILE:") => Value::Secret,
            Some(text) => Value::Text(text.to_string()),
        };
        Entry { group: self.group, key: self.key, value, file: self.file, line: self.number }
    }
}

fn read(path: &Path) -> Result<Raw, Error> {
    let mut raw = Raw::default();
    raw.file(path).map_err(|source| Error::OptionFileRead { path: path.to_owned(), source })?;
    Ok(raw)
}

/// Whether a group is in a list, ignoring case.
fn is_in(groups: &[&str], group: &str) -> bool {
    groups.iter().any(|known| known.eq_ignore_ascii_case(group))
}

fn normalised(key: &str) -> String {
    key.to_ascii_lowercase().replace('_', "-")
}

#[derive(Debug)]
enum Line<'a> {
    Empty,
    Group(&'a str),
    Include(&'a str),
    IncludeDir(&'a str),
    Option { key: &'a str, value: Option<Zeroizing<String>> },
    Bad(&'static str),
}

fn parse_line(line: &str) -> Line<'_> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', ';']) {
        return Line::Empty;
    }
    if let Some(rest) = line.strip_prefix('[') {
        return match rest.split_once(']') {
            Some((name, _)) if !name.trim().is_empty() => Line::Group(name.trim()),
            _ => Line::Bad("a group without its closing bracket or name"),
        };
    }
    if let Some(rest) = line.strip_prefix('!') {
        if let Some(target) = rest.strip_prefix("includedir").and_then(argument) {
            return Line::IncludeDir(target);
        }
        return match rest.strip_prefix("include").and_then(argument) {
            Some(target) => Line::Include(target),
            None => Line::Bad("neither !include nor !includedir with a name"),
        };
    }
    match line.split_once('=') {
        Some((key, value)) => match key.trim() {
            "" => Line::Bad("a value without a key"),
            key => Line::Option { key, value: Some(unescaped(without_comment(value).trim())) },
        },
        None => Line::Option { key: without_comment(line).trim(), value: None },
    }
}

fn argument(rest: &str) -> Option<&str> {
    let name = rest.strip_prefix([' ', '\t'])?.trim();
    (!name.is_empty()).then_some(name)
}

/// A `#` outside quotes starts a comment anywhere in a line.
fn without_comment(text: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (position, character) in text.char_indices() {
        match (character, quote) {
            _ if escaped => escaped = false,
            ('\\', Some(_)) => escaped = true,
            ('\'' | '"', None) => quote = Some(character),
            (_, Some(open)) if character == open => quote = None,
            ('#', None) => return text.get(..position).unwrap_or(text),
            _ => {}
        }
    }
    text
}

/// Removes one pair of quotes and resolves `\b \t \n \r \\ \s \" \'`; any other backslash is kept, as in a Windows
/// path.
fn unescaped(value: &str) -> Zeroizing<String> {
    let inner = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(value);
    let mut text = Zeroizing::new(String::with_capacity(inner.len()));
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('b') => text.push('\u{8}'),
            Some('t') => text.push('\t'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('s') => text.push(' '),
            Some(plain @ ('\\' | '"' | '\'')) => text.push(plain),
            Some(other) => {
                text.push('\\');
                text.push(other);
            }
            None => text.push('\\'),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use proptest::prelude::*;

    use super::*;

    fn file(directory: &Path, name: &str, text: &str) -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn text_of<'a>(entries: &'a Entries, key: &str) -> Option<&'a str> {
        entries.last(&["mysqld"], key)?.value.text()
    }

    #[test]
    fn options_are_read_as_the_servers_read_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(
            directory.path(),
            "my.cnf",
            "# comment\n; comment\n[mysqld]\nbind_address = 127.0.0.1   # home\nSSL-Ca=\"/etc/a b#c.pem\"\n\
             skip-networking\nloose_x=a\\sb\\tc\\q\n[MySQLd]\nbind-address=::1\nempty=\n[client]\nport=1\n",
        );
        let entries = Entries::read(&path).unwrap();
        assert_eq!(text_of(&entries, "bind-address"), Some("::1"));
        assert_eq!(text_of(&entries, "bind_address"), Some("::1"));
        assert_eq!(text_of(&entries, "ssl-ca"), Some("/etc/a b#c.pem"));
        assert_eq!(text_of(&entries, "loose-x"), Some("a b\tc\\q"));
        assert_eq!(text_of(&entries, "empty"), Some(""));
        assert_eq!(entries.last(&["mysqld"], "skip-networking").unwrap().value, Value::None);
        let first = entries.group("mysqld").next().unwrap();
        assert_eq!((first.line, first.value.text()), (4, Some("127.0.0.1")));
        assert_eq!(entries.warnings, []);
    }

    #[test]
    fn includes_are_followed_in_order_and_loops_end() {
        let directory = tempfile::tempdir().unwrap();
        let drop_in = directory.path().join("conf.d");
        fs::create_dir(&drop_in).unwrap();
        file(&drop_in, "b.cnf", "[mysqld]\nx=b\n");
        file(&drop_in, "a.cnf", "[mysqld]\nx=a\n");
        file(&drop_in, "c.txt", "[mysqld]\nx=c\n");
        let path = file(
            directory.path(),
            "my.cnf",
            "[mysqld]\nx=0\n!includedir conf.d\n!include my.cnf\n!include none.cnf\ny=after\n",
        );
        let entries = Entries::read(&path).unwrap();
        assert_eq!(text_of(&entries, "x"), Some("b"));
        assert_eq!(text_of(&entries, "y"), Some("after"));
        assert!(matches!(entries.warnings.as_slice(), [Warning::IncludeLoop { .. }, Warning::Unreadable { .. }]));
    }

    #[test]
    fn secrets_are_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(
            directory.path(),
            "my.cnf",
            "[client]\npassword=geheim\n[mysqld]\nwsrep_sst_auth=u:geheim\nloose_file_key_management_filekey=geheim\n\
             file_key_management_filekey = FILE:/etc/key\n[sst]\nencrypt-key=geheim\nencrypt=4\n",
        );
        let entries = Entries::read(&path).unwrap();
        assert!(!format!("{entries:?}").contains("geheim"));
        let secrets = entries.entries.iter().filter(|entry| entry.value == Value::Secret);
        assert_eq!(secrets.count(), 4);
        assert_eq!(text_of(&entries, "file-key-management-filekey"), Some("FILE:/etc/key"));
        let encrypt = entries.last(&["sst"], "encrypt").unwrap();
        assert_eq!(encrypt.value.text(), Some("4"));
    }

    #[test]
    fn a_secret_others_may_read_is_warned_of() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path(), "my.cnf", "[client]\npassword=geheim\n");
        assert_eq!(ClientOptions::from_file(&path).unwrap().warnings, []);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let options = ClientOptions::from_file(&path).unwrap();
        let expected = Warning::ReadableSecret { file: path.clone(), mode: 0o640 };
        assert_eq!(options.warnings, [expected]);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let options = ClientOptions::from_file(&path).unwrap();
        assert!(options.password.is_none());
        assert!(matches!(options.warnings.as_slice(), [Warning::WorldWritable { .. }]));
    }

    #[test]
    fn our_client_reads_client_and_sealant() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(
            directory.path(),
            "my.cnf",
            "[client]\nhost=db\nport=3307\nuser=u\npassword=\"a#b\"\nssl-mode=verify_identity\nssl_ca=/ca.pem\n\
             [mysql]\nuser=other\n[Sealant]\nuser=audit\nsocket=/s\n",
        );
        let options = ClientOptions::from_file(&path).unwrap();
        assert_eq!(options.host.as_deref(), Some("db"));
        assert_eq!(options.port, Some(3307));
        assert_eq!(options.user.as_deref(), Some("audit"));
        assert_eq!(options.password.unwrap().expose(), b"a#b");
        assert_eq!(options.ssl_mode, Some(TlsMode::VerifyIdentity));
        assert_eq!(options.ssl_ca.as_deref(), Some(Path::new("/ca.pem")));
        let path = file(directory.path(), "bad.cnf", "[client]\nport=x\n");
        let error = ClientOptions::from_file(&path).unwrap_err();
        assert!(matches!(error, Error::OptionFileSyntax { line: 2, .. }));
    }

    fn client(text: &str) -> Result<ClientOptions, Error> {
        let directory = tempfile::tempdir().unwrap();
        ClientOptions::from_file(&file(directory.path(), "my.cnf", &format!("[client]\n{text}\n")))
    }

    #[test]
    fn what_a_file_demands_of_the_server_is_demanded() {
        let (tcp, socket) = (Endpoint::tcp("db", 3306), Endpoint::Socket("/s".into()));
        let mode = |text: &str, authority| client(text).unwrap().mode_for(&tcp, authority);
        for on in ["ssl-verify-server-cert", "ssl_verify_server_cert=1", "loose-ssl-verify-server-cert=ON"] {
            assert_eq!(mode(on, true), Some(TlsMode::VerifyIdentity), "{on}");
            assert_eq!(mode(on, false), Some(TlsMode::VerifyProof), "{on}");
            assert_eq!(mode(&format!("ssl-mode=REQUIRED\n{on}"), true), Some(TlsMode::VerifyIdentity), "{on}");
            assert_eq!(mode(&format!("{on}\nssl-mode=VERIFY_CA"), true), Some(TlsMode::VerifyIdentity), "{on}");
            assert_eq!(client(on).unwrap().mode_for(&socket, true), None, "{on}");
        }
        for off in ["ssl-verify-server-cert=0", "skip-ssl-verify-server-cert", "ssl-verify-server-cert=off"] {
            assert_eq!(mode(off, true), None, "{off}");
        }
        let fingerprint = Fingerprint::from_der(b"one");
        let pinned = client(&format!("ssl-fp={fingerprint}\nssl-verify-server-cert")).unwrap();
        assert_eq!(pinned.fingerprints, [fingerprint]);
        assert_eq!(pinned.mode_for(&tcp, false), None);
        let directory = tempfile::tempdir().unwrap();
        let list =
            file(directory.path(), "list", &format!("# ours\n{fingerprint}\n{}\n", Fingerprint::from_der(b"two")));
        let listed = client(&format!("ssl-fplist={}", list.display())).unwrap();
        assert_eq!(listed.fingerprints, [fingerprint, Fingerprint::from_der(b"two")]);
        assert_eq!(client("tls-version=TLSv1.1,TLSv1.3").unwrap().tls_versions, [TlsVersion::Tls13]);
        assert_eq!(client("ssl-capath=/d").unwrap().ssl_capath.as_deref(), Some(Path::new("/d")));
    }

    #[test]
    fn what_a_file_demands_and_cannot_be_done_is_refused_or_named() {
        for refused in [
            "ssl-mode=SOMETIMES",
            "ssl-verify-server-cert=perhaps",
            "ssl-fp=da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "ssl-fplist=/nonexistent",
            "tls-version=TLSv1.1",
            "tls_version=9",
            "ssl-crl=/crl.pem",
            "ssl-crlpath=/crls",
        ] {
            assert!(matches!(client(refused), Err(Error::OptionFileSyntax { line: 2, .. })), "{refused}");
        }
        for named in ["ssl-cipher=AES128-SHA", "skip-ssl", "ssl=0", "ssl-fips-mode=ON", "tls-sni-servername=x"] {
            let options = client(named).unwrap();
            assert!(matches!(options.warnings.as_slice(), [Warning::NotFollowed { line: 2, .. }]), "{named}");
        }
        assert_eq!(client("ssl\nssl-enforce=1\nssl-ca=/a\ncharacter-set-client=utf8").unwrap().warnings, []);
    }

    #[test]
    fn odd_lines_are_reported_and_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path(), "my.cnf", "x=1\n[broken\n[]\n!nclude a\n[mysqld]\n=v\ny=2\n");
        let entries = Entries::read(&path).unwrap();
        assert_eq!(entries.warnings.len(), 5);
        assert_eq!(text_of(&entries, "y"), Some("2"));
        assert!(matches!(Entries::read(directory.path()), Err(Error::OptionFileRead { .. })));
    }

    proptest! {
        #[test]
        fn any_line_is_read(line in ".*") {
            let _ = parse_line(&line);
        }

        #[test]
        fn a_quoted_value_comes_back(value in "[a-zA-Z0-9 #;=]*") {
            let line = format!("k=\"{value}\"");
            let Line::Option { key: "k", value: Some(read) } = parse_line(&line) else {
                panic!("not an option");
            };
            prop_assert_eq!(read.as_str(), value);
        }
    }
}
