//! The commit marker. Once it exists, no sender is needed: the next receiver completes the commit from it.
//!
//! ```text
//! root MODE UID GID     attributes of the target directory; the mode in octal
//! owner UID GID         owner of everything, if it is not taken from the source
//! note TEXT             a note of the sender's program; may be repeated
//! verdict TEXT          of a restore: what was restored and found, in the form of the program that restores
//! rekeyed               if keys were wrapped again; names of the master keys follow, one per line
//! ```

use std::fmt::Write;

use super::staging::Owner;
use crate::wire::Root;

const ROOT: &str = "root";
const OWNER: &str = "owner";
const NOTE: &str = "note";
const VERDICT: &str = "verdict";
const REKEYED: &str = "rekeyed";

/// How a commit is completed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitMarker {
    /// Attributes of the source directory.
    pub root: Option<Root>,
    /// Owner of everything, instead of the source's.
    pub owner: Option<Owner>,
    /// Notes of the sender's program, which must be processed by whoever completes the commit.
    pub notes: Vec<String>,
    /// What a restore has restored and found, for whoever completes its commit; one line.
    pub verdict: Option<String>,
    /// Names of the master keys with which keys were wrapped again, if they were.
    pub master_keys: Option<Vec<String>>,
}

impl CommitMarker {
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        if let Some(Root { mode, uid, gid }) = self.root {
            let _ = writeln!(text, "{ROOT} {mode:o} {uid} {gid}");
        }
        if let Some(Owner { uid, gid }) = self.owner {
            let _ = writeln!(text, "{OWNER} {uid} {gid}");
        }
        for note in &self.notes {
            let _ = writeln!(text, "{NOTE} {}", note.replace(char::is_control, " "));
        }
        if let Some(verdict) = &self.verdict {
            let _ = writeln!(text, "{VERDICT} {}", verdict.replace(char::is_control, " "));
        }
        if let Some(names) = &self.master_keys {
            let _ = writeln!(text, "{REKEYED}\n{}", names.join("\n"));
        }
        text
    }

    /// `None` if the text is not a commit marker.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (mut mark, mut lines) = (Self::default(), text.lines());
        while let Some(line) = lines.next() {
            if let Some(note) = line.strip_prefix(NOTE).and_then(|rest| rest.strip_prefix(' ')) {
                mark.notes.push(note.to_owned());
                continue;
            }
            if let Some(verdict) = line.strip_prefix(VERDICT).and_then(|rest| rest.strip_prefix(' ')) {
                mark.verdict = Some(verdict.to_owned());
                continue;
            }
            let mut message = line.split(' ');
            match message.next()? {
                ROOT => {
                    let mode = u32::from_str_radix(message.next()?, 8).ok()?;
                    mark.root =
                        Some(Root { mode, uid: message.next()?.parse().ok()?, gid: message.next()?.parse().ok()? });
                }
                OWNER => {
                    mark.owner = Some(Owner { uid: message.next()?.parse().ok()?, gid: message.next()?.parse().ok()? })
                }
                REKEYED => {
                    let names = lines.by_ref().filter(|name| !name.is_empty());
                    mark.master_keys = Some(names.map(ToOwned::to_owned).collect());
                }
                _ => return None,
            }
            if message.next().is_some() {
                return None;
            }
        }
        Some(mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_read_back() {
        let root = Some(Root { mode: 0o2750, uid: 27, gid: 28 });
        let owner = Some(Owner { uid: 0, gid: 5 });
        for mark in [
            CommitMarker::default(),
            CommitMarker { root, ..CommitMarker::default() },
            CommitMarker {
                root,
                owner,
                master_keys: Some(vec!["INNODBKey-x-1".to_owned(), "y".to_owned()]),
                ..CommitMarker::default()
            },
            CommitMarker { root, notes: vec!["a b".to_owned(), String::new()], ..CommitMarker::default() },
            CommitMarker { root, master_keys: Some(Vec::new()), ..CommitMarker::default() },
            CommitMarker {
                verdict: Some(r#"{"a b":["owner 0 0"]}"#.to_owned()),
                master_keys: Some(vec!["y".to_owned()]),
                ..CommitMarker::default()
            },
        ] {
            assert_eq!(CommitMarker::parse(&mark.text()), Some(mark));
        }
        let lines = CommitMarker { notes: vec!["a\nowner 0 0".to_owned()], ..CommitMarker::default() };
        assert_eq!(CommitMarker::parse(&lines.text()).map(|mark| mark.owner), Some(None), "a note is one line");
    }

    #[test]
    fn other_texts_are_no_markers() {
        for text in ["root 750 1\n", "root 9 1 2\n", "owner 1 2 3\n", "verdict\n", "else\n", "\n"] {
            assert_eq!(CommitMarker::parse(text), None, "{text}");
        }
    }
}
