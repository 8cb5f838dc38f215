//! Other programs that check tablespaces: what they say of a file, and how fast.

use std::{
    ffi::OsStr,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde::Serialize;

use crate::{Error, program};

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerKind {
    /// `innochecksum`, of MySQL or MariaDB. One thread; ends at the first page it calls invalid.
    Innochecksum,
    /// `inno checksum` of the crate innodb-utils. Reads every page.
    Inno,
}

/// A program that checks tablespaces.
#[derive(Clone, Debug)]
pub struct Peer {
    kind: PeerKind,
    program: PathBuf,
    version: String,
}

/// What a peer says of files that are sound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Opinion {
    /// The peer, with its version.
    pub peer: String,
    /// Which files: `encrypted`, `clear`.
    pub of: &'static str,
    /// How many.
    pub files: u64,
    /// Of these, it calls so many sound.
    pub sound: u64,
    /// So many invalid.
    pub invalid: u64,
    /// On so many it crashed.
    pub crashed: u64,
    /// The first file that it does not call sound.
    pub example: Option<PathBuf>,
    /// Its last words on that.
    pub words: Option<String>,
}

/// What a peer says of one file.
enum Answer {
    Sound,
    Invalid(String),
    Crashed(String),
}

impl Peer {
    /// The program, if it is there and says its version.
    #[must_use]
    pub fn find(kind: PeerKind, program: &OsStr) -> Option<Self> {
        let program = program::find_program(program)?;
        let output = Command::new(&program).arg("--version").stdin(Stdio::null()).output().ok()?;
        let words = String::from_utf8_lossy(&output.stdout).into_owned();
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

    /// Whether its time on a file it calls invalid is that of a part of the file.
    #[must_use]
    pub fn stops_at_fault(&self) -> bool {
        self.kind == PeerKind::Innochecksum
    }

    /// Whether it can use several threads.
    #[must_use]
    pub fn has_threads(&self) -> bool {
        self.kind == PeerKind::Inno
    }

    /// The command that checks one file. A peer without threads ignores `threads`.
    #[must_use]
    pub fn command(&self, file: &Path, threads: usize) -> Command {
        let mut command = Command::new(&self.program);
        match self.kind {
            PeerKind::Innochecksum => command.arg(file),
            PeerKind::Inno => command.args(["checksum", "--threads", &threads.to_string(), "--file"]).arg(file),
        };
        command
    }

    /// Asks it about every file; returns the opinion and the files that it calls sound.
    ///
    /// # Errors
    /// [`Error::Program`] if it cannot be started.
    pub fn opinion(&self, of: &'static str, files: &[PathBuf]) -> Result<(Opinion, Vec<PathBuf>), Error> {
        let mut opinion = Opinion { peer: self.name(), of, ..Opinion::default() };
        let mut sound = Vec::new();
        for file in files {
            opinion.files += 1;
            let words = match self.ask(file)? {
                Answer::Sound => {
                    opinion.sound += 1;
                    sound.push(file.clone());
                    continue;
                }
                Answer::Invalid(words) => {
                    opinion.invalid += 1;
                    words
                }
                Answer::Crashed(words) => {
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

    fn ask(&self, file: &Path) -> Result<Answer, Error> {
        let mut command = self.command(file, 1);
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|e| program::failed(&command, &e.to_string()))?;
        Ok(match (output.status.code(), output.status.signal()) {
            (Some(0), _) => Answer::Sound,
            (_, Some(signal)) => Answer::Crashed(format!("killed by signal {signal}")),
            _ => Answer::Invalid(last_words(&output)),
        })
    }
}

/// `9.7.4` of `innochecksum  Ver 9.7.4-2 for Linux`, `5.2.0` of `inno 5.2.0`, `1.1.1` of `v1.1.1`.
pub(crate) fn version(words: &str) -> &str {
    let starts_with_digit = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let words = words.split_whitespace().map(|word| word.strip_prefix('v').unwrap_or(word));
    let word = { words }.find(starts_with_digit).unwrap_or_default();
    word.split(['-', ',']).next().unwrap_or_default()
}

/// The last line that is not empty; the first such line of the error stream if it has any.
fn last_words(output: &Output) -> String {
    const MOST: usize = 200;
    let line = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.lines().rfind(|line| !line.trim().is_empty()).map(|line| line.trim().chars().take(MOST).collect())
    };
    line(&output.stderr).or_else(|| line(&output.stdout)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_programs_write_them() {
        assert_eq!(version("/usr/bin/innochecksum Ver 10.11.19, for debian-linux-gnu"), "10.11.19");
        assert_eq!(version("innochecksum  Ver 9.7.4-2 for Linux on x86_64 ((Debian))"), "9.7.4");
        assert_eq!(version("inno 5.2.0"), "5.2.0");
        assert_eq!(version("*** Zstandard CLI (64-bit) v1.5.4, by Yann Collet ***"), "1.5.4");
        assert_eq!(version(""), "");
    }

    #[test]
    fn a_peer_calls_some_files_sound_some_invalid_and_crashes_on_some() {
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
