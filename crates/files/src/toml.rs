//! Configuration files in TOML.

use serde::de::DeserializeOwned;

/// Parses a configuration.
///
/// # Errors
/// What is wrong, in one line that begins with the number of the line: `line 3: unknown field …`.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let message = error.message().lines().collect::<Vec<_>>().join(": ");
        match error.span().and_then(|span| text.get(..span.start)) {
            Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
            None => message,
        }
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Config {
        #[expect(dead_code, reason = "only whether it is accepted counts")]
        days: u16,
    }

    #[test]
    fn errors_begin_with_the_number_of_the_line() {
        for (text, says) in [
            ("# one\n\ndays = 1\ntypo = 2\n", "line 4: unknown field `typo`"),
            ("\ndays = \"two\"\n", "line 2: invalid type: string \"two\", expected u16"),
            ("\n\n[days\n", "line 3: "),
            ("# none\n", "missing field `days`"),
        ] {
            let why = parse::<Config>(text).unwrap_err();
            assert!(why.contains(says), "{why}");
            assert!(!why.contains('\n'), "{why}");
        }
    }
}
