//! Contents of the configuration files of keyring components (JSON).

use serde::Deserialize;

use crate::{
    lenient_json::{Flag, Text},
    summary::{ComponentConfig, Damage, Manifest, StoreKind, StoreSummary},
};

/// Prefix of the names of all keyring components.
pub(crate) const COMPONENTS: &str = "component_keyring_";
/// Prefix by which a manifest names a component in the plug-in directory.
pub(crate) const COMPONENT_PREFIX: &str = "file://";
/// Suffix of the name of a component's configuration.
pub(crate) const CONFIG_ENDING: &str = ".cnf";
/// Name of the manifest, which lists the components that a server loads first.
pub const COMPONENT_MANIFEST: &str = "mysqld.my";
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

/// Whether a configuration makes the keyring read-only.
pub(crate) fn is_read_only(bytes: &[u8]) -> bool {
    inspect_component(bytes).config.and_then(|config| config.read_only) == Some(true)
}

fn fields(bytes: &[u8], summary: &mut StoreSummary) -> Option<Fields> {
    serde_json::from_slice(bytes).map_err(|error| summary.damage.push(Damage::from_json(&error))).ok()
}
