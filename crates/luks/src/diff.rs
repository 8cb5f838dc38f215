//! Compares the fields of two headers.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::summary::HeaderSummary;
use crate::volume::Volume;

/// A field that differs; a side is `None` where its header lacks the field.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// Path of the field, such as `keyslots.1.kdf.iterations`.
    pub field: String,
    /// Value in the first header.
    pub one: Option<String>,
    /// Value in the second header.
    pub other: Option<String>,
}

/// All differences, sorted by field. Salts and digests appear as fingerprints, in fields named after the slot or volume
/// key that they identify.
#[must_use]
pub fn diff(one: &Volume, other: &Volume) -> Vec<Difference> {
    let (one, other) = (fields(one), fields(other));
    let names: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differs = names.into_iter().filter(|name| one.get(*name) != other.get(*name));
    differs
        .map(|name| Difference { field: name.clone(), one: one.get(name).cloned(), other: other.get(name).cloned() })
        .collect()
}

fn fields(volume: &Volume) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let summary = serde_json::to_value(HeaderSummary::from(volume)).unwrap_or_default();
    flatten(String::new(), &summary, &mut fields);
    for slot in volume.slots.iter().filter(|slot| slot.holds_key()) {
        fields.insert(format!("keyslots.{}.key", slot.id), fingerprint(&slot.salt));
    }
    for digest in &volume.digests {
        let (salt, proof) = &digest.proof;
        fields.insert(format!("volume-keys.{}", digest.id), fingerprint(&[salt.as_slice(), proof].concat()));
    }
    fields
}

/// Objects in lists are named by their `id`, so that a removed slot does not renumber the others.
fn flatten(location: String, value: &Value, fields: &mut BTreeMap<String, String>) {
    let below = |name: &str| if location.is_empty() { name.to_owned() } else { format!("{location}.{name}") };
    match value {
        Value::Object(entries) => entries.iter().for_each(|(name, entry)| flatten(below(name), entry, fields)),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for item in items {
                flatten(below(&item["id"].to_string()), item, fields);
            }
        }
        Value::Null => {}
        Value::Array(items) if items.is_empty() => {}
        Value::String(text) => drop(fields.insert(location, text.clone())),
        other => drop(fields.insert(location, other.to_string())),
    }
}

/// Enough of a hash to tell two values apart.
fn fingerprint(bytes: &[u8]) -> String {
    let mut hex = files::sha256_hex(bytes);
    hex.truncate(16);
    hex
}
