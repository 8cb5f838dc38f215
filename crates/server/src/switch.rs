//! Values of settings that are on or off.

/// Notations of on: `ON`, `1` and `TRUE` of variables and options, `YES` and `Y` of columns.
const ON: [&str; 5] = ["ON", "1", "Y", "YES", "TRUE"];
/// Notations of off.
const OFF: [&str; 5] = ["OFF", "0", "N", "NO", "FALSE"];
/// The notations of on that programs accept as the value of an option.
const ON_AS_OPTION: [&str; 3] = ["ON", "1", "TRUE"];

/// Parses a value in any notation, ignoring case; `None` for other words.
#[must_use]
pub fn parse(value: &str) -> Option<bool> {
    if is_on(value) {
        return Some(true);
    }
    is_among(&OFF, value).then_some(false)
}

/// Whether a value means on.
#[must_use]
pub fn is_on(value: &str) -> bool {
    is_among(&ON, value)
}

/// Whether a value means off.
#[must_use]
pub fn is_off(value: &str) -> bool {
    is_among(&OFF, value)
}

/// Whether a variable with more than two values is not off: `FORCE`, `MASTER_KEY`, `ONLINE_TO_KEYRING` count as on.
#[must_use]
pub fn is_switched_on(value: &str) -> bool {
    !(is_off(value) || value.is_empty() || value.eq_ignore_ascii_case("NONE"))
}

/// Whether a program switches a Boolean option with this value on. For a word that it does not know, such as `yes`, it
/// prints a warning and switches the option off. Source: `get_bool_argument` in `mysys/my_getopt.c` (MySQL:
/// `my_getopt.cc`).
#[must_use]
pub fn option_is_on(value: &str) -> bool {
    is_among(&ON_AS_OPTION, value)
}

fn is_among(words: &[&str], value: &str) -> bool {
    words.iter().any(|word| value.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notation_is_read() {
        for (on, off) in [("ON", "OFF"), ("1", "0"), ("Y", "N"), ("Yes", "No"), ("true", "false")] {
            assert_eq!((parse(on), parse(off)), (Some(true), Some(false)));
            assert!(is_switched_on(on) && !is_switched_on(off));
        }
        assert_eq!((parse("FORCE"), parse("")), (None, None));
        assert!(is_switched_on("FORCE") && !is_switched_on("") && !is_switched_on("none"));
    }

    #[test]
    fn an_option_with_an_unknown_word_is_off() {
        assert!(option_is_on("on") && option_is_on("1") && option_is_on("TRUE"));
        assert!(!option_is_on("yes") && !option_is_on("") && !option_is_on("off"));
    }
}
