//! KV secrets engines: mount points, and paths of secrets.
//!
//! Source: Vault's documentation, "KV secrets engine" versions 1 and 2 (API), and `/sys/internal/ui/mounts`, which the
//! command `vault kv` queries first; confirmed on Vault 1.14.1.

use serde::Deserialize;

use crate::error::Fault;

/// The versions of the KV engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineVersion {
    /// Stores only the last value of each secret.
    First,
    /// Stores several versions of each secret.
    Second,
}

/// A directory of secrets in a KV engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Mount point of the engine, without slashes at the ends.
    pub mount: String,
    /// Version of the engine's API.
    pub version: EngineVersion,
    /// The directory below the mount, without slashes at the ends; may be empty.
    pub directory: String,
}

impl Engine {
    /// The engine that is mounted at this path.
    #[must_use]
    pub fn at(mount: &str, version: EngineVersion) -> Self {
        Self { mount: mount.to_owned(), version, directory: String::new() }
    }
}

impl Engine {
    /// Path of a secret in the API.
    pub(crate) fn secret(&self, name: &str) -> String {
        self.path("data", name)
    }

    /// Path of what is known about a secret of an engine of version 2 beside its values.
    pub(crate) fn about(&self, name: &str) -> String {
        self.path("metadata", name)
    }

    /// Path of the settings of an engine of version 2.
    pub(crate) fn settings(&self) -> String {
        format!("{}/config", self.mount)
    }

    /// Path of the list of names in the API.
    pub(crate) fn list(&self) -> String {
        self.path("metadata", "")
    }

    fn path(&self, part: &str, name: &str) -> String {
        let part = if self.version == EngineVersion::Second { part } else { "" };
        let parts = [self.mount.as_str(), part, &self.directory, name];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    }
}

#[derive(Deserialize)]
struct Mount {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    path: String,
    #[serde(rename = "type")]
    engine: String,
    #[serde(default)]
    options: Option<Options>,
}

#[derive(Deserialize)]
struct Options {
    version: Option<String>,
}

/// The engine of `path`, from the response about its mount.
pub(crate) fn engine_of(body: &[u8], path: &str) -> Result<Engine, Fault> {
    let Data { path: mount, engine, options } = serde_json::from_slice::<Mount>(body).map_err(|_| Fault::NotJson)?.data;
    let mount = mount.trim_matches('/').to_owned();
    if !matches!(engine.as_str(), "kv" | "generic") {
        return Err(Fault::WrongEngine { found: format!("of type {}", engine.escape_debug()), needed: "a KV engine" });
    }
    let version = match options.and_then(|options| options.version).as_deref() {
        Some("2") => EngineVersion::Second,
        _ => EngineVersion::First,
    };
    // The keys of another directory must not be taken for those of this one.
    let directory = path.strip_prefix(&mount).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let directory = directory.ok_or(Fault::NoMount)?.trim_matches('/').to_owned();
    Ok(Engine { mount, version, directory })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_both_versions_are_built() {
        let body = |options: &str| format!(r#"{{"data":{{"path":"a/b/","type":"kv","options":{options}}}}}"#);
        let engine = |options: &str| engine_of(body(options).as_bytes(), "a/b/c").unwrap();
        let second = engine(r#"{"version":"2"}"#);
        assert_eq!((second.secret("7").as_str(), second.list().as_str()), ("a/b/data/c/7", "a/b/metadata/c"));
        for options in [r#"{"version":"1"}"#, "null", "{}"] {
            let first = engine(options);
            assert_eq!((first.secret("7").as_str(), first.list().as_str()), ("a/b/c/7", "a/b/c"));
        }
        let other = br#"{"data":{"path":"pki/","type":"pki","options":null}}"#;
        assert!(matches!(engine_of(other, "pki"), Err(Fault::WrongEngine { .. })));
        for path in ["a/bc", "a", "b"] {
            assert_eq!(engine_of(body("null").as_bytes(), path), Err(Fault::NoMount), "{path}");
        }
        assert_eq!(engine_of(b"<html>", "x"), Err(Fault::NotJson));
    }
}
