//! `component_keyring_file`: JSON with keys in clear hexadecimal.
//!
//! Source: formats, "Keyring stores", confirmed on MySQL 9.7.

use serde::Deserialize;

use crate::{
    config::{Text, json_damage},
    key_id::KeyName,
    store::{Damage, KeyEntry, StoreKind, StoreSummary},
};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    version: Text,
    #[serde(default)]
    elements: Vec<Element>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Element {
    user: Text,
    data_id: Text,
    data_type: Text,
    data: KeyText,
}

pub(crate) fn inspect(bytes: &[u8]) -> StoreSummary {
    let mut summary = StoreSummary::new(StoreKind::ComponentFile, true);
    let file: File = match serde_json::from_slice(bytes) {
        Ok(file) => file,
        Err(error) => {
            summary.damage.push(json_damage(&error));
            return summary;
        }
    };
    if file.version.as_deref() != Some("1.0") {
        summary.damage.push(Damage::UnknownVersion);
    }
    for (index, element) in (0_u64..).zip(file.elements) {
        let id = element.data_id.into_string();
        let entry = KeyEntry {
            name: KeyName::parse(&id),
            id,
            user: element.user.into_string(),
            key_type: element.data_type.into_string(),
            key_bytes: element.data.key_bytes,
        };
        if let Some(reason) = entry.judge() {
            summary.damage.push(Damage::InvalidElement { index, reason });
        }
        summary.entries.push(entry);
    }
    summary
}

/// A key in hexadecimal, of which only the length is kept.
#[derive(Default)]
struct KeyText {
    key_bytes: Option<u64>,
}

impl<'de> Deserialize<'de> for KeyText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyTextVisitor)
    }
}

struct KeyTextVisitor;

impl<'de> serde::de::Visitor<'de> for KeyTextVisitor {
    type Value = KeyText;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, text: &str) -> Result<KeyText, E> {
        let hex = text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let key_bytes = u64::try_from(text.len() / 2).ok().filter(|_| hex);
        Ok(KeyText { key_bytes })
    }

    crate::config::anything_else!(KeyText { key_bytes: None });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::InvalidReason;

    #[test]
    fn invalid_and_duplicate_elements_are_named() {
        let key = "00".repeat(32);
        let text = format!(
            r#"{{"version":"1.0","elements":[
            {{"user":"","data_id":"INNODBKey-u-1","data_type":"AES","data":"{key}"}},
            {{"user":"","data_id":"INNODBKey-u-1","data_type":"AES","data":"{key}"}},
            {{"user":"","data_id":"b","data_type":"AES","data":"xyz"}},
            {{"user":"","data_id":"INNODBKey-u-2","data_type":"AES","data":"0000"}},
            {{"user":"","data_id":7,"data_type":"AES","data":"{key}"}},
            {{"data":[1,{{"a":null}}]}}]}}"#
        );
        let summary = crate::inspect(text.as_bytes()).unwrap();
        assert_eq!(summary.entries.len(), 6);
        let reasons: Vec<_> = summary
            .damage
            .iter()
            .filter_map(|damage| match damage {
                Damage::InvalidElement { index, reason } => Some((*index, *reason)),
                _ => None,
            })
            .collect();
        assert_eq!(
            reasons,
            [(2, InvalidReason::Data), (3, InvalidReason::Length), (4, InvalidReason::Id), (5, InvalidReason::Id)]
        );
        assert!(summary.damage.contains(&Damage::Duplicate { id: "INNODBKey-u-1".to_owned() }));
    }
}
