//! Keys of MySQL in a KMIP service, as Percona's `component_keyring_kmip` stores them: symmetric keys whose attribute
//! `Name` is the name of the key, optionally in an object group.
//!
//! Source: docs/formats, "Keys in a KMIP service".

use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use keyservice::{Fault, KeyState, Kmip, KmipAccess, KmipKey, Withdrawn};

use crate::{
    error::Error,
    vault_settings::Settings,
    withdrawn_key::{CompromisedKey, KeyService, WithdrawnKey},
};

/// The keys of a server in a KMIP service.
pub(crate) struct KmipSource {
    pub(crate) access: KmipAccess,
    /// The object group; `None` for all symmetric keys.
    pub(crate) group: Option<String>,
}

/// The keys that were found.
#[derive(Default)]
pub(crate) struct KmipKeys {
    /// Name and key; `None` if the service does not give the key's bytes alone.
    pub(crate) keys: Vec<(String, Option<KmipKey>)>,
    pub(crate) withdrawn: Vec<WithdrawnKey>,
    pub(crate) compromised: Vec<CompromisedKey>,
}

impl KmipSource {
    /// Reads a configuration of the component.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let settings = Settings::from_percona(bytes).map_err(|_| Error::KmipConfig { what: "is not JSON" })?;
        let required = |name, what| settings.text(name).ok_or(Error::KmipConfig { what });
        let path = |name, what| required(name, what).map(PathBuf::from);
        let port = required("server_port", "has no server_port")?;
        Ok(Self {
            access: KmipAccess {
                host: required("server_addr", "has no server_addr")?.to_owned(),
                port: port.parse().map_err(|_| Error::KmipConfig { what: "has a server_port that is not a port" })?,
                certificate: path("client_ca", "has no client_ca")?,
                key: path("client_key", "has no client_key")?,
                authorities: path("server_ca", "has no server_ca")?,
                timeout: settings.time_limit("kmip_timeout_ms", Duration::from_millis),
            },
            group: settings.text("object_group").map(str::to_owned),
        })
    }

    /// Fetches the keys with their names, each once. Objects without a name do not belong to a server. A service may
    /// keep the name of a destroyed key for ever; the component destroys keys that the server removes.
    pub(crate) fn fetch(&self) -> Result<KmipKeys, Error> {
        let mut service = Kmip::connect(&self.access)?;
        let mut found = KmipKeys::default();
        for id in service.locate(self.group.as_deref())? {
            let info = service.info(&id)?;
            let Some(name) = info.name else { continue };
            match info.state {
                KeyState::Destroyed => {
                    found.add_destroyed(name, id);
                    continue;
                }
                KeyState::Compromised => found.compromised.push(CompromisedKey { name: name.clone() }),
                KeyState::Usable => {}
            }
            let key = match service.key(&id) {
                Err(error) if error.fault() == Some(&Fault::NotARawKey) => None,
                key => Some(key?),
            };
            found.keys.push((name, key));
        }
        found.forget_replaced();
        if found.keys.is_empty() && found.withdrawn.is_empty() {
            return Err(Error::NoKeysInKmip { group: self.group.clone() });
        }
        Ok(found)
    }
}

impl KmipKeys {
    fn add_destroyed(&mut self, name: String, id: String) {
        let (service, how) = (KeyService::Kmip, Withdrawn::Destroyed);
        self.withdrawn.push(WithdrawnKey { service, name, user: String::new(), path: id, how });
    }

    /// Drops destroyed keys whose name another key has now.
    fn forget_replaced(&mut self) {
        let names: BTreeSet<&str> = self.keys.iter().map(|(name, _)| name.as_str()).collect();
        self.withdrawn.retain(|gone| !names.contains(gone.name.as_str()));
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

    #[test]
    fn a_destroyed_key_whose_name_is_used_again_is_not_missing() {
        let mut found = KmipKeys::default();
        found.add_destroyed("a".to_owned(), "1".to_owned());
        found.add_destroyed("b".to_owned(), "2".to_owned());
        found.keys.push(("a".to_owned(), None));
        found.forget_replaced();
        let left: Vec<String> = found.withdrawn.iter().map(ToString::to_string).collect();
        assert_eq!(left, ["in the KMIP service, b is destroyed for ever"]);
    }
}
