//! Keys of MySQL in a KMIP service, as Percona's `component_keyring_kmip` stores them: symmetric keys whose attribute
//! `Name` is the name of the key, optionally in an object group.
//!
//! Source: docs/formats, "Keys in a KMIP service".

use std::{path::PathBuf, time::Duration};

use keyservice::{DEFAULT_TIMEOUT, Kmip, KmipAccess, KmipKey};

use crate::{error::Error, vault_settings::Settings};

/// The keys of a server in a KMIP service.
pub(crate) struct KmipSource {
    pub(crate) access: KmipAccess,
    /// The object group; `None` for all symmetric keys.
    pub(crate) group: Option<String>,
}

impl KmipSource {
    /// Reads a configuration of the component.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let settings = Settings::from_percona(bytes).map_err(|_| Error::KmipConfig { what: "is not JSON" })?;
        let required = |name, what| settings.text(name).ok_or(Error::KmipConfig { what });
        let path = |name, what| required(name, what).map(PathBuf::from);
        let port = required("server_port", "has no server_port")?;
        let timeout = settings.text("kmip_timeout_ms").and_then(|text| text.parse().ok()).filter(|limit| *limit > 0);
        Ok(Self {
            access: KmipAccess {
                host: required("server_addr", "has no server_addr")?.to_owned(),
                port: port.parse().map_err(|_| Error::KmipConfig { what: "has a server_port that is not a port" })?,
                certificate: path("client_ca", "has no client_ca")?,
                key: path("client_key", "has no client_key")?,
                authorities: path("server_ca", "has no server_ca")?,
                timeout: timeout.map_or(DEFAULT_TIMEOUT, Duration::from_millis),
            },
            group: settings.text("object_group").map(str::to_owned),
        })
    }

    /// Fetches the keys with their names, each once. Objects without a name do not belong to a server.
    pub(crate) fn fetch(&self) -> Result<Vec<(String, KmipKey)>, Error> {
        let mut service = Kmip::connect(&self.access)?;
        let mut keys = Vec::new();
        for id in service.locate(self.group.as_deref())? {
            if let Some(name) = service.name(&id)? {
                keys.push((name, service.key(&id)?));
            }
        }
        if keys.is_empty() { Err(Error::NoKeysInKmip { group: self.group.clone() }) } else { Ok(keys) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_of_the_component_is_read() {
        let text = br#"{"server_addr": "kmip.example", "server_port": "5696", "client_ca": "/c.pem", "client_key":
            "/k.pem", "server_ca": "/ca.pem", "object_group": "db1", "kmip_timeout_ms": 700}"#;
        let source = KmipSource::parse(text).unwrap();
        assert_eq!((source.access.host.as_str(), source.access.port), ("kmip.example", 5696));
        assert_eq!((source.group.as_deref(), source.access.timeout), (Some("db1"), Duration::from_millis(700)));
        let fault = |text: &[u8]| KmipSource::parse(text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(fault(br#"{"server_addr":"h","server_port":"x","client_ca":"c"}"#).contains("not a port"));
        assert!(fault(br#"{"server_addr":"h","server_port":"1","client_ca":"c"}"#).contains("no client_key"));
        assert!(crate::names_service(text));
    }
}
