//! `component_keyring_file`: JSON with keys in clear hexadecimal.
//!
//! Source: docs/formats, "Key stores"; confirmed on MySQL 9.7.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    hex::Hex,
    lenient_json::Text,
    record::{Material, Parsed, Record},
    summary::{Damage, StoreKind, StoreSummary},
};

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
