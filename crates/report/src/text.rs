//! Makes foreign text safe to print, and fits it to columns.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;

use crate::Error;

/// Foreign text on one line: control characters, line ends, and characters that change direction or width of the text
/// are escaped, as in `\u{1b}`.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_hidden) { Cow::Owned(escape_hidden(text)) } else { Cow::Borrowed(text) }
}

fn escape_hidden(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Characters that control a terminal, break a line or reorder text (Unicode TR 36, TR 9).
pub(crate) const fn is_hidden(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

/// Foreign text that may have several lines, such as a command; otherwise like [`visible`].
#[must_use]
pub(crate) fn visible_lines(text: &str) -> Cow<'_, str> {
    if !text.contains('\n') {
        return visible(text);
    }
    let lines: Vec<Cow<'_, str>> = text.trim_end().split('\n').map(visible).collect();
    Cow::Owned(lines.join("\n"))
}

/// Foreign text that is displayed by [`visible_lines`]; templates and writers add the escaping of their format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible_lines(self.0))
    }
}

/// Columns of `text` in a terminal: two for East Asian wide characters, none for combining marks. An approximation;
/// terminals differ.
#[must_use]
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(char_columns).sum()
}

const fn char_columns(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// Cuts `text` to at most `width` columns; `ellipsis` marks the cut.
#[must_use]
pub fn fit<'a>(text: &'a str, width: usize, ellipsis: &str) -> Cow<'a, str> {
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let room = width.saturating_sub(columns(ellipsis));
    Cow::Owned(format!("{}{ellipsis}", head(text, room).trim_end()))
}

/// Shortens a name in the middle, because its end says more.
#[must_use]
pub(crate) fn fit_name<'a>(name: &'a str, width: usize, ellipsis: &str) -> Cow<'a, str> {
    if columns(name) <= width {
        return Cow::Borrowed(name);
    }
    let room = width.saturating_sub(columns(ellipsis));
    let front = head(name, room.div_ceil(2));
    let back: String = name.chars().rev().collect();
    let back: String = head(&back, room / 2).chars().rev().collect();
    Cow::Owned(format!("{front}{ellipsis}{back}"))
}

fn head(text: &str, width: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += char_columns(*c);
        used > width
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// Pads `text` with spaces to `width` columns.
#[must_use]
pub(crate) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    format!("{text}{:missing$}", "")
}

/// Wraps `text` at spaces into lines of at most `width` columns; a longer word is broken. Returns at least one line.
#[must_use]
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let used = lines.last().map_or(0, |line| columns(line));
        if used > 0 && used + 1 + columns(word) > width {
            lines.push(String::new());
        } else if used > 0 {
            push_last(&mut lines, " ");
        }
        let mut word = word;
        while columns(word) > width {
            let front = head(word, width.max(2));
            push_last(&mut lines, front);
            lines.push(String::new());
            word = &word[front.len()..];
        }
        push_last(&mut lines, word);
    }
    lines
}

/// Breaks lines of more than `width` columns at spaces. In a table, the rest of a line goes below the last column;
/// otherwise it goes below the line, indented. A longer word stays whole, so that names can be copied. Do not wrap
/// commands, statements or contents of files: a user who pastes them would paste the line breaks, too.
#[must_use]
pub fn wrap_lines(text: &str, width: usize) -> String {
    text.split_inclusive('\n').map(|line| wrap_line(line, width)).collect()
}

/// Like [`wrap_lines`], for reports that show statements: a line that ends with a semicolon stays whole.
#[must_use]
pub fn wrap_all_but_statements(text: &str, width: usize) -> String {
    let wrap = |line| if is_statement(line) { Cow::Borrowed(line) } else { wrap_line(line, width) };
    text.split_inclusive('\n').map(wrap).collect()
}

fn is_statement(line: &str) -> bool {
    line.trim_end().ends_with(';')
}

fn wrap_line(line: &str, width: usize) -> Cow<'_, str> {
    if columns(line.trim_end()) <= width {
        return Cow::Borrowed(line);
    }
    let (front, text) = line.split_at(last_column(line, width));
    let room_below = columns(front) <= width * 3 / 5;
    let indent = if room_below { columns(front).max(2) } else { columns(line) - columns(line.trim_start()) + 4 };
    let (mut wrapped, mut used) = (front.to_owned(), columns(front));
    for (position, word) in text.split(' ').enumerate() {
        let gap = usize::from(position > 0);
        if used > indent && used + gap + columns(word.trim_end()) > width {
            wrapped.truncate(wrapped.trim_end().len());
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(indent));
            used = indent;
        } else if position > 0 {
            wrapped.push(' ');
            used += 1;
        }
        wrapped.push_str(word);
        used += columns(word);
    }
    Cow::Owned(wrapped)
}

/// Byte offset at which the last column of a table begins; that of the first word if the line is not in a table.
fn last_column(line: &str, width: usize) -> usize {
    let first = line.len() - line.trim_start().len();
    let (mut last, mut spaces) = (first, 0_usize);
    for (at, c) in line.char_indices() {
        if spaces >= 2 && c != ' ' && at > first && columns(&line[..at]) <= width {
            last = at;
        }
        spaces = if c == ' ' { spaces + 1 } else { 0 };
    }
    last
}

fn push_last(lines: &mut [String], text: &str) {
    if let Some(last) = lines.last_mut() {
        last.push_str(text);
    }
}

/// A number with commas between thousands.
#[must_use]
pub(crate) fn number(n: impl TryInto<usize>) -> String {
    let digits = n.try_into().unwrap_or(usize::MAX).to_string();
    let mut apart = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

/// `1 server`, `1,000 servers`.
#[must_use]
pub(crate) fn count(n: impl TryInto<usize>, one: &str) -> String {
    let n = n.try_into().unwrap_or(usize::MAX);
    format!("{} {one}{}", number(n), if n == 1 { "" } else { "s" })
}

/// The first `most` of `names`, joined by commas, and the number of the others; long names are shortened in the middle.
#[must_use]
pub(crate) fn first_names<'a>(names: impl Iterator<Item = &'a str>, most: usize) -> String {
    let all: Vec<&str> = names.collect();
    let shown: Vec<String> = all.iter().take(most).map(|name| fit_name(&visible(name), 72, "…").into_owned()).collect();
    let rest = all.len().saturating_sub(most);
    if rest == 0 { shown.join(", ") } else { format!("{} and {} more", shown.join(", "), number(rest)) }
}

/// `text` with its first letter in upper case.
#[must_use]
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Collects the output of `write`.
///
/// # Errors
/// Those of `write`.
pub(crate) fn collect(write: impl FnOnce(&mut dyn Write) -> Result<(), Error>) -> Result<String, Error> {
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_direction_characters_become_escapes() {
        assert_eq!(visible("a\x1b[31mb\nc"), r"a\u{1b}[31mb\nc");
        assert_eq!(visible("x\u{202e}gpj.exe"), r"x\u{202e}gpj.exe");
        assert_eq!(visible("Kundengröße 顧客"), "Kundengröße 顧客");
        assert_eq!(visible_lines("SET a;\nSET\tb;\n"), "SET a;\nSET\\tb;");
    }

    #[test]
    fn wide_and_combining_characters_count_as_terminals_count_them() {
        assert_eq!(columns("abc"), 3);
        assert_eq!(columns("顧客"), 4);
        assert_eq!(columns("e\u{301}"), 1);
    }

    #[test]
    fn text_is_cut_at_the_end_and_names_in_the_middle() {
        assert_eq!(fit("abcdef", 6, "…"), "abcdef");
        assert_eq!(fit("abcdefg", 6, "…"), "abcde…");
        assert_eq!(fit("顧客顧客", 5, "…"), "顧客…");
        assert_eq!(fit_name("schema/table#p#p2026.ibd", 12, "…"), "schema…6.ibd");
    }

    #[test]
    fn wrapping_keeps_every_word_and_no_line_is_too_long() {
        let text = "one two three fourteenletters five";
        let lines = wrap(text, 9);
        assert!(lines.iter().all(|line| columns(line) <= 9), "{lines:?}");
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        assert_eq!(wrap("", 9), [""]);
    }

    #[test]
    fn wide_lines_are_broken_below_their_last_column() {
        let line = "  done  0.1 s  prove that the keyring opens everything\n";
        let wrapped = "  done  0.1 s  prove that the\n               keyring opens\n               everything\n";
        assert_eq!(wrap_lines(line, 30), wrapped);
        assert_eq!(wrap_lines(&[line, "short\n"].concat(), 80), [line, "short\n"].concat());
        let row = "ok    tablespace  12  0  data/orders.ibd\n";
        assert_eq!(wrap_lines(row, 35), "ok    tablespace  12  0\n    data/orders.ibd\n");
        assert_eq!(wrap_lines("a sentence of words", 11), "a sentence\n  of words");
        assert_eq!(wrap_lines("  /a/path/that/is/longer\n", 10), "  /a/path/that/is/longer\n");
        let statement = "  ALTER TABLE a ENCRYPTION='Y';\n";
        let prose = "a sentence of words";
        assert_eq!(
            wrap_all_but_statements(&[statement, prose].concat(), 11),
            [statement, "a sentence\n  of words"].concat()
        );
    }

    #[test]
    fn numbers_have_their_thousands_apart() {
        assert_eq!(number(7), "7");
        assert_eq!(number(10_000), "10,000");
        assert_eq!(count(1, "server"), "1 server");
        assert_eq!(count(1_234_567, "page"), "1,234,567 pages");
    }

    #[test]
    fn long_lists_of_names_end_with_a_count() {
        assert_eq!(first_names(["a", "b", "c"].into_iter(), 2), "a, b and 1 more");
        assert_eq!(first_names(["a", "b"].into_iter(), 2), "a, b");
    }
}
