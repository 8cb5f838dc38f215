//! `component_keyring_file`: JSON with keys in clear hexadecimal.
//!
//! Source: docs/formats, "Key stores"; confirmed on MySQL 9.7.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::{
    base64::Base64,
    error::Error,
    hex::Hex,
    lenient_json::Text,
    record::{Material, NewKey, Parsed, Record},
    stored_key::StoredKey,
    summary::{Damage, StoreKind, StoreSummary},
};

/// Bytes of a key of 256 bits, and once more as much: a text of base64 that is longer holds none.
const LONGEST_AES_DATA: usize = 64;
/// The type of a server's own keys.
pub(crate) const AES: &str = "AES";

#[derive(Deserialize)]
struct File<'a> {
    #[serde(default)]
    version: Text,
    #[serde(borrow, default)]
    elements: Vec<Element<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Element<'a> {
    user: Text,
    data_id: Text,
    data_type: Text,
    /// Raw: serde would copy a string with escapes, and the copy would not be wiped.
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

/// Parses a file.
///
/// # Errors
/// Anything that is not JSON of this form. Do not show the error: its text may quote the file.
pub(crate) fn parse(bytes: &[u8]) -> Result<Parsed<'_>, serde_json::Error> {
    let file: File<'_> = serde_json::from_slice(bytes)?;
    let known = file.version.as_deref() == Some("1.0");
    Ok(Parsed {
        records: file.elements.into_iter().map(Element::record).collect(),
        damage: if known { Vec::new() } else { vec![Damage::UnknownVersion] },
        checksum_ok: None,
    })
}

/// Whether keys are as AWS KMS encrypts them: each is the text of a base64 longer than any AES key.
///
/// AWS documents no magic number of a ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    /// Not all, and no key of the type `AES`; or there is no key.
    None,
    /// All, and at least one is of the type `AES`: a file of `component_keyring_kms`.
    All,
    /// Keys of the type `AES` are, others are not. No server writes such a file.
    Some,
    /// All, and none is of the type `AES`: secrets of users can be such texts, too.
    Unknown,
}

/// Judges the text of a file, which may be cut off.
pub(crate) fn wrapping(bytes: &[u8]) -> Wrapping {
    let judged: Vec<(bool, bool)> = match parse(bytes) {
        Ok(parsed) => parsed
            .records
            .iter()
            .map(|record| (record.key_type == AES, record.material.is_some_and(is_wrapped_key)))
            .collect(),
        Err(_) => bytes.split(|byte| *byte == b'}').filter_map(judge_element).collect(),
    };
    let all = !judged.is_empty() && judged.iter().all(|(_, is_wrapped)| *is_wrapped);
    match (all, judged.iter().any(|(is_aes, is_wrapped)| *is_aes && *is_wrapped)) {
        (true, true) => Wrapping::All,
        (true, false) => Wrapping::Unknown,
        (false, true) => Wrapping::Some,
        (false, false) => Wrapping::None,
    }
}

/// Whether an element of a file that is cut off has the type `AES`, and whether its key is wrapped. Without its end, a
/// value is not judged.
fn judge_element(element: &[u8]) -> Option<(bool, bool)> {
    let data = text_of(element, b"\"data\"")?;
    let is_aes = text_of(element, b"\"data_type\"") == Some(AES.as_bytes());
    Some((is_aes, Hex::new(data).is_some_and(|hex| is_wrapped_key(Material::Hex(hex)))))
}

/// The text of a field, whose name comes with its quotes.
fn text_of<'a>(element: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let start = element.windows(name.len()).position(|window| window == name)?;
    let rest = element.get(start.saturating_add(name.len())..)?.trim_ascii_start();
    let text = rest.strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
    text.get(..text.iter().position(|byte| *byte == b'"')?)
}

/// Whether a key is the text of a base64 that is too long for an AES key.
pub(crate) fn is_wrapped_key(key: Material<'_>) -> bool {
    if key.bytes() <= LONGEST_AES_DATA {
        return false;
    }
    let mut text = Zeroizing::new(vec![0; key.bytes()]);
    key.write(&mut text);
    Base64::new(&text).is_some()
}

/// The file with this key added; a new file if `before` is empty.
///
/// # Errors
/// [`Error::Truncated`] if `before` is damaged; [`Error::CannotAdd`] if a name cannot be written;
/// [`Error::WrongKind`] and [`Error::PartlyWrapped`] if it has keys that AWS KMS has encrypted.
pub(crate) fn with_key(before: &[u8], key: NewKey<'_>) -> Result<Zeroizing<Vec<u8>>, Error> {
    #[derive(Deserialize)]
    struct ComponentFile<'a> {
        #[serde(borrow)]
        elements: Vec<&'a RawValue>,
    }
    match wrapping(before) {
        Wrapping::All => return Err(Error::WrongKind { kind: StoreKind::KmsWrappedFile }),
        Wrapping::Some => return Err(Error::PartlyWrapped),
        Wrapping::None | Wrapping::Unknown => {}
    }
    let elements = match before {
        [] => Vec::new(),
        _ => serde_json::from_slice::<ComponentFile<'_>>(before).map_err(|_| Error::Truncated)?.elements,
    };
    let text = |text: &str| serde_json::to_string(text).map_err(|_| Error::CannotAdd);
    let (user, name, key_type) = (text(key.user)?, text(key.name)?, text(key.key_type)?);
    let mut digits = Zeroizing::new(String::with_capacity(key.key.len().saturating_mul(2)));
    for byte in key.key {
        let _ = write!(digits, "{byte:02X}");
    }
    // Allocated once: reallocation would leave keys in memory.
    let names = [&user, &name, &key_type].into_iter().fold(0, |sum: usize, name| sum.saturating_add(name.len()));
    let more = names.saturating_add(digits.len()).saturating_add(256);
    let mut after = Zeroizing::new(Vec::with_capacity(before.len().saturating_add(more)));
    after.extend(br#"{"version":"1.0","elements":["#);
    for element in elements {
        after.extend(element.get().as_bytes());
        after.push(b',');
    }
    for part in [r#"{"user":"#, &user, r#","data_id":"#, &name, r#","data_type":"#, &key_type, r#","data":""#, &digits]
    {
        after.extend(part.as_bytes());
    }
    after.extend(br#"","extension":[]}]}"#);
    Ok(after)
}

/// The bytes of a new file with these keys, to back up the keys of a service.
pub(crate) fn with_keys(keys: &[StoredKey]) -> Result<Zeroizing<Vec<u8>>, Error> {
    keys.iter().try_fold(Zeroizing::default(), |bytes: Zeroizing<Vec<u8>>, key| with_key(&bytes, key.as_new()))
}

pub(crate) fn inspect(bytes: &[u8]) -> StoreSummary {
    match parse(bytes) {
        Ok(parsed) => parsed.summary(StoreKind::ComponentFile),
        Err(error) => {
            let mut summary = StoreSummary::new(StoreKind::ComponentFile, true);
            summary.damage.push(Damage::from_json(&error));
            summary
        }
    }
}

impl<'a> Element<'a> {
    fn record(self) -> Record<'a> {
        Record {
            id: self.data_id.into_string(),
            user: self.user.into_string(),
            key_type: self.data_type.into_string(),
            is_utf8: true,
            material: self.data.and_then(digits).map(Material::Hex),
        }
    }
}

/// The digits between the quotes. The server writes no escapes, so none are supported.
fn digits(data: &RawValue) -> Option<Hex<'_>> {
    Hex::new(data.get().as_bytes().strip_prefix(b"\"")?.strip_suffix(b"\"")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::InvalidReason;

    fn kind_of(bytes: &[u8]) -> StoreKind {
        crate::inspect(bytes).unwrap().kind
    }

    #[test]
    fn a_file_of_wrapped_keys_is_not_a_keyring() {
        let clear = include_str!("../../../testdata/keyring/mysql97-component-file.json");
        let mut json: serde_json::Value = serde_json::from_str(clear).unwrap();
        for element in json["elements"].as_array_mut().unwrap() {
            let text = data_encoding::BASE64.encode(&[0x5a; 184]);
            element["data"] = data_encoding::HEXUPPER.encode(text.as_bytes()).into();
        }
        let wrapped = json.to_string();
        let summary = crate::inspect(wrapped.as_bytes()).unwrap();
        assert_eq!((summary.kind, summary.readable_without_password), (StoreKind::KmsWrappedFile, false));
        assert!(summary.damage.is_empty() && summary.entries.is_empty());
        let head = &wrapped.as_bytes()[..wrapped.len() - 9];
        assert_eq!(crate::recognise(head, "keys", 4096), Some(StoreKind::KmsWrappedFile));
        assert_eq!(parse(wrapped.as_bytes()).unwrap().records.len(), json["elements"].as_array().unwrap().len());
        let refused = crate::MysqlKeyring::open(wrapped.as_bytes());
        assert!(matches!(refused, Err(Error::WrongKind { kind: StoreKind::KmsWrappedFile })));
        // However it is laid out.
        let pretty = serde_json::to_string_pretty(&json).unwrap();
        assert_eq!(kind_of(pretty.as_bytes()), StoreKind::KmsWrappedFile);
        let head = &pretty.as_bytes()[..pretty.len() - 9];
        assert_eq!(crate::recognise(head, "keys", 4096), Some(StoreKind::KmsWrappedFile));
        let new = NewKey::of_server("new", &[1; 32]);
        assert!(matches!(with_key(pretty.as_bytes(), new), Err(Error::WrongKind { .. })));
        // One clear key makes it a keyring, of which nothing is right, and so does a lack of AES keys.
        let element = json["elements"].as_array_mut().unwrap().last_mut().unwrap();
        element["data"] = "5A".repeat(32).into();
        let mixed = json.to_string();
        assert_eq!((kind_of(mixed.as_bytes()), wrapping(mixed.as_bytes())), (StoreKind::ComponentFile, Wrapping::Some));
        assert!(matches!(with_key(mixed.as_bytes(), new), Err(Error::PartlyWrapped)));
        let secrets = wrapped.replace("\"AES\"", "\"SECRET\"");
        assert_eq!(kind_of(secrets.as_bytes()), StoreKind::ComponentFile);
        assert_eq!(wrapping(secrets.as_bytes()), Wrapping::Unknown);
        assert_eq!((kind_of(clear.as_bytes()), wrapping(clear.as_bytes())), (StoreKind::ComponentFile, Wrapping::None));
        assert_eq!(wrapping(b""), Wrapping::None);
    }

    #[test]
    fn invalid_and_duplicate_elements_are_reported() {
        let key = "00".repeat(32);
        let text = format!(
            r#"{{"version":"1.0","elements":[
            {{"user":"","data_id":"INNODBKey-u-1","data_type":"AES","data":"{key}"}},
            {{"user":"","data_id":"INNODBKey-u-1","data_type":"AES","data":"{key}"}},
            {{"user":"","data_id":"b","data_type":"AES","data":"xyz"}},
            {{"user":"","data_id":"INNODBKey-u-2","data_type":"AES","data":"0000"}},
            {{"user":"","data_id":7,"data_type":"AES","data":"{key}"}},
            {{"data":[1,{{"a":null}}]}},
            {{"user":"","data_id":"e","data_type":"AES","data":"\u0030{key}0"}}]}}"#
        );
        let summary = crate::inspect(text.as_bytes()).unwrap();
        assert_eq!(summary.entries.len(), 7);
        let reasons: Vec<_> = summary
            .damage
            .iter()
            .filter_map(|damage| match damage {
                Damage::InvalidElement { index, reason } => Some((*index, *reason)),
                _ => None,
            })
            .collect();
        let expected = [
            (2, InvalidReason::Data),
            (3, InvalidReason::Length),
            (4, InvalidReason::Id),
            (5, InvalidReason::Id),
            (6, InvalidReason::Data),
        ];
        assert_eq!(reasons, expected);
        assert!(summary.damage.contains(&Damage::Duplicate { id: "INNODBKey-u-1".to_owned() }));
    }
}
