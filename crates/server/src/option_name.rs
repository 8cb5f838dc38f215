//! Names of options, in files and on command lines: `-` and `_` mean the same in them, and a prefix says what a server
//! does with the option.
//!
//! Source: MySQL manual, "Program Option Modifiers"; `mysys/my_getopt.c` of both families.

/// Prefix of an option that a program ignores if it does not know it.
const LOOSE: &str = "loose";

/// The name in lower case, with `-`, as in option files.
#[must_use]
pub fn with_hyphens(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

/// The name in lower case, with `_`, as the variables are called.
#[must_use]
pub fn with_underscores(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// The name without the prefix `loose-` or `loose_`.
#[must_use]
pub fn without_loose(name: &str) -> &str {
    name.strip_prefix(LOOSE).and_then(|rest| rest.strip_prefix(['-', '_'])).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_one_in_every_spelling() {
        for name in ["loose-SSL-ca", "loose_ssl_ca", "ssl-ca", "SSL_CA"] {
            assert_eq!(without_loose(&with_hyphens(name)), "ssl-ca");
            assert_eq!(without_loose(&with_underscores(name)), "ssl_ca");
        }
        assert_eq!(without_loose("looser"), "looser");
    }
}
