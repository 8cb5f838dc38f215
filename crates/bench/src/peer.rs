//! Other programs that verify tablespaces: their verdicts and their speed.

use std::{
    borrow::Cow,
    ffi::OsStr,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde::{Deserialize, Serialize};

use crate::{Error, program};

/// Kind of program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerKind {
    /// `innochecksum` of MySQL or MariaDB: one thread; stops at the first page it calls invalid.
    Innochecksum,
    /// `inno checksum` of the crate innodb-utils: reads every page.
    Inno,
}

/// A program that verifies tablespaces.
#[derive(Clone, Debug)]
pub struct Peer {
    kind: PeerKind,
    program: PathBuf,
    version: String,
}

/// A peer's verdicts on sound files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerVerdicts {
    /// Name and version of the peer.
    pub peer: String,
    /// Kind of files: `encrypted` or `clear`.
    pub of: Cow<'static, str>,
    /// Number of files.
    pub files: u64,
    /// Number of files it calls sound.
    pub sound: u64,
    /// Number of files it calls invalid.
    pub invalid: u64,
    /// Number of files on which it crashed.
    pub crashed: u64,
    /// The first file that it does not call sound.
    pub example: Option<PathBuf>,
    /// The last line that the peer printed about that file.
    pub words: Option<String>,
}

/// A peer's verdict on one file.
enum PeerVerdict {
    Sound,
    Invalid(String),
    Crashed(String),
}

impl Peer {
    /// Finds the program; `None` if it does not exist or does not print its version.
    #[must_use]
    pub fn find(kind: PeerKind, program: &OsStr) -> Option<Self> {
        let program = process::find(program)?;
        let words = process::version_text(&program, &["--version"]).ok()?;
        Some(Self { kind, version: version(&words).to_owned(), program })
    }

    /// Name and version.
    #[must_use]
    pub fn name(&self) -> String {
        match self.kind {
            PeerKind::Innochecksum => format!("innochecksum {}", self.version),
            PeerKind::Inno => format!("inno checksum {}", self.version),
        }
    }

    /// Whether it stops at the first fault, so that its time may cover only a part of the file.
    #[must_use]
    pub fn stops_at_fault(&self) -> bool {
        self.kind == PeerKind::Innochecksum
    }

    /// Whether it supports several threads.
    #[must_use]
    pub fn has_threads(&self) -> bool {
        self.kind == PeerKind::Inno
    }

    /// The command that verifies one file. A peer without threads ignores `threads`.
    #[must_use]
    pub fn command(&self, file: &Path, threads: usize) -> Command {
        let mut command = Command::new(&self.program);
        match self.kind {
            PeerKind::Innochecksum => command.arg(file),
            PeerKind::Inno => command.args(["checksum", "--threads", &threads.to_string(), "--file"]).arg(file),
        };
        command
    }

    /// Runs the peer on every file. Returns its verdicts, and the files that it calls sound.
    ///
    /// # Errors
    /// [`Error::Program`] if it cannot be started.
    pub fn opinion(&self, of: &'static str, files: &[PathBuf]) -> Result<(PeerVerdicts, Vec<PathBuf>), Error> {
        let mut opinion = PeerVerdicts { peer: self.name(), of: of.into(), ..PeerVerdicts::default() };
        let mut sound = Vec::new();
        for file in files {
            opinion.files += 1;
            let words = match self.verify_file(file)? {
                PeerVerdict::Sound => {
                    opinion.sound += 1;
                    sound.push(file.clone());
                    continue;
                }
                PeerVerdict::Invalid(words) => {
                    opinion.invalid += 1;
                    words
                }
                PeerVerdict::Crashed(words) => {
                    opinion.crashed += 1;
                    words
                }
            };
            if opinion.example.is_none() {
                opinion.example = Some(file.clone());
                opinion.words = Some(words);
            }
        }
        Ok((opinion, sound))
    }

    fn verify_file(&self, file: &Path) -> Result<PeerVerdict, Error> {
        let mut command = self.command(file, 1);
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|e| program::failed(&command, &e.to_string()))?;
        Ok(match (output.status.code(), output.status.signal()) {
            (Some(0), _) => PeerVerdict::Sound,
            (_, Some(signal)) => PeerVerdict::Crashed(format!("killed by signal {signal}")),
            _ => PeerVerdict::Invalid(last_line(&output)),
        })
    }
}

/// Extracts the version: `9.7.4` from `innochecksum  Ver 9.7.4-2 for Linux`, `5.2.0` from `inno 5.2.0`, `1.1.1` from
/// `v1.1.1`.
pub(crate) fn version(words: &str) -> &str {
    let starts_with_digit = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let words = words.split_whitespace().map(|word| word.strip_prefix('v').unwrap_or(word));
    let word = { words }.find(starts_with_digit).unwrap_or_default();
    word.split(['-', ',']).next().unwrap_or_default()
}

/// The last line that is not empty; the first line of stderr, if there is one.
fn last_line(output: &Output) -> String {
    const MAX_CHARS: usize = 200;
    let line = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.lines().rfind(|line| !line.trim().is_empty()).map(|line| line.trim().chars().take(MAX_CHARS).collect())
    };
    line(&output.stderr).or_else(|| line(&output.stdout)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_extracted_from_the_output_of_programs() {
        assert_eq!(version("/usr/bin/innochecksum Ver 10.11.19, for debian-linux-gnu"), "10.11.19");
        assert_eq!(version("innochecksum  Ver 9.7.4-2 for Linux on x86_64 ((Debian))"), "9.7.4");
        assert_eq!(version("inno 5.2.0"), "5.2.0");
        assert_eq!(version("*** Zstandard CLI (64-bit) v1.5.4, by Yann Collet ***"), "1.5.4");
        assert_eq!(version(""), "");
    }

    #[test]
    fn verdicts_of_a_peer_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("innochecksum");
        let script = "case $1 in\n--version) echo Ver 1.2.3;;\n*good) ;;\n\
            *bad) echo 'page 1 invalid' >&2; exit 1;;\n*) kill -FPE $$;;\nesac";
        harness::script(&program, script).unwrap();
        let peer = Peer::find(PeerKind::Innochecksum, program.as_os_str()).unwrap();
        let files = ["good", "bad", "ugly"].map(PathBuf::from);
        let (opinion, sound) = peer.opinion("clear", &files).unwrap();
        assert_eq!(opinion.peer, "innochecksum 1.2.3");
        assert_eq!((opinion.files, opinion.sound, opinion.invalid, opinion.crashed), (3, 1, 1, 1));
        assert_eq!(opinion.words.as_deref(), Some("page 1 invalid"));
        assert_eq!(sound, [PathBuf::from("good")]);
    }
}
