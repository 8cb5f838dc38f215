//! Names of schemas, tables and partitions as the server spells them in the names of files.
//!
//! ASCII letters, digits and `_` stay; everything else becomes `@` and a code: two characters for most letters of
//! Latin, Greek, Cyrillic and Armenian, otherwise the four hexadecimal digits of the UTF-16 unit.
//!
//! Source: MySQL manual, "Mapping of Identifiers to File Names"; the two-character codes were read from MariaDB 10.11
//! (`CONVERT(… USING filename)`) and confirmed on file names of MySQL 5.7.22.

/// One line for each first character of a code: the character, then the letters for the second characters, starting at
/// `0`; a blank where no letter has that code.
const CODES: &str = include_str!("file_name_codes.txt");
const ESCAPE: char = '@';
const FIRST_CODE_CHARACTER: u32 = '0' as u32;

/// The name as SQL statements spell it. An `@` without a valid code stays as it is.
#[must_use]
pub fn decoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        text.push_str(before);
        let (letter, behind) = letter(after).unwrap_or((ESCAPE, after));
        text.push(letter);
        rest = behind;
    }
    text.push_str(rest);
    text
}

/// Decodes the code after an `@`: its letter, and the text after the code.
fn letter(code: &str) -> Option<(char, &str)> {
    let hexadecimal = || {
        let digits = code.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        Some((u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?, code.get(4..)?))
    };
    short(code).or_else(hexadecimal)
}

/// Decodes a two-character code.
fn short(code: &str) -> Option<(char, &str)> {
    let mut characters = code.chars();
    let (first, second) = (characters.next()?, characters.next()?);
    let letters = CODES.lines().find_map(|line| line.strip_prefix(first))?;
    let at = u32::from(second).checked_sub(FIRST_CODE_CHARACTER)?;
    let letter = letters.chars().nth(usize::try_from(at).ok()?)?;
    (letter != ' ').then_some((letter, characters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_letters() {
        for (name, spelled) in [
            ("plain_1", "plain_1"),
            ("a@002db", "a-b"),
            ("t@0020x", "t x"),
            ("@1on@0v", "ünï"),
            ("@6l@m0@Gw", "αжᾈ"),
            ("@@a@R9", "ⓐⅫ"),
            ("@4e2d@6587", "中文"),
            ("@1ff4", "ῴ"),
        ] {
            assert_eq!(decoded(name), spelled, "{name}");
        }
    }

    #[test]
    fn text_without_a_valid_code_stays() {
        for name in ["a@", "@", "@zz@", "x@d83dy", "me@.com", "@00", "@+041", "@é"] {
            assert_eq!(decoded(name), name);
        }
    }
}
