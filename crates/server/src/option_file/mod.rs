//! Reads option files (`my.cnf` and similar files) as servers and clients do.
//!
//! Source: MySQL manual, "Using Option Files"; MariaDB documentation, "Configuring MariaDB with Option Files";
//! `mysys/my_default.c` of both.

mod client;
mod line;
mod read;

use std::{
    fmt, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

pub use self::client::{CLIENT_GROUPS, ClientOptions};
use self::read::read;
use crate::{error::Error, option_name::with_hyphens};

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

/// Permission bits that a file with a secret should not have.
const READABLE_BY_OTHERS: u32 = 0o077;

/// A problem that does not prevent the file from being read.
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
    /// A file is writable by everybody. Servers ignore such files, and so does this reader.
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
    /// Options before the first group, which no program reads.
    NoGroup {
        /// Path of the file.
        file: PathBuf,
        /// Number of the first such line, from 1.
        line: u32,
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

impl Warning {
    /// Warns if others than the owner may read a file with a password. `None` if the file cannot be examined.
    pub(crate) fn readable_secret(file: &Path) -> Option<Self> {
        let metadata = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
        let mode = metadata.mode() & 0o7777;
        (mode & READABLE_BY_OTHERS != 0).then(|| Self::ReadableSecret { file: file.to_owned(), mode })
    }
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
            Self::NoGroup { file, line } => {
                write!(f, "{} line {line}: options before the first group are ignored", file.display())
            }
            Self::Unreadable { file, reason } => write!(f, "{}: {reason}", file.display()),
            Self::IncludeLoop { file } => write!(f, "{} includes itself", file.display()),
            Self::NotFollowed { file, line, key, instead } => {
                write!(f, "{} line {line}: {key} is not followed: {instead}", file.display())
            }
        }
    }
}

/// The options of one or more files, in the order in which servers read them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entries {
    /// All options; a later entry overrides an earlier one.
    pub entries: Vec<Entry>,
    /// Problems that did not prevent reading.
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
        let key = with_hyphens(key);
        self.entries.iter().rev().find(|entry| entry.key == key && is_in(groups, &entry.group))
    }
}

/// The option files that a server reads, according to its command line.
///
/// Source: "Command-Line Options that Affect Option-File Handling" in the MySQL manual and in MariaDB's documentation.
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

/// The option files of a host, in reading order. The last three are those of builds with another prefix.
///
/// Source: MySQL manual, "Using Option Files"; MariaDB documentation, the same.
pub const HOST_FILES: [&str; 5] =
    ["/etc/my.cnf", "/etc/mysql/my.cnf", "/usr/etc/my.cnf", "/usr/local/etc/my.cnf", "/usr/local/mysql/etc/my.cnf"];

/// Name of the option file in a user's home directory.
pub const HOME_FILE: &str = ".my.cnf";
/// Name of the option file in a data directory, which servers up to MySQL 5.5 read.
pub const DATADIR_FILE: &str = "my.cnf";

/// [`HOST_FILES`] and `~/.my.cnf`, in reading order.
pub fn usual_files() -> Vec<PathBuf> {
    let mut files = HOST_FILES.map(PathBuf::from).to_vec();
    if let Some(home) = std::env::var_os("HOME").filter(|home| !home.is_empty()) {
        files.push(Path::new(&home).join(HOME_FILE));
    }
    files
}

/// Whether a group is in a list, ignoring case.
fn is_in(groups: &[&str], group: &str) -> bool {
    groups.iter().any(|known| known.eq_ignore_ascii_case(group))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    /// An option file that only its owner can read.
    pub(super) fn file(directory: &Path, name: &str, text: &str) -> PathBuf {
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
    fn odd_lines_are_reported_and_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path(), "my.cnf", "x=1\n[broken\n[]\n!nclude a\n[mysqld]\n=v\ny=2\n");
        let entries = Entries::read(&path).unwrap();
        assert_eq!(entries.warnings.len(), 5);
        assert_eq!(text_of(&entries, "y"), Some("2"));
        assert!(matches!(Entries::read(directory.path()), Err(Error::OptionFileRead { .. })));
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
}
