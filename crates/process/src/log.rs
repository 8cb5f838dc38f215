//! Finds the reason for a failure in the log that a program writes to its standard error.

use std::io::{BufRead, Read};

/// The line of a log that most likely gives the reason: the last one that mentions an error, else the last line.
#[must_use]
pub fn last_error(mut log: impl BufRead) -> String {
    /// Maximum length of a line in bytes; longer lines are read in several parts.
    const LONGEST: u64 = 4096;
    let (mut last, mut error, mut line) = (String::new(), None, Vec::new());
    while log.by_ref().take(LONGEST).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        line.clear();
        let line = text;
        let lower = line.to_ascii_lowercase();
        if lower.contains("error") || lower.contains("failed") {
            error = Some(line.clone());
        }
        if !line.is_empty() {
            last = line;
        }
    }
    error.unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_with_an_error_is_the_reason() {
        assert_eq!(last_error(&b"[00] Failed to connect\nbye\n\n"[..]), "[00] Failed to connect");
        assert_eq!(last_error(&b"one\ntwo\n\n"[..]), "two");
        assert_eq!(last_error(&b""[..]), "");
    }
}
