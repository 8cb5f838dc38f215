//! JSON files that configure keyring components, and lenient reading of JSON.

use serde::{Deserialize, Serialize};

use crate::store::{Damage, StoreKind, StoreSummary};

/// `component_keyring_*.cnf`.
///
/// Source: formats, "Keyring stores", confirmed on MySQL 9.7.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentConfig {
    /// Where the keys are.
    pub path: Option<String>,
    /// Whether the server may write them.
    pub read_only: Option<bool>,
    /// The configuration is in the data directory instead.
    pub read_local_config: bool,
}

/// `mysqld.my`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Components the server loads, e.g. `file://component_keyring_file`.
    pub components: Option<String>,
    /// The manifest is in the data directory instead.
    pub read_local_manifest: bool,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Fields {
    path: Text,
    read_only: Flag,
    read_local_config: Flag,
    components: Text,
    read_local_manifest: Flag,
}

pub(crate) fn inspect_component(bytes: &[u8]) -> StoreSummary {
    let mut summary = StoreSummary::new(StoreKind::ComponentConfig, false);
    let fields = fields(bytes, &mut summary);
    summary.config = fields.map(|fields| ComponentConfig {
        path: fields.path.0,
        read_only: fields.read_only.0,
        read_local_config: fields.read_local_config.0 == Some(true),
    });
    summary
}

pub(crate) fn inspect_manifest(bytes: &[u8]) -> StoreSummary {
    let mut summary = StoreSummary::new(StoreKind::Manifest, false);
    let fields = fields(bytes, &mut summary);
    summary.manifest = fields.map(|fields| Manifest {
        components: fields.components.0,
        read_local_manifest: fields.read_local_manifest.0 == Some(true),
    });
    summary
}

fn fields(bytes: &[u8], summary: &mut StoreSummary) -> Option<Fields> {
    serde_json::from_slice(bytes).map_err(|error| summary.damage.push(json_damage(&error))).ok()
}

pub(crate) fn json_damage(error: &serde_json::Error) -> Damage {
    if error.is_eof() {
        Damage::Truncated
    } else {
        Damage::Malformed { at: u64::try_from(error.line()).unwrap_or(u64::MAX) }
    }
}

/// The methods of a visitor that take everything but strings for `$value`.
macro_rules! anything_else {
    ($value:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
            Ok($value)
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
            Ok($value)
        }
    };
}
pub(crate) use anything_else;

/// A string; anything else reads as "not there" instead of spoiling the whole file.
#[derive(Default)]
pub(crate) struct Text(pub(crate) Option<String>);

impl Text {
    pub(crate) fn as_deref(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub(crate) fn into_string(self) -> String {
        self.0.unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> serde::de::Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(Some(text.to_owned())))
    }

    anything_else!(Text(None));
}

/// A boolean, also written as a string.
#[derive(Default)]
struct Flag(Option<bool>);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(match value {
            serde_json::Value::Bool(flag) => Some(flag),
            serde_json::Value::String(text) => text.parse().ok(),
            _ => None,
        }))
    }
}
