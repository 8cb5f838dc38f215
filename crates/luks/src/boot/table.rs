//! Lines of `crypttab` and `fstab`: one added, one taken away, all others left to the last blank.

/// A line with this name that says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The line.
    pub line: String,
}

/// The line whose field is `key`.
pub(super) fn line_of<'t>(text: &'t str, field: usize, key: &str) -> Option<&'t str> {
    text.lines().find(|line| is_of(line, field, key))
}

/// The text with `line` in it; none if it is there already.
pub(super) fn with_line(text: &str, field: usize, key: &str, line: &str) -> Result<Option<String>, Conflict> {
    match line_of(text, field, key) {
        Some(there) if there.split_whitespace().eq(line.split_whitespace()) => Ok(None),
        Some(other) => Err(Conflict { line: other.to_owned() }),
        None => {
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            Ok(Some(format!("{text}{end}{line}\n")))
        }
    }
}

/// The text without the lines of `key`.
pub(super) fn without_line(text: &str, field: usize, key: &str) -> String {
    text.split_inclusive('\n').filter(|line| !is_of(line, field, key)).collect()
}

fn is_of(line: &str, field: usize, key: &str) -> bool {
    !line.trim_start().starts_with('#') && line.split_whitespace().nth(field) == Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_other_lines_stay() {
        let text = "# data is a name\nother /dev/sda none\n";
        let with = with_line(text, 0, "data", "data /dev/sdb none").unwrap().unwrap();
        assert_eq!(with, format!("{text}data /dev/sdb none\n"));
        assert_eq!(with_line(&with, 0, "data", "data   /dev/sdb none").unwrap(), None);
        assert!(with_line(&with, 0, "data", "data /dev/sdc none").is_err());
        assert_eq!(without_line(&with, 0, "data"), text);
    }
}
