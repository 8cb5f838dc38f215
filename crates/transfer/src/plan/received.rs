//! Validates the list of entries that a receiver gets from the sender.

use std::{collections::BTreeSet, os::unix::ffi::OsStrExt};

use ::codec::{
    entry::{Entry, Kind},
    path::RelativePath,
};
use files::{MANIFEST, STAGING};

/// Checks that a received list of entries can be created: every path once, every parent a directory
/// before its content, no reserved name.
///
/// Returns the index of the first invalid entry.
#[must_use]
pub fn first_invalid(entries: &[Entry]) -> Option<usize> {
    let mut directories = BTreeSet::new();
    let mut last: Option<&RelativePath> = None;
    entries.iter().position(|entry| {
        let in_order = last.is_none_or(|last| *last < entry.path);
        let has_parent = entry.path.parent().is_none_or(|parent| directories.contains(&parent));
        let first = entry.path.first().as_bytes();
        let ours = first == STAGING.as_bytes() || first.starts_with(MANIFEST.as_bytes());
        last = Some(&entry.path);
        if entry.kind == Kind::Directory {
            directories.insert(entry.path.clone());
        }
        !in_order || !has_parent || ours
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, kind: Kind) -> Entry {
        let path = RelativePath::parse(path.as_bytes()).unwrap();
        Entry { path, kind, mode: 0o644, uid: 0, gid: 0, modified: (0, 0) }
    }

    #[test]
    fn lists_that_could_write_outside_are_refused() {
        let link = || Kind::Link { target: b"/etc".to_vec() };
        let file = || Kind::File { bytes: 0 };
        let cases = [
            (vec![entry("a", Kind::Directory), entry("a/b", file()), entry("c", file())], None),
            (vec![entry("a", link()), entry("a/b", file())], Some(1)),
            (vec![entry("a", file()), entry("a/b", file())], Some(1)),
            (vec![entry("a/b", file())], Some(0)),
            (vec![entry("b", file()), entry("a", file())], Some(1)),
            (vec![entry("a", file()), entry("a", link())], Some(1)),
            (vec![entry("sealant-manifest", file())], Some(0)),
            (vec![entry(".sealant-staging", Kind::Directory)], Some(0)),
        ];
        for (entries, invalid_file) in cases {
            assert_eq!(first_invalid(&entries), invalid_file, "{entries:?}");
        }
    }
}
