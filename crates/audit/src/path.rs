//! Lexical operations on paths: of another host, or of files that no longer exist.

use std::path::{Component, Path, PathBuf};

/// Removes `.` and `..` lexically: links were resolved before, or are intended.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut done = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                done.pop();
            }
            other => done.push(other),
        }
    }
    done
}
