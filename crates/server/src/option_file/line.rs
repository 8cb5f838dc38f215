//! One line of an option file.

use zeroize::Zeroizing;

#[derive(Debug)]
pub(super) enum Line<'a> {
    Empty,
    Group(&'a str),
    Include(&'a str),
    IncludeDir(&'a str),
    Option { key: &'a str, value: Option<Zeroizing<String>> },
    Bad(&'static str),
}

pub(super) fn parse_line(line: &str) -> Line<'_> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', ';']) {
        return Line::Empty;
    }
    if let Some(rest) = line.strip_prefix('[') {
        return match rest.split_once(']') {
            Some((name, _)) if !name.trim().is_empty() => Line::Group(name.trim()),
            _ => Line::Bad("a group without its closing bracket or name"),
        };
    }
    if let Some(rest) = line.strip_prefix('!') {
        if let Some(target) = rest.strip_prefix("includedir").and_then(argument) {
            return Line::IncludeDir(target);
        }
        return match rest.strip_prefix("include").and_then(argument) {
            Some(target) => Line::Include(target),
            None => Line::Bad("neither !include nor !includedir with a name"),
        };
    }
    match line.split_once('=') {
        Some((key, value)) => match key.trim() {
            "" => Line::Bad("a value without a key"),
            key => Line::Option { key, value: Some(unescaped(without_comment(value).trim())) },
        },
        None => Line::Option { key: without_comment(line).trim(), value: None },
    }
}

fn argument(rest: &str) -> Option<&str> {
    let name = rest.strip_prefix([' ', '\t'])?.trim();
    (!name.is_empty()).then_some(name)
}

/// A `#` outside quotes starts a comment anywhere in a line.
fn without_comment(text: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (position, character) in text.char_indices() {
        match (character, quote) {
            _ if escaped => escaped = false,
            ('\\', Some(_)) => escaped = true,
            ('\'' | '"', None) => quote = Some(character),
            (_, Some(open)) if character == open => quote = None,
            ('#', None) => return text.get(..position).unwrap_or(text),
            _ => {}
        }
    }
    text
}

/// Removes one pair of quotes and resolves `\b \t \n \r \\ \s \" \'`; any other backslash is kept, as in a Windows
/// path.
fn unescaped(value: &str) -> Zeroizing<String> {
    let inner = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(value);
    let mut text = Zeroizing::new(String::with_capacity(inner.len()));
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('b') => text.push('\u{8}'),
            Some('t') => text.push('\t'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('s') => text.push(' '),
            Some(plain @ ('\\' | '"' | '\'')) => text.push(plain),
            Some(other) => {
                text.push('\\');
                text.push(other);
            }
            None => text.push('\\'),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_line_is_read(line in ".*") {
            let _ = parse_line(&line);
        }

        #[test]
        fn a_quoted_value_comes_back(value in "[a-zA-Z0-9 #;=]*") {
            let line = format!("k=\"{value}\"");
            let Line::Option { key: "k", value: Some(read) } = parse_line(&line) else {
                panic!("not an option");
            };
            prop_assert_eq!(read.as_str(), value);
        }
    }
}
