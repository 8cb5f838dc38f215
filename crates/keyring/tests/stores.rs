//! Inspects the real key stores in testdata/, intact and damaged.

use std::{fs, path::PathBuf};

use keyring::{Damage, Error, InvalidReason, StoreKind, StoreSummary, inspect, recognise};
use proptest::prelude::*;

const UUID: &str = "95b2f013-e4cd-11f1-8c02-02fc00000001";

fn sample(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn summary(name: &str) -> StoreSummary {
    inspect(&sample(name)).expect(name)
}

#[test]
fn every_sample_has_its_kind() {
    for (name, kind, readable, keys) in [
        ("keyring/mysql97-component-file.json", StoreKind::ComponentFile, true, 5),
        ("keyring/mysql97-4k-component-file.json", StoreKind::ComponentFile, true, 1),
        ("keyring/mysql97-8k-component-file.json", StoreKind::ComponentFile, true, 1),
        ("keyring/mysql97-32k-component-file.json", StoreKind::ComponentFile, true, 1),
        ("keyring/mysql97-64k-component-file.json", StoreKind::ComponentFile, true, 1),
        ("keyring/synthetic-plugin-file-v1.0", StoreKind::PluginFileV1, true, 6),
        ("keyring/synthetic-plugin-file-v2.0", StoreKind::PluginFileV2, true, 6),
        ("keyring/percona57-plugin-file", StoreKind::PluginFileV1, true, 5),
        ("keyring/percona80-plugin-file", StoreKind::PluginFileV2, true, 8),
        ("keyring/mariadb1011-keyfile", StoreKind::MariaDbPlain, true, 3),
        ("keyring/mariadb1011-ctr-keyfile", StoreKind::MariaDbPlain, true, 3),
        ("keyring/mariadb-redo-versions-keyfile", StoreKind::MariaDbPlain, true, 3),
        ("keyring/mariadb1011-keyfile.enc", StoreKind::OpensslSalted, false, 0),
        ("keyring/mariadb1011-ctr-keyfile.enc", StoreKind::OpensslSalted, false, 0),
        ("export/mysql97-16k-encrypted.cfp", StoreKind::CfpExportKey, true, 0),
    ] {
        let bytes = sample(name);
        assert_eq!(recognise(&bytes, "renamed", bytes.len() as u64), Some(kind), "{name}");
        let found = inspect(&bytes).unwrap();
        assert_eq!((found.kind, found.readable_without_password), (kind, readable), "{name}");
        assert_eq!((found.entries.len(), &found.damage[..]), (keys, &[][..]), "{name}");
    }
}

#[test]
fn mysql_stores_list_their_keys() {
    for name in [
        "keyring/mysql97-component-file.json",
        "keyring/synthetic-plugin-file-v1.0",
        "keyring/synthetic-plugin-file-v2.0",
    ] {
        let found = summary(name);
        // The plug-in files also have a key named by server id, as in 5.7.11.
        let plugin = name.contains("plugin");
        assert_eq!(found.master_keys.len(), if plugin { 2 } else { 1 }, "{name}");
        assert_eq!(found.has_master_key("951", 2), plugin, "{name}");
        assert!(found.has_master_key(UUID, 1) && found.has_master_key(UUID, 2) && !found.has_master_key(UUID, 3));
        assert_eq!(found.replication_keys, [format!("MySQLReplicationKey_{UUID}_2")]);
        assert!(found.entries.iter().all(|entry| entry.key_type == "AES" && entry.user.is_empty()));
        let master = found.entries.iter().find(|entry| entry.id == format!("INNODBKey-{UUID}-2")).unwrap();
        assert_eq!(master.key_bytes, Some(32));
    }
    assert_eq!(summary("keyring/synthetic-plugin-file-v2.0").checksum_ok, Some(true));
    assert_eq!(summary("keyring/synthetic-plugin-file-v1.0").checksum_ok, None);
}

#[test]
fn mariadb_stores_list_their_keys() {
    let found = summary("keyring/mariadb1011-keyfile");
    let keys: Vec<_> = found.entries.iter().map(|entry| (entry.id.as_str(), entry.key_bytes)).collect();
    assert_eq!(keys, [("1", Some(32)), ("2", Some(16)), ("34", Some(24))]);
}

#[test]
fn no_key_bytes_leave_the_crate() {
    for name in ["keyring/mysql97-component-file.json", "keyring/mariadb1011-keyfile"] {
        let text = String::from_utf8(sample(name)).unwrap();
        let found = summary(name);
        let shown = format!("{found:?}{}", serde_json::to_string(&found).unwrap());
        for run in text.split(|c: char| !c.is_ascii_hexdigit()).filter(|run| run.len() >= 32) {
            assert!(!shown.contains(run));
        }
    }
}

#[test]
fn truncated_stores_are_damaged() {
    let json = sample("keyring/mysql97-component-file.json");
    assert_eq!(inspect(&json[..json.len() - 1]).unwrap().damage, [Damage::Truncated]);
    for name in ["keyring/synthetic-plugin-file-v1.0", "keyring/synthetic-plugin-file-v2.0"] {
        let file = sample(name);
        let found = inspect(&file[..file.len() - 1]).unwrap();
        assert_eq!((found.entries.len(), &found.damage[..]), (6, &[Damage::Truncated][..]), "{name}");
        let found = inspect(&file[..300]).unwrap();
        assert_eq!((found.entries.len(), &found.damage[..]), (2, &[Damage::Truncated][..]), "{name}");
    }
    assert!(matches!(inspect(&[]), Err(Error::Empty)));
    assert!(matches!(inspect(&[0; 4096]), Err(Error::NotRecognised)));
}

#[test]
fn flipped_bits_are_damage() {
    let mut file = sample("keyring/synthetic-plugin-file-v2.0");
    file[120] ^= 1;
    let found = inspect(&file).unwrap();
    assert_eq!((found.checksum_ok, &found.damage[..]), (Some(false), &[Damage::Checksum][..]));

    let mut file = sample("keyring/synthetic-plugin-file-v1.0");
    file[24] ^= 1;
    let found = inspect(&file).unwrap();
    assert!(found.damage.iter().any(|damage| matches!(damage, Damage::Malformed { .. })));

    let mut json = sample("keyring/mysql97-component-file.json");
    let at = json.windows(8).position(|window| window == b"\"data\":\"").unwrap() + 8;
    json[at] = b'g';
    let expected = Damage::InvalidElement { index: 0, reason: InvalidReason::Data };
    assert_eq!(inspect(&json).unwrap().damage, [expected]);
}

#[test]
fn configuration_files_are_summarised() {
    let manifest = inspect(br#"{"components":"file://component_keyring_file"}"#).unwrap();
    assert_eq!(manifest.manifest.unwrap().components.as_deref(), Some("file://component_keyring_file"));
    assert!(inspect(br#"{"read_local_manifest":true}"#).unwrap().manifest.unwrap().read_local_manifest);
    let config = inspect(br#"{"path":"/var/lib/mysql-keyring/keys","read_only":false}"#).unwrap();
    assert_eq!((config.kind, config.readable_without_password), (StoreKind::ComponentConfig, false));
    let config = config.config.unwrap();
    assert_eq!(config.path.as_deref(), Some("/var/lib/mysql-keyring/keys"));
    assert_eq!(config.read_only, Some(false));
    assert!(inspect(br#"{"read_local_config":true}"#).unwrap().config.unwrap().read_local_config);
}

#[test]
fn the_name_counts_only_if_the_content_is_ambiguous() {
    assert_eq!(recognise(b"", "mysqld.my", 0), Some(StoreKind::Manifest));
    assert_eq!(recognise(b"", "component_keyring_kmip.cnf", 0), Some(StoreKind::ComponentConfig));
    assert_eq!(recognise(b"Keyring aws version:1.0", "x", 23), Some(StoreKind::AwsPlugin));
    assert_eq!(recognise(b"[mysqld]\ndatadir=/d\n", "my.cnf", 20), None);
    assert_eq!(recognise(b"1;2;3\n4;5;6\n", "data.csv", 12), None);
}

#[test]
fn a_store_is_read_completely_up_to_the_limit() {
    let bytes = sample("keyring/mysql97-component-file.json");
    let read = keyring::read(&mut &bytes[..], bytes.len() as u64).unwrap();
    assert_eq!(&read[..], &bytes[..]);
    let huge = keyring::read(&mut std::io::empty(), keyring::MAX_STORE_BYTES + 1);
    assert!(matches!(huge, Err(Error::TooLarge { .. })));
}

#[test]
fn summaries_survive_json() {
    for name in ["keyring/mysql97-component-file.json", "keyring/mariadb1011-keyfile"] {
        let found = summary(name);
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<StoreSummary>(&text).unwrap(), found);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_cause_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = inspect(&bytes);
    }

    #[test]
    fn mutated_stores_cause_no_panic(
        name in prop::sample::select(vec![
            "keyring/mysql97-component-file.json",
            "keyring/synthetic-plugin-file-v1.0",
            "keyring/synthetic-plugin-file-v2.0",
            "keyring/mariadb1011-keyfile",
        ]),
        changes in proptest::collection::vec((0_usize..1000, any::<u8>()), 0..8),
        cut in prop_oneof![Just(usize::MAX), 0_usize..1000],
    ) {
        let mut bytes = sample(name);
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes.truncate(cut);
        let _ = inspect(&bytes);
        let _ = recognise(&bytes, name, 7);
    }
}
