//! Where symbolic links in a data directory lead. A server follows them, also out of the directory; and a copy of the
//! directory has them as they are.

use std::{
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

/// Number of links that Linux follows for one path. Source: path_resolution(7).
const MAX_FOLLOWED: usize = 40;

/// Where a link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To a path in the directory, wherever the directory is.
    Inside,
    /// To a path in the directory, but by an absolute path: in a copy, the link leads to the original.
    Absolute,
    /// Out of the directory, or in a circle.
    Outside,
}

/// Where the link at the path `link`, whose content is `target`, leads by the words of its path. Nothing need be there.
///
/// `link` is relative to the directory, and so are the paths that `target_of` gets: it returns the content of a link at
/// such a path, or `None` if there is no link. `root` is the path of the directory, with links resolved. If it is not
/// known, every absolute path leads out.
#[must_use]
pub fn destination(
    root: Option<&Path>,
    link: &Path,
    target: &Path,
    target_of: &dyn Fn(&Path) -> Option<PathBuf>,
) -> Destination {
    let directory = link.parent().unwrap_or_else(|| Path::new(""));
    let mut walk = Walk { root, place: directory.to_owned(), names: Vec::new() };
    if walk.leads_inside(target, target_of) {
        if target.is_absolute() { Destination::Absolute } else { Destination::Inside }
    } else {
        Destination::Outside
    }
}

/// The resolution of a link, name by name.
struct Walk<'r> {
    root: Option<&'r Path>,
    /// What is resolved, relative to the root.
    place: PathBuf,
    /// Names that are left, the next one last.
    names: Vec<OsString>,
}

impl Walk<'_> {
    /// Whether a link at the current place stays in the directory. So do all links on its way, then.
    fn leads_inside(&mut self, target: &Path, target_of: &dyn Fn(&Path) -> Option<PathBuf>) -> bool {
        let mut followed = 1_usize;
        if !self.follow(target) {
            return false;
        }
        while let Some(name) = self.names.pop() {
            if name == ".." {
                if !self.place.pop() {
                    return false;
                }
                continue;
            }
            self.place.push(name);
            let Some(target) = target_of(&self.place) else { continue };
            self.place.pop();
            followed = followed.saturating_add(1);
            if followed > MAX_FOLLOWED || !self.follow(&target) {
                return false;
            }
        }
        true
    }

    /// Goes where a link leads. Returns `false` if its path begins outside.
    fn follow(&mut self, target: &Path) -> bool {
        let below = if target.is_absolute() {
            let Some(below) = self.root.and_then(|root| target.strip_prefix(root).ok()) else { return false };
            self.place.clear();
            below
        } else {
            target
        };
        let names = below.components().rev().filter(|name| *name != Component::CurDir);
        self.names.extend(names.map(|name| name.as_os_str().to_owned()));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Destination::*, *};

    /// Where a link leads, beside the links `others`, in the directory `/data`.
    fn leads(link: &str, target: &str, others: &[(&str, &str)]) -> Destination {
        let target_of = |place: &Path| {
            let found = others.iter().find(|(other, _)| place == Path::new(other));
            found.map(|(_, target)| PathBuf::from(target))
        };
        destination(Some(Path::new("/data")), Path::new(link), Path::new(target), &target_of)
    }

    #[test]
    fn a_relative_link_may_lead_anywhere_in_the_directory() {
        for (link, target, expected) in [
            ("within", "ibdata1", Inside),
            ("within", "./db/../ibdata1", Inside),
            ("db/up", "..", Inside),
            ("db/within", "../nowhere/t.ibd", Inside),
            ("out", "..", Outside),
            ("db/out", "../../other", Outside),
            ("out", "../data/ibdata1", Outside),
            ("out", "db/../../data/ibdata1", Outside),
        ] {
            assert_eq!(leads(link, target, &[]), expected, "{link} -> {target}");
        }
    }

    #[test]
    fn an_absolute_link_is_told_from_others() {
        for (target, expected) in [
            ("/data/ibdata1", Absolute),
            ("/data", Absolute),
            ("//data/./db/../t", Absolute),
            ("/data/../other", Outside),
            ("/data2/ibdata1", Outside),
            ("/etc/ssl/cert.pem", Outside),
        ] {
            assert_eq!(leads("db/link", target, &[]), expected, "{target}");
        }
        let without_root = destination(None, Path::new("link"), Path::new("/data/ibdata1"), &|_| None);
        assert_eq!(without_root, Outside);
    }

    #[test]
    fn links_on_the_way_are_followed() {
        let others = [("db/up", ".."), ("far", "/etc"), ("near", "/data/db"), ("circle", "circle")];
        for (link, target, expected) in [
            ("link", "db/up/ibdata1", Inside),
            // As it is written, it stays inside.
            ("link", "db/up/../elsewhere", Outside),
            ("link", "far", Outside),
            ("link", "far/passwd", Outside),
            ("link", "near/t.ibd", Inside),
            ("link", "near/../../elsewhere", Outside),
            ("circle", "circle", Outside),
        ] {
            assert_eq!(leads(link, target, &others), expected, "{link} -> {target}");
        }
    }
}
