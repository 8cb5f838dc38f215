//! What two headers say differently.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::summary::HeaderSummary;
use crate::volume::Volume;

/// One field that differs; none where a side does not have it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// Where, such as `keyslots.1.kdf.iterations`.
    pub field: String,
    /// What the one says.
    pub one: Option<String>,
    /// What the other says.
    pub other: Option<String>,
}

/// All differences, by field. Salts and digests show as what they are for, not as bytes.
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

/// Lists of objects go by their `id`, so that a slot that is gone does not shift the others.
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

/// Enough of a hash to tell two apart.
fn fingerprint(bytes: &[u8]) -> String {
    let mut hex = crate::backup::sha256_hex(bytes);
    hex.truncate(16);
    hex
}
