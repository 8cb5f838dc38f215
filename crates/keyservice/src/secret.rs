//! Answers of a KV engine.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::{error::Fault, withdrawn::Withdrawn};

/// What a KV engine holds under a name.
#[derive(Debug)]
pub enum Stored {
    /// A secret that exists, in the asked version.
    Secret(Answer),
    /// A version that no longer exists.
    Withdrawn {
        /// Whether it was deleted, destroyed, or is too old to be kept.
        how: Withdrawn,
        /// The number of the version, if the Vault reports it.
        version: Option<u32>,
    },
    /// Nothing, or a version that the Vault no longer keeps.
    Absent,
}

/// An answer with a secret; wiped on drop.
pub struct Answer {
    body: Zeroizing<Vec<u8>>,
    second_version: bool,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Answer")
    }
}

/// The outer object of every answer.
#[derive(Deserialize)]
struct Outer<'a> {
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

/// `data` of an answer about what a token may do.
#[derive(Deserialize)]
struct Capabilities {
    capabilities: Vec<String>,
}

/// `data` of an answer of version 2.
#[derive(Deserialize)]
struct Versioned<'a> {
    #[serde(borrow)]
    data: Option<Fields<'a>>,
    metadata: Option<Metadata>,
}

/// The fields of a secret, as raw values: serde would copy texts with escapes, and the copies would not be wiped.
type Fields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    deletion_time: String,
    #[serde(default)]
    destroyed: bool,
    version: Option<u32>,
}

#[derive(Deserialize)]
struct Kept {
    #[serde(default)]
    max_versions: u32,
}

#[derive(Deserialize)]
struct Keys {
    keys: Vec<String>,
}

/// The body of a request that writes a secret of version 2. The Vault accepts it only if `cas` is the newest version;
/// with 0, only if the name has no version yet. Source: Vault's documentation, "KV version 2 (API)".
#[derive(Serialize)]
struct NewVersion<'a> {
    options: CheckAndSet,
    data: &'a BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct CheckAndSet {
    cas: u32,
}

/// The body of a request that writes these fields. For an engine of version 2, the new version must follow version
/// `after`; for an engine of version 1, `after` is `None`.
pub(crate) fn new_secret(fields: &[(&str, &str)], after: Option<u32>) -> Result<Zeroizing<Vec<u8>>, Fault> {
    /// More bytes than the JSON around the fields has. A byte of a field can become an escape of six bytes.
    const REST: usize = 64;
    let bytes = fields.iter().map(|(name, value)| name.len().saturating_add(value.len()).saturating_mul(6));
    let capacity = bytes.fold(REST, |sum, bytes| sum.saturating_add(bytes).saturating_add(REST));
    // Full capacity from the start: a vector that grows leaves copies behind.
    let mut body = Zeroizing::new(Vec::with_capacity(capacity));
    let data: BTreeMap<&str, &str> = fields.iter().copied().collect();
    let written = match after {
        Some(cas) => serde_json::to_writer(&mut *body, &NewVersion { options: CheckAndSet { cas }, data: &data }),
        None => serde_json::to_writer(&mut *body, &data),
    };
    written.map_err(|error| Fault::Protocol(error.to_string()))?;
    Ok(body)
}

/// The names in a list response.
pub(crate) fn names(body: &[u8]) -> Result<Vec<String>, Fault> {
    let outer: Outer<'_> = serde_json::from_slice(body).map_err(|_| Fault::NotJson)?;
    let data = outer.data.ok_or(Fault::NotAList)?;
    serde_json::from_str::<Keys>(data.get()).map(|keys| keys.keys).map_err(|_| Fault::NotAList)
}

/// How many versions of a secret an engine of version 2 keeps, from the response about a secret or about the engine's
/// settings: 0 if it does not say so.
pub(crate) fn max_versions(body: &[u8]) -> Result<u32, Fault> {
    let outer: Outer<'_> = serde_json::from_slice(body).map_err(|_| Fault::NotJson)?;
    let data = outer.data.ok_or(Fault::NotASecret { second_version: true })?;
    serde_json::from_str::<Kept>(data.get())
        .map(|kept| kept.max_versions)
        .map_err(|_| Fault::NotASecret { second_version: true })
}

/// Whether the response of `sys/capabilities-self` about one path permits to create a secret there. Source: Vault's
/// documentation, `/sys/capabilities-self`.
pub(crate) fn may_create(body: &[u8]) -> Result<bool, Fault> {
    let outer: Outer<'_> = serde_json::from_slice(body).map_err(|_| Fault::NotJson)?;
    let data = outer.data.ok_or(Fault::NotAList)?;
    let Capabilities { capabilities } = serde_json::from_str(data.get()).map_err(|_| Fault::NotAList)?;
    Ok(capabilities.iter().any(|capability| matches!(capability.as_str(), "create" | "root")))
}

/// The content of a version 2 response with status 404.
pub(crate) fn withdrawn(body: &[u8]) -> Stored {
    let versioned = || {
        let outer: Outer<'_> = serde_json::from_slice(body).ok()?;
        serde_json::from_str::<Versioned<'_>>(outer.data?.get()).ok()?.metadata
    };
    match versioned() {
        Some(metadata) if metadata.destroyed => {
            Stored::Withdrawn { how: Withdrawn::Destroyed, version: metadata.version }
        }
        Some(metadata) if !metadata.deletion_time.is_empty() => {
            Stored::Withdrawn { how: Withdrawn::Deleted { time: metadata.deletion_time }, version: metadata.version }
        }
        _ => Stored::Absent,
    }
}

impl Answer {
    pub(crate) fn new(body: Zeroizing<Vec<u8>>, second_version: bool) -> Result<Self, Fault> {
        let answer = Self { body, second_version };
        answer.fields()?;
        Ok(answer)
    }

    /// The number of the version; `None` in a KV engine of version 1.
    #[must_use]
    pub fn version(&self) -> Option<u32> {
        self.versioned().ok()?.metadata?.version
    }

    /// The text of a field without its quotes, borrowed from the answer.
    ///
    /// # Errors
    /// [`Fault::NoField`] if the secret has no such field, or the field is not a text or has escapes.
    pub fn text(&self, name: &str) -> Result<&str, Fault> {
        let raw = self.raw(name)?.get();
        let text = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        text.filter(|text| !text.contains('\\')).ok_or_else(|| Fault::NoField(name.to_owned()))
    }

    /// A copy of a field's text, with its escapes resolved.
    ///
    /// # Errors
    /// [`Fault::NoField`] if the secret has no such field, or the field is not a text.
    pub fn unescaped(&self, name: &str) -> Result<Zeroizing<String>, Fault> {
        let raw = self.raw(name)?.get();
        serde_json::from_str(raw).map(Zeroizing::new).map_err(|_| Fault::NoField(name.to_owned()))
    }

    fn raw(&self, name: &str) -> Result<&RawValue, Fault> {
        self.fields()?.get(name).copied().ok_or_else(|| Fault::NoField(name.to_owned()))
    }

    fn fields(&self) -> Result<Fields<'_>, Fault> {
        let not_a_secret = || Fault::NotASecret { second_version: self.second_version };
        if self.second_version {
            return self.versioned()?.data.ok_or_else(not_a_secret);
        }
        let data = self.data()?.ok_or_else(not_a_secret)?;
        serde_json::from_str(data.get()).map_err(|_| not_a_secret())
    }

    fn versioned(&self) -> Result<Versioned<'_>, Fault> {
        let not_a_secret = || Fault::NotASecret { second_version: true };
        let data = self.data()?.ok_or_else(not_a_secret)?;
        serde_json::from_str(data.get()).map_err(|_| not_a_secret())
    }

    fn data(&self) -> Result<Option<&RawValue>, Fault> {
        let outer: Outer<'_> = serde_json::from_slice(&self.body).map_err(|_| Fault::NotJson)?;
        Ok(outer.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(second_version: bool, body: &str) -> Result<Answer, Fault> {
        Answer::new(Zeroizing::new(body.as_bytes().to_vec()), second_version)
    }

    #[test]
    fn a_field_is_taken_exactly_or_not_at_all() {
        let body = |value: &str| format!(r#"{{"data":{{"data":{{"key":{value}}},"metadata":{{"version":3}}}}}}"#);
        let second = answer(true, &body(r#""a b\n""#)).unwrap();
        assert_eq!(second.unescaped("key").unwrap().as_str(), "a b\n");
        assert_eq!(second.text("key"), Err(Fault::NoField("key".to_owned())));
        assert_eq!(second.version(), Some(3));
        assert_eq!(answer(true, &body(r#""AP8=""#)).unwrap().text("key"), Ok("AP8="));
        assert!(answer(true, &body("7")).unwrap().unescaped("key").is_err());
        assert!(answer(true, &body("7")).unwrap().text("other").is_err());
        let first = r#"{"data":{"key":"version 1"}}"#;
        assert_eq!(answer(true, first).unwrap_err(), Fault::NotASecret { second_version: true });
        let first = answer(false, first).unwrap();
        assert_eq!((first.text("key"), first.version()), (Ok("version 1"), None));
        assert_eq!(answer(true, "<html>").unwrap_err(), Fault::NotJson);
        assert_eq!(answer(false, "{}").unwrap_err(), Fault::NotASecret { second_version: false });
    }

    #[test]
    fn a_new_secret_is_read_back_and_replaces_none() {
        let fields = [("type", "AES"), ("value", "AP8=")];
        let text = |after| String::from_utf8(new_secret(&fields, after).unwrap().to_vec()).unwrap();
        assert_eq!(text(None), r#"{"type":"AES","value":"AP8="}"#);
        assert_eq!(text(Some(0)), r#"{"options":{"cas":0},"data":{"type":"AES","value":"AP8="}}"#);
        assert_eq!(text(Some(3)), r#"{"options":{"cas":3},"data":{"type":"AES","value":"AP8="}}"#);
        let quoted = new_secret(&[("a\"", "\u{1}\u{1}")], None).unwrap();
        assert_eq!(quoted.as_slice(), br#"{"a\"":"\u0001\u0001"}"#);
    }

    #[test]
    fn deleted_and_destroyed_versions_are_distinguished() {
        let body = |deletion: &str, destroyed: bool| {
            let metadata = format!(r#"{{"deletion_time":"{deletion}","destroyed":{destroyed},"version":2}}"#);
            format!(r#"{{"data":{{"data":null,"metadata":{metadata}}}}}"#)
        };
        let how = |body: &str| match withdrawn(body.as_bytes()) {
            Stored::Withdrawn { how, version } => Some((how, version)),
            _ => None,
        };
        assert_eq!(how(&body("", true)), Some((Withdrawn::Destroyed, Some(2))));
        let time = "2026-11-26T01:00:00Z";
        assert_eq!(how(&body(time, false)), Some((Withdrawn::Deleted { time: time.to_owned() }, Some(2))));
        assert_eq!(how(&body("", false)), None);
        assert_eq!(how(r#"{"errors":[]}"#), None);
    }

    #[test]
    fn a_token_may_create_what_its_capabilities_say() {
        let body = |list: &str| format!(r#"{{"data":{{"a/b":{list},"capabilities":{list}}}}}"#);
        for (list, expected) in [
            (r#"["create","read"]"#, Ok(true)),
            (r#"["root"]"#, Ok(true)),
            (r#"["read","update"]"#, Ok(false)),
            (r#"["deny"]"#, Ok(false)),
            ("7", Err(Fault::NotAList)),
        ] {
            assert_eq!(may_create(body(list).as_bytes()), expected, "{list}");
        }
        assert_eq!(may_create(b"<html>"), Err(Fault::NotJson));
    }

    #[test]
    fn the_number_of_kept_versions_is_read() {
        assert_eq!(max_versions(br#"{"data":{"max_versions":3,"current_version":2}}"#), Ok(3));
        assert_eq!(max_versions(br#"{"data":{"current_version":2}}"#), Ok(0));
        assert!(max_versions(br#"{"data":{"max_versions":-1}}"#).is_err());
        assert_eq!(max_versions(b"<html>"), Err(Fault::NotJson));
    }

    #[test]
    fn a_list_is_complete_or_an_error() {
        assert_eq!(names(br#"{"data":{"keys":["1","2","a/"]}}"#).unwrap(), ["1", "2", "a/"]);
        assert_eq!(names(br#"{"data":{"keys":["1","#), Err(Fault::NotJson));
        assert_eq!(names(br#"{"data":{"keys":[1]}}"#), Err(Fault::NotAList));
        assert_eq!(names(br#"{"data":{}}"#), Err(Fault::NotAList));
    }
}
