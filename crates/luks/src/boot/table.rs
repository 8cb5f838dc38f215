//! Lines of `crypttab` and `fstab`: adds one, removes ours, and leaves all others byte for byte.

use std::path::Path;

use super::options::{self, are_of_crypttab};
use crate::cryptsetup::device_file;
use crate::device::FileSystem;

/// A different line for the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The line, without its end.
    pub line: String,
    /// Whether `boot install` wrote it.
    pub ours: bool,
}

/// Which lines are selected.
#[derive(Debug, Clone, Copy)]
pub(super) enum LineSelector<'a> {
    /// Lines of `crypttab` with this name.
    Crypttab(&'a str),
    /// Lines of `fstab` that mount the volume of this name, at any directory.
    Fstab(&'a str),
    /// As `Fstab`, and lines that mount anything else at this directory.
    FstabAt(&'a str, &'a Path),
}

impl LineSelector<'_> {
    fn matches(self, line: &str) -> bool {
        if line.trim_start().starts_with('#') {
            return false;
        }
        let mut fields = line.split_whitespace();
        let (first, second) = (fields.next(), fields.next());
        match self {
            Self::Crypttab(name) => first == Some(name),
            Self::Fstab(name) => first.is_some_and(|device| Path::new(device) == device_file(name)),
            // A trailing slash makes no difference.
            Self::FstabAt(name, directory) => {
                LineSelector::Fstab(name).matches(line) || second.is_some_and(|second| Path::new(second) == directory)
            }
        }
    }

    /// Whether `boot install` wrote the line: it has exactly our fields and options. A line that was edited since is
    /// not ours.
    fn is_ours(self, line: &str) -> bool {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match (self, fields.as_slice()) {
            (Self::Crypttab(name), [current, device, _, options]) => {
                *current == name && device.starts_with("UUID=") && are_of_crypttab(options)
            }
            (Self::Fstab(name) | Self::FstabAt(name, _), [_, _, kind, options, "0", "2"]) => {
                let seconds = options.strip_prefix(options::FSTAB);
                LineSelector::Fstab(name).matches(line)
                    && FileSystem::ALL.iter().any(|known| known.as_str() == *kind)
                    && seconds.is_some_and(|seconds| seconds.parse::<u32>().is_ok())
            }
            _ => false,
        }
    }
}

/// The first selected line.
pub(super) fn line_of<'t>(text: &'t str, lines: LineSelector<'_>) -> Option<&'t str> {
    text.lines().find(|line| lines.matches(line))
}

/// The text with `line` added; `None` if `line` is there already and no other line is selected.
pub(super) fn with_line(text: &str, lines: LineSelector<'_>, line: &str) -> Result<Option<String>, Conflict> {
    let is_it = |there: &str| there.split_whitespace().eq(line.split_whitespace());
    let mut there = text.lines().filter(|there| lines.matches(there)).peekable();
    if there.peek().is_none() {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(Some(format!("{text}{end}{line}\n")));
    }
    match there.find(|there| !is_it(there)) {
        None => Ok(None),
        Some(other) => Err(Conflict { line: other.to_owned(), ours: lines.is_ours(other) }),
    }
}

/// A text without our lines, and the lines that were removed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RemovedLines {
    pub(super) text: String,
    /// Removed lines.
    pub(super) removed: Vec<String>,
    /// Lines that stay because somebody else wrote them.
    pub(super) foreign: Vec<String>,
}

/// Removes the selected lines that are ours.
pub(super) fn without_lines(text: &str, lines: LineSelector<'_>) -> RemovedLines {
    let mut removed_lines = RemovedLines { text: String::new(), removed: Vec::new(), foreign: Vec::new() };
    for line in text.split_inclusive('\n') {
        let bare = || line.trim_end_matches('\n').to_owned();
        match (lines.matches(line), lines.is_ours(line)) {
            (true, true) => {
                removed_lines.removed.push(bare());
                continue;
            }
            (true, false) => removed_lines.foreign.push(bare()),
            (false, _) => {}
        }
        removed_lines.text.push_str(line);
    }
    removed_lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "data UUID=1-2 /key luks,nofail,headless,no-read-workqueue,no-write-workqueue";

    #[test]
    fn comments_and_other_lines_stay() {
        let text = "# data is a name\nother /dev/sda none\n";
        let data = LineSelector::Crypttab("data");
        let with = with_line(text, data, OURS).unwrap().unwrap();
        assert_eq!(with, format!("{text}{OURS}\n"));
        assert_eq!(with_line(&with, data, &OURS.replace(' ', "   ")).unwrap(), None);
        assert!(with_line(&with, data, "data /dev/sdc none").unwrap_err().ours);
        assert_eq!(without_lines(&with, data).text, text);
    }

    #[test]
    fn all_our_lines_are_removed_and_others_stay() {
        let other = "data UUID=1-2 /key luks,nofail,headless,discard";
        let foreign = "data /dev/sdb none luks";
        let changed = "data UUID=1-2 /key luks,nofail,headless,tries=1";
        let removed_lines =
            without_lines(&format!("{OURS}\n{foreign}\n{other}\n{changed}"), LineSelector::Crypttab("data"));
        assert_eq!(removed_lines.removed, [OURS, other]);
        assert_eq!(removed_lines.foreign, [foreign, changed]);
        assert_eq!(removed_lines.text, format!("{foreign}\n{changed}"));
        let ours = "/dev/mapper/data /srv/data ext4 noatime,nofail,x-systemd.device-timeout=60 0 2";
        let foreign = "/dev/mapper/data /mnt ext4 noatime 0 2";
        let removed_lines = without_lines(&format!("{ours}\n{foreign}\n"), LineSelector::Fstab("data"));
        assert_eq!((removed_lines.removed, removed_lines.foreign), (vec![ours.to_owned()], vec![foreign.to_owned()]));
    }

    #[test]
    fn a_trailing_slash_makes_no_difference() {
        let lines = LineSelector::FstabAt("data", Path::new("/srv/data"));
        let line = "/dev/mapper/data /srv/data ext4 noatime,nofail,x-systemd.device-timeout=60 0 2";
        for text in ["/dev/sdb /srv/data/ xfs defaults 0 0\n", "/dev/sdb /srv//data xfs defaults 0 0"] {
            assert!(!with_line(text, lines, line).unwrap_err().ours, "{text}");
        }
        assert!(with_line(&line.replace("/srv", "/mnt"), lines, line).unwrap_err().ours);
        assert!(with_line("/dev/sdb /srv xfs defaults 0 0\n", lines, line).unwrap().is_some());
    }
}
