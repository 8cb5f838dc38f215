//! Commands as a person pastes them into a shell.

/// A path or another word, quoted if a POSIX shell would read it as more than one plain word.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one_word() {
        for plain in ["/var/lib/mysql/ib_1", "db1:/srv", "a@b", "50%", "x=1,y+2"] {
            assert_eq!(shell_word(plain), plain);
        }
        assert_eq!(shell_word("/my keys/o'brien;$x"), r"'/my keys/o'\''brien;$x'");
        assert_eq!((shell_word(""), shell_word("-rf"), shell_word("~")), ("''".into(), "'-rf'".into(), "'~'".into()));
    }
}
