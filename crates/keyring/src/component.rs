//! Configures a server to keep its keys in a file: the manifest that loads `component_keyring_file`, and the
//! component's configuration. Source: MySQL manual, "Using the `component_keyring_file` File-Based Keyring Component";
//! confirmed on 9.7.

use std::path::Path;

use crate::component_config::COMPONENT_PREFIX;

/// Name of the component.
pub const NAME: &str = "component_keyring_file";
/// Its library, in the plug-in directory.
pub const LIBRARY: &str = "component_keyring_file.so";
/// Its configuration, in the plug-in directory or the data directory.
pub const CONFIGURATION: &str = "component_keyring_file.cnf";

/// Text of a global configuration that refers to the one in each data directory.
pub const LOCAL_CONFIGURATION: &str = "{\"read_local_config\":true}\n";
/// Text of a global manifest that refers to the one in each data directory.
pub const LOCAL_MANIFEST: &str = "{\"read_local_manifest\":true}\n";

/// Whether a server may add keys to its keyring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The server only uses existing keys.
    ReadOnly,
    /// The server may add keys.
    ReadWrite,
}

/// Text of a configuration for this keyring file; `None` if the path is not UTF-8.
#[must_use]
pub fn configuration(keyring: &Path, access: Access) -> Option<String> {
    let path = serde_json::to_string(keyring.to_str()?).ok()?;
    let read_only = access == Access::ReadOnly;
    Some(format!("{{\"path\":{path},\"read_only\":{read_only}}}\n"))
}

/// Text of a manifest that loads only this component.
#[must_use]
pub fn manifest() -> String {
    format!("{{\"components\":\"{COMPONENT_PREFIX}{NAME}\"}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component_config::{inspect_component, inspect_manifest};
    use crate::summary::{ComponentConfig, Manifest};

    #[test]
    fn generated_files_are_parsed_back() {
        for (access, read_only) in [(Access::ReadOnly, true), (Access::ReadWrite, false)] {
            let text = configuration(Path::new("/keys/\"k\""), access).unwrap();
            let expected = ComponentConfig {
                path: Some("/keys/\"k\"".to_owned()),
                read_only: Some(read_only),
                read_local_config: false,
            };
            assert_eq!(inspect_component(text.as_bytes()).config, Some(expected));
        }
        let local = inspect_component(LOCAL_CONFIGURATION.as_bytes()).config.unwrap();
        assert!(local.read_local_config);
        let loads = |text: &str| inspect_manifest(text.as_bytes()).manifest;
        let component = Manifest { components: Some(format!("file://{NAME}")), read_local_manifest: false };
        assert_eq!(loads(&manifest()), Some(component));
        assert!(loads(LOCAL_MANIFEST).unwrap().read_local_manifest);
    }
}
