//! Allowed signers files: which keys may sign for which host.

use data_encoding::BASE64;

use super::{PublicKey, SshFault};

/// Allowed signers, in the format of `ssh-keygen -Y verify -f`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedSigners(Vec<Line>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    principals: String,
    namespaces: Option<String>,
    key: PublicKey,
}

/// Why a signer is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignerRejected {
    /// No line has this key for this principal and namespace.
    #[error("the key that signed is not among the allowed signers of this host")]
    Unknown,
}

impl AllowedSigners {
    /// Parses a file. A line with an unknown option is an error, because the option may restrict the key.
    ///
    /// # Errors
    /// [`SshFault::Signers`].
    pub fn parse(text: &str) -> Result<Self, SshFault> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        lines
            .map(|(line, text)| Line::parse(text).map_err(|reason| SshFault::Signers { line, reason }))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// One key, for one host and any namespace.
    #[must_use]
    pub fn only(key: &PublicKey, host: &str) -> Self {
        Self(vec![Line { principals: host.to_owned(), namespaces: None, key: *key }])
    }

    /// Checks that a key may sign for a principal and a namespace.
    ///
    /// # Errors
    /// [`SignerRejected`].
    pub fn allow(&self, key: &PublicKey, principal: &str, namespace: &str) -> Result<(), SignerRejected> {
        let allows = |line: &Line| {
            line.key == *key
                && matches_list(&line.principals, principal)
                && line.namespaces.as_ref().is_none_or(|namespaces| matches_list(namespaces, namespace))
        };
        if self.0.iter().any(allows) { Ok(()) } else { Err(SignerRejected::Unknown) }
    }
}

impl Line {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let (principals, rest) = split_word(text).ok_or("it has no key")?;
        let principals = principals.trim_matches('"').to_owned();
        let (mut namespaces, mut rest) = (None, rest);
        loop {
            let (word, behind) = split_word(rest).ok_or("it has no key")?;
            if let Some(list) = word.strip_prefix("namespaces=") {
                namespaces = Some(list.trim_matches('"').to_owned());
                rest = behind;
                continue;
            }
            if word.starts_with("valid-") || word == "cert-authority" {
                return Err("only the option namespaces is supported");
            }
            let (encoded, _comment) = split_word(behind).ok_or("it has no key")?;
            let blob = BASE64.decode(encoded.as_bytes()).map_err(|_| "its key is not base64")?;
            let key = PublicKey::from_blob(&blob).map_err(|_| "its key is not of type ssh-ed25519")?;
            return Ok(Self { principals, namespaces, key });
        }
    }
}

/// Splits off the first word; a quoted word may contain blanks.
fn split_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let mut quoted = false;
    let end = text.find(|character: char| {
        quoted ^= character == '"';
        character.is_ascii_whitespace() && !quoted
    });
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    (!word.is_empty()).then_some((word, rest))
}

/// Whether a comma-separated list of patterns matches; a pattern that begins with `!` excludes.
fn matches_list(list: &str, name: &str) -> bool {
    let (out, within): (Vec<&str>, Vec<&str>) = list.split(',').partition(|pattern| pattern.starts_with('!'));
    let is_out = out.iter().any(|pattern| matches(pattern.trim_start_matches('!').as_bytes(), name.as_bytes()));
    !is_out && within.iter().any(|pattern| matches(pattern.as_bytes(), name.as_bytes()))
}

/// `*` matches any number of characters, `?` one.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut in_name, mut star) = (0_usize, 0_usize, None);
    while let Some(byte) = name.get(in_name) {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, in_name));
                at = at.saturating_add(1);
            }
            Some(wanted) if wanted == byte || *wanted == b'?' => {
                at = at.saturating_add(1);
                in_name = in_name.saturating_add(1);
            }
            _ => {
                // Let the last star match one more character.
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken.saturating_add(1)));
                (at, in_name) = (star_at.saturating_add(1), taken.saturating_add(1));
            }
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::{super::SigningKey, *};

    #[test]
    fn a_line_allows_what_it_says() {
        let [one, other] = [0, 1].map(|_| *SigningKey::generate().unwrap().public());
        let text = format!(
            "# hosts\n\ndb1,db2 namespaces=\"sealant-receipt\" {one} comment\n\"*.example.com,!bad.example.com\" {other}\n"
        );
        let signers = AllowedSigners::parse(&text).unwrap();
        for (key, name, namespace, allowed) in [
            (&one, "db1", "sealant-receipt", true),
            (&one, "db2", "sealant-receipt", true),
            (&one, "db1", "git", false),
            (&one, "db3", "sealant-receipt", false),
            (&other, "db1", "sealant-receipt", false),
            (&other, "a.example.com", "sealant-receipt", true),
            (&other, "bad.example.com", "sealant-receipt", false),
        ] {
            assert_eq!(signers.allow(key, name, namespace).is_ok(), allowed, "{name} {namespace}");
        }
    }

    #[test]
    fn a_limit_that_is_not_known_is_not_passed_over() {
        let key = *SigningKey::generate().unwrap().public();
        for line in [
            format!("db1 valid-before=\"20260101\" {key}"),
            format!("db1 cert-authority {key}"),
            "db1".to_owned(),
            "db1 ssh-ed25519".to_owned(),
            "db1 ssh-ed25519 ****".to_owned(),
            "db1 ssh-rsa AAAAB3NzaC1yc2E=".to_owned(),
        ] {
            assert!(matches!(AllowedSigners::parse(&line), Err(SshFault::Signers { line: 1, .. })), "{line}");
        }
    }

    #[test]
    fn patterns_match_as_a_shells() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("?", "", false),
            ("a?*", "ab", true),
            ("*a*b", "xaayb", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
