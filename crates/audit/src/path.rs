//! Paths by their words alone: of another host, or of a file that is no more.

use std::path::{Component, Path, PathBuf};

/// Takes `.` and `..` out by name alone: links were resolved before, or lead elsewhere on purpose.
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
