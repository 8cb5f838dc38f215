//! The services that can have a server's keys: a real HashiCorp Vault, PyKMIP, and moto for AWS KMS, with a row for each
//! kind of configuration that leads to them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use data_encoding::{BASE64, HEXLOWER_PERMISSIVE, HEXUPPER};
use harness::kmip::{self, Kmip};
use harness::kms::{self, Kms, REGION};
use serde_json::{Value, json};

use crate::keys_in_kms::{option_file, private};
use crate::keys_in_vault::{Site, name_of_secret};

/// A key as the services get it: a name of MySQL's or number of MariaDB's, the type of a keyring, and hexadecimal digits.
pub(crate) type Key = (String, String, String);

/// All services, running.
pub(crate) struct Services {
    site: Site,
    kmip: Kmip,
    kms: Kms,
}

/// The keys of a server in one service.
pub(crate) struct KeySource<'s> {
    pub(crate) name: &'static str,
    /// The server's configuration of the service.
    pub(crate) config: PathBuf,
    /// What a warning says of a key that was taken away; empty if the service forgets such keys: a KV engine of version 1
    /// and PyKMIP do.
    pub(crate) withdrawn: &'static str,
    place: Place<'s>,
    /// The names of the keys that it has got, and what the service calls them, if that is something else.
    stored: RefCell<BTreeMap<String, String>>,
}

enum Place<'s> {
    /// A path of the Vault's, and whether the keys are MariaDB's.
    Vault {
        site: &'s Site,
        path: &'static str,
        mariadb: bool,
    },
    Kmip(&'s Kmip),
    /// The file of Percona's component.
    KeyringOfKms {
        service: &'s Kms,
        file: PathBuf,
    },
    /// The data directory with MariaDB's files.
    FilesOfKms {
        service: &'s Kms,
        datadir: PathBuf,
    },
}

impl Services {
    /// `None`, with a message, if one is not installed.
    pub(crate) fn start() -> Option<Self> {
        let (kmip, kms) = (kmip::require()?, kms::require()?);
        let site = Site::start()?;
        for (path, version) in [("one", "1"), ("two", "2"), ("mariadb", "2")] {
            site.vault(&["secrets", "enable", &format!("-path={path}"), &format!("-version={version}"), "kv"]);
        }
        Some(Self { site, kmip: Kmip::start(kmip).expect("PyKMIP starts"), kms: Kms::start(kms).expect("moto starts") })
    }

    /// A row for each configuration that leads to the keys of a MySQL or Percona Server.
    pub(crate) fn of_mysql(&self) -> Vec<KeySource<'_>> {
        let Self { site, kmip, kms } = self;
        let (address, token) = (site.vault.address(), site.vault.root_token());
        let ca = site.vault.authority().display();
        let plugin = format!("vault_url = {address}\nsecret_mount_point = one/db\nvault_ca = {ca}\ntoken = {token}\n");
        let keyring = kms.path("component_keyring_kms");
        let of_kms = json!({
            "path": keyring, "read_only": false, "region": REGION, "kms_key": "alias/db", "auth_key": "AKIATEST",
            "secret_access_key": "s3cr3t", "sealant_endpoint": kms.endpoint(), "sealant_ca": kms.authority(),
        });
        vec![
            KeySource::new(
                "plug-in keyring_vault",
                site.file("keyring_vault.conf", &plugin),
                "",
                Place::Vault { site, path: "one/db", mariadb: false },
            ),
            KeySource::new(
                "component_keyring_vault",
                site.component("component_keyring_vault.cnf", &address, "two/db", token),
                "is deleted at ",
                Place::Vault { site, path: "two/db", mariadb: false },
            ),
            KeySource::new(
                "component_keyring_kmip",
                crate::keys_in_kmip::config(kmip, "component_keyring_kmip.cnf", &json!({})),
                "",
                Place::Kmip(kmip),
            ),
            KeySource::new(
                "component_keyring_kms",
                private(kms, "component_keyring_kms.cnf", &of_kms.to_string()),
                "(not encrypted by this KMS, or damaged)",
                Place::KeyringOfKms { service: kms, file: keyring },
            ),
        ]
    }

    /// A row for each configuration that leads to the keys of a MariaDB with this data directory.
    pub(crate) fn of_mariadb(&self, datadir: &Path) -> Vec<KeySource<'_>> {
        let Self { site, kms, .. } = self;
        vec![
            KeySource::new(
                "hashicorp_key_management",
                site.with_token("hashicorp.cnf", "mariadb", site.vault.root_token()),
                "is deleted at ",
                Place::Vault { site, path: "mariadb", mariadb: true },
            ),
            KeySource::new(
                "aws_key_management",
                option_file(kms, "aws.cnf", datadir, REGION, kms.authority()),
                "(not encrypted by this KMS, or damaged)",
                Place::FilesOfKms { service: kms, datadir: datadir.to_owned() },
            ),
        ]
    }
}

impl<'s> KeySource<'s> {
    /// Lets only its owner read the configuration, as `keyring check` demands.
    fn new(name: &'static str, config: PathBuf, withdrawn: &'static str, place: Place<'s>) -> Self {
        fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).expect("own file");
        Self { name, config, withdrawn, place, stored: RefCell::default() }
    }

    /// Stores those of the keys that it does not have, as the server's plug-in or component does.
    pub(crate) fn put(&self, keys: &[Key]) {
        let new: Vec<Key> =
            keys.iter().filter(|(name, ..)| !self.stored.borrow().contains_key(name)).cloned().collect();
        for (name, kind, digits) in &new {
            let called = match &self.place {
                Place::Vault { site, path, mariadb } => {
                    let value = BASE64.encode(&HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).expect("digits"));
                    let (data, kind, value) =
                        (format!("data={digits}"), format!("type={kind}"), format!("value={value}"));
                    let values: &[&str] = if *mariadb { &[&data] } else { &[&kind, &value] };
                    site.vault(&[&["kv", "put", &secret(path, name, *mariadb)], values].concat());
                    String::new()
                }
                Place::Kmip(service) => service.register(name, "db1", digits).expect("registered"),
                Place::KeyringOfKms { .. } | Place::FilesOfKms { .. } => String::new(),
            };
            self.stored.borrow_mut().insert(name.clone(), called);
        }
        match &self.place {
            Place::KeyringOfKms { service, file } => {
                let elements = keys.iter().zip(wrapped(service, keys)).map(|((name, kind, _), wrapped)| {
                    let data = HEXUPPER.encode(wrapped.as_bytes());
                    json!({"user": "", "data_id": name, "data_type": kind, "data": data, "extension": []})
                });
                let keyring = json!({"version": "1.0", "elements": elements.collect::<Vec<Value>>()});
                fs::write(file, keyring.to_string()).expect("room");
            }
            Place::FilesOfKms { service, datadir } => {
                for ((name, ..), wrapped) in keys.iter().zip(wrapped(service, keys)) {
                    fs::write(file_of_kms(datadir, name), BASE64.decode(wrapped.as_bytes()).expect("base64"))
                        .expect("room");
                }
            }
            Place::Vault { .. } | Place::Kmip(_) => {}
        }
    }

    /// Deletes or destroys a key in the service, or damages its ciphertext, which KMS then does not recognise.
    pub(crate) fn take_away(&self, name: &str) {
        match &self.place {
            Place::Vault { site, path, mariadb } => {
                site.vault(&["kv", "delete", &secret(path, name, *mariadb)]);
            }
            Place::Kmip(service) => service.destroy(&self.stored.borrow()[name]).expect("destroyed"),
            Place::KeyringOfKms { file, .. } => {
                let mut keyring: Value = serde_json::from_slice(&fs::read(file).expect("a file")).expect("JSON");
                let elements = keyring["elements"].as_array_mut().expect("elements");
                let element = elements.iter_mut().find(|element| element["data_id"] == name).expect("the key is there");
                let text = HEXUPPER.decode(element["data"].as_str().expect("text").as_bytes()).expect("digits");
                let damaged = damaged(BASE64.decode(&text).expect("base64"));
                element["data"] = HEXUPPER.encode(BASE64.encode(&damaged).as_bytes()).into();
                fs::write(file, keyring.to_string()).expect("room");
            }
            Place::FilesOfKms { datadir, .. } => {
                let file = file_of_kms(datadir, name);
                fs::write(&file, damaged(fs::read(&file).expect("a file"))).expect("room");
            }
        }
    }
}

/// A ciphertext whose end, which authenticates it, is another.
fn damaged(mut ciphertext: Vec<u8>) -> Vec<u8> {
    *ciphertext.last_mut().expect("some bytes") ^= 1;
    ciphertext
}

fn file_of_kms(datadir: &Path, id: &str) -> PathBuf {
    datadir.join(format!("aws-kms-key.{id}.1"))
}

/// The path of a key's secret in the Vault.
fn secret(path: &str, name: &str, mariadb: bool) -> String {
    if mariadb { format!("{path}/{name}") } else { format!("{path}/{}", name_of_secret(name, "")) }
}

fn wrapped(service: &Kms, keys: &[Key]) -> Vec<String> {
    service.wrap(&keys.iter().map(|(.., digits)| digits.as_str()).collect::<Vec<_>>()).expect("it encrypts")
}

/// The keys of a keyring file of MySQL's component.
pub(crate) fn keys_of(keyring: &Value) -> Vec<Key> {
    let elements = keyring["elements"].as_array().expect("elements").iter();
    let text = |element: &Value, name: &str| element[name].as_str().expect("text").to_owned();
    elements.map(|key| (text(key, "data_id"), text(key, "data_type"), text(key, "data"))).collect()
}
