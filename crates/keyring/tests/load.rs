//! Loads the real stores in testdata/, intact and damaged.

use std::{fs, path::PathBuf};

use keyring::{Damage, Derivation, Digest, Error, ExportKey, InvalidReason, MariaDbKeys, MysqlKeyring, StoreKind};
use proptest::prelude::*;

const UUID: &str = "95b2f013-e4cd-11f1-8c02-02fc00000001";
const MASTER: &str = "0a553c68c7c1705d2d6cb634da7b713aa42c2deb97a351349b71b4addf36d71a";
const MYSQL_STORES: [&str; 3] =
    ["keyring/mysql97-component-file.json", "keyring/synthetic-plugin-file-v1.0", "keyring/synthetic-plugin-file-v2.0"];

fn sample(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn mysql(name: &str) -> MysqlKeyring {
    MysqlKeyring::load(&sample(name)).expect(name)
}

fn password() -> Vec<u8> {
    sample("keyring/mariadb1011-filekey")
}

#[test]
fn mysql_keys_equal_the_vectors() {
    for name in MYSQL_STORES {
        let keyring = mysql(name);
        let key = |name: &str| keyring.get(name).map(|key| hex(key.as_bytes()));
        let master = |number: u32| key(&format!("INNODBKey-{UUID}-{number}"));
        assert_eq!(master(2).as_deref(), Some(MASTER), "{name}");
        assert_eq!(master(3), None);
        let first = "6152cccbf18f27111dc929accb53aa5b340301237f3b4771fad36d16ad977ef0";
        assert_eq!(master(1).as_deref(), Some(first), "{name}");
        let log = "736af5f8687960486a69c5d1786cf08fae7c3d9c23f5e66f53f1e9230f833b7a";
        assert_eq!(key(&format!("MySQLReplicationKey_{UUID}_2")).as_deref(), Some(log), "{name}");
        let newest = key(&format!("MySQLReplicationKey_{UUID}")).unwrap();
        assert_eq!(newest, "02000000000000000000000000000000", "{name}");
        assert_eq!((keyring.names().count(), keyring.damage()), (if name.contains("plugin") { 6 } else { 5 }, &[][..]));
    }
    // The name that 5.7.11 used; only in the plug-in's files.
    let by_server_id = mysql(MYSQL_STORES[1]);
    assert_eq!(by_server_id.get("INNODBKey-951-2").map(|key| hex(key.as_bytes())).as_deref(), Some(MASTER));
}

#[test]
fn mysql_keyrings_of_servers_with_other_page_sizes_are_loaded() {
    for size in ["4k", "8k", "32k", "64k"] {
        let keyring = mysql(&format!("keyring/mysql97-{size}-component-file.json"));
        let keys: Vec<_> = keyring.iter().map(|(name, key)| (name.to_owned(), key.as_bytes().len())).collect();
        assert_eq!(keys.len(), 1, "{size}");
        assert!(keys[0].0.starts_with("INNODBKey-") && keys[0].0.ends_with("-1") && keys[0].1 == 32, "{keys:?}");
    }
}

#[test]
fn the_master_key_opens_the_tablespace() {
    const WRAPPED_KEY_AT: usize = 10390 + 43;
    let page0 = sample("tablespace/mysql97-16k-encrypted.ibd");
    let wrapped: &[u8; 64] = page0[WRAPPED_KEY_AT..].first_chunk().unwrap();
    let checksum = u32::from_be_bytes(*page0[WRAPPED_KEY_AT + 64..].first_chunk().unwrap());
    assert_eq!(checksum, 0x9710_fa57);
    for name in MYSQL_STORES {
        let keyring = mysql(name);
        let opens =
            |number: u32| keyring::unwraps(keyring.get(&format!("INNODBKey-{UUID}-{number}"))?, wrapped, checksum);
        assert_eq!((opens(1), opens(2), opens(3)), (Some(false), Some(true), None), "{name}");
    }
}

#[test]
fn mariadb_keys_equal_the_vectors() {
    let plain = MariaDbKeys::load(&sample("keyring/mariadb1011-keyfile"), None).unwrap();
    let encrypted = MariaDbKeys::load(&sample("keyring/mariadb1011-keyfile.enc"), Some(&password())).unwrap();
    assert_eq!(plain.derivation(), None);
    assert_eq!(encrypted.derivation(), Some(Derivation { digest: Digest::Sha1, pbkdf2_rounds: None }));
    for keys in [plain, encrypted] {
        let key = |id, version| keys.get(id, version).map(|key| hex(key.as_bytes()));
        let first = "3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82";
        assert_eq!(key(1, 1).as_deref(), Some(first));
        assert_eq!(key(2, 1).as_deref(), Some("5d2d021d508b88fb0a0594b7e824a089"));
        assert_eq!(key(34, 1).as_deref(), Some("ce24dabe80be0cae03279ef644b21f00c9ade8c75f6d292f"));
        assert_eq!((key(1, 2), key(3, 1)), (None, None));
        assert_eq!(keys.ids().collect::<Vec<_>>(), [(1, 1), (2, 1), (34, 1)]);
        assert_eq!(keys.damage(), []);
    }
}

#[test]
fn plain_and_encrypted_key_files_hold_the_same() {
    let encrypted = sample("keyring/mariadb1011-ctr-keyfile.enc");
    let mut password = sample("keyring/mariadb1011-ctr-filekey");
    let plain = MariaDbKeys::load(&sample("keyring/mariadb1011-ctr-keyfile"), None).unwrap();
    for end in ["", "\n", "\r\n", "\n\n"] {
        password.truncate(password.trim_ascii_end().len());
        password.extend(end.as_bytes());
        let encrypted = MariaDbKeys::load(&encrypted, Some(&password)).unwrap();
        let all = |keys: &MariaDbKeys| -> Vec<_> {
            keys.ids().map(|(id, version)| (id, hex(keys.get(id, version).unwrap().as_bytes()))).collect()
        };
        assert_eq!(all(&encrypted), all(&plain));
        assert_eq!(all(&plain).len(), 3);
    }
    assert_eq!(MariaDbKeys::load(&sample("keyring/mariadb-redo-versions-keyfile"), None).unwrap().ids().count(), 3);
}

#[test]
fn the_transfer_key_gives_the_tablespace_key() {
    let export = ExportKey::load(&sample("export/mysql97-16k-encrypted.cfp")).unwrap();
    let key = "3a330db7e72a1529928d59ebf39bf92abf948af5a5a5095bf9dd2a70d363654e";
    assert_eq!(hex(export.key().as_bytes()), key);
    assert_eq!(hex(&export.iv().as_bytes()[..16]), "ef204b3d003a9207cb8fd99f91dbe025");
    assert_eq!(export.iv().as_bytes().len(), 32);
}

#[test]
fn other_files_are_refused_in_one_sentence() {
    let given: [(&[u8], StoreKind, &str); 7] = [
        (b"Keyring aws version:1.0", StoreKind::AwsPlugin, "AWS KMS"),
        (br#"{"vault_url":"https://v"}"#, StoreKind::VaultConfig, "Vault"),
        (br#"{"read_local_config":true}"#, StoreKind::ComponentConfig, "keyring's configuration"),
        (br#"{"components":"file://component_keyring_file"}"#, StoreKind::Manifest, "component_keyring_file.cnf"),
        (b"Salted__12345678", StoreKind::OpensslSalted, "MariaDB"),
        (b"1;5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a", StoreKind::MariaDbPlain, "MariaDB"),
        (&[&[0, 0, 0, 32][..], &[7; 96]].concat(), StoreKind::CfpExportKey, ".cfp"),
    ];
    for (bytes, wanted, message) in given {
        let error = MysqlKeyring::load(bytes).unwrap_err();
        assert!(matches!(error, Error::WrongKind { kind } if kind == wanted), "{error:?}");
        assert!(error.to_string().contains(message), "{error}");
    }
    let unknown = MysqlKeyring::load(&[0x8f; 300]).unwrap_err();
    assert!(matches!(unknown, Error::NotRecognised) && unknown.to_string().contains("Enterprise"));
    let swapped = MariaDbKeys::load(&sample(MYSQL_STORES[0]), None).unwrap_err();
    assert!(matches!(swapped, Error::WrongKind { kind: StoreKind::ComponentFile }));
    let vault = MariaDbKeys::load(br#"{"vault_url":"https://v","token":"t"}"#, None).unwrap_err();
    assert!(matches!(vault, Error::OfMySql) && vault.to_string().contains("give it as the keyring"));
    let option_file = b"[mariadb]\nhashicorp_key_management_vault_url = https://v:8200/v1/db\n";
    let maria = MysqlKeyring::open(option_file).unwrap_err();
    assert!(matches!(maria, Error::OfMariaDb) && maria.to_string().contains("as MariaDB's key file"));
    assert!(matches!(ExportKey::load(b"x"), Err(Error::NotRecognised)));
    assert!(matches!(ExportKey::load(&sample(MYSQL_STORES[0])), Err(Error::WrongKind { .. })));
    let huge = vec![b'#'; usize::try_from(keyring::MAX_STORE_BYTES).unwrap() + 1];
    assert!(matches!(MysqlKeyring::load(&huge), Err(Error::TooLarge { .. })));
    assert!(matches!(MariaDbKeys::load(&huge, None), Err(Error::TooLarge { .. })));
}

#[test]
fn an_empty_file_has_no_keys() {
    let keyring = MysqlKeyring::load(b"").unwrap();
    assert_eq!((keyring.names().count(), keyring.damage(), keyring.locked()), (0, &[][..], true));
    let empty = MysqlKeyring::load(br#"{"version":"1.0","elements":[]}"#).unwrap();
    assert_eq!(empty.names().count(), 0);
    assert!(matches!(MariaDbKeys::load(b"", None), Err(Error::Empty)));
}

#[test]
fn a_truncated_keyring_is_never_partly_loaded() {
    for name in MYSQL_STORES {
        let bytes = sample(name);
        for end in (40..bytes.len()).filter(|end| *end != bytes.len()) {
            let error = MysqlKeyring::load(&bytes[..end]).unwrap_err();
            assert!(matches!(error, Error::Truncated), "{name} cut at {end}: {error:?}");
        }
    }
}

#[test]
fn a_flipped_bit_is_found_where_the_format_has_a_check() {
    // The records and the checksum itself.
    let whole = sample("keyring/synthetic-plugin-file-v2.0");
    let end = whole.len() - 32 - 3;
    for at in (24..end).chain(end + 3..whole.len()) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        assert!(matches!(MysqlKeyring::load(&bytes), Err(Error::Checksum)), "byte {at}");
    }
    let mut bytes = whole;
    bytes[end] ^= 1;
    assert!(matches!(MysqlKeyring::load(&bytes), Err(Error::Truncated)));

    // Version 1.0 has no checksum: only inconsistent lengths are found.
    let mut bytes = sample("keyring/synthetic-plugin-file-v1.0");
    bytes[24 + 0x80] ^= 8;
    assert!(matches!(MysqlKeyring::load(&bytes), Err(Error::Malformed { offset: 152 })));

    let mut json = sample("keyring/mysql97-component-file.json");
    json[29] = b'!';
    assert!(matches!(MysqlKeyring::load(&json), Err(Error::NotJson { line: 1, column: 30 })));
}

#[test]
fn a_damaged_element_leaves_the_others() {
    let mut json = sample("keyring/mysql97-component-file.json");
    let at = json.windows(8).position(|window| window == b"\"data\":\"").unwrap() + 8;
    json[at] = b'g';
    let keyring = MysqlKeyring::load(&json).unwrap();
    assert_eq!(keyring.damage(), [Damage::InvalidElement { index: 0, reason: InvalidReason::Data }]);
    assert!(keyring.get(&format!("INNODBKey-{UUID}-1")).is_none());
    assert!(keyring.get(&format!("INNODBKey-{UUID}-2")).is_some());
    let other = br#"{"version":"2.0","elements":[]}"#;
    assert!(matches!(MysqlKeyring::load(other), Err(Error::UnknownVersion)));
}

#[test]
fn passwords_of_key_files_are_checked() {
    let encrypted = sample("keyring/mariadb1011-keyfile.enc");
    assert!(matches!(MariaDbKeys::load(&encrypted, None), Err(Error::NeedsPassword)));
    let known = |password: &[u8], bytes: &[u8]| MariaDbKeys::load_derived(bytes, Some(password), Derivation::default());
    assert!(known(&password(), &encrypted).is_ok());
    assert!(matches!(known(b"wrong", &encrypted), Err(Error::WrongPassword)));
    assert!(matches!(known(b"", &encrypted), Err(Error::WrongPassword)));
    let with_nul = [&password()[..], b"\0ignored"].concat();
    assert!(known(&with_nul, &encrypted).is_ok());
    assert!(matches!(known(&[b'x'; 257], &encrypted), Err(Error::PasswordTooLong { limit: 256 })));
    assert!(matches!(known(&[&[b'x'; 256][..], b"\r\n"].concat(), &encrypted), Err(Error::WrongPassword)));
    assert!(matches!(known(&password(), &encrypted[..encrypted.len() - 1]), Err(Error::Truncated)));
    // Whole blocks are missing, and with them the padding.
    assert!(matches!(known(&password(), &encrypted[..encrypted.len() - 16]), Err(Error::WrongPassword)));
    let mut flipped = encrypted;
    flipped[100] ^= 1;
    assert!(matches!(known(&password(), &flipped), Err(Error::InvalidLine { line: 2, .. })));
    // A plain file ignores the password.
    assert!(known(b"wrong", &sample("keyring/mariadb1011-keyfile")).is_ok());
}

#[test]
fn a_wrong_password_is_reported_after_all_derivations_are_tried() {
    let encrypted = sample("keyring/mariadb1011-keyfile.enc");
    assert!(matches!(MariaDbKeys::load(&encrypted, Some(b"wrong")), Err(Error::WrongPassword)));
}

#[test]
fn invalid_lines_of_key_files_are_refused() {
    let load = |text: &str| MariaDbKeys::load(text.as_bytes(), None);
    let key = "ab".repeat(16);
    let invalid = load(&format!("1;{key}\n# two\n3;xyz\n")).unwrap_err();
    assert!(matches!(invalid, Error::InvalidLine { line: 3, reason: InvalidReason::Data }));
    let first = load(&format!("x\n1;{key}\n")).unwrap_err();
    assert!(matches!(first, Error::InvalidLine { line: 1, reason: InvalidReason::Id }));
    assert!(matches!(load("# nothing\n"), Err(Error::NoKeyLine)));
    let without_first = load(&format!("2;{key}")).unwrap();
    assert_eq!(without_first.damage(), [Damage::NoSystemKey]);
    let twice = load(&format!("1;{key}\n1;{}\n", "cd".repeat(16))).unwrap();
    assert_eq!(twice.damage(), [Damage::Duplicate { id: "1".to_owned() }]);
    assert_eq!(twice.get(1, 1).unwrap().as_bytes(), [0xcd; 16], "the last counts");
    let versions = load(&format!("1;1;{key}\n1;2;{}\n", "cd".repeat(32))).unwrap();
    assert_eq!(versions.damage(), []);
    assert_eq!(versions.get(1, 2).unwrap().as_bytes(), [0xcd; 32]);
}

#[test]
fn debug_shows_no_keys() {
    let export = ExportKey::load(&sample("export/mysql97-16k-encrypted.cfp")).unwrap();
    let keys = MariaDbKeys::load(&sample("keyring/mariadb1011-keyfile"), None).unwrap();
    let shown = format!("{:?} {keys:?} {export:?}", mysql(MYSQL_STORES[0])).to_lowercase();
    for key in [MASTER, "3550199a9949b21c7a1092ee733dc50b", "3a330db7e72a1529928d59ebf39bf92a"] {
        assert!(!shown.contains(&key[..32]));
        let decimal: Vec<_> = (0..32).step_by(2).map(|at| u8::from_str_radix(&key[at..at + 2], 16).unwrap()).collect();
        assert!(!shown.contains(format!("{decimal:?}").trim_matches(['[', ']'])));
    }
    assert_eq!(format!("{:?}", export.key()), "Key");
}

fn loads(bytes: &[u8]) {
    let _ = MysqlKeyring::load(bytes);
    let _ = MariaDbKeys::load(bytes, None);
    let _ = MariaDbKeys::load_derived(bytes, Some(b"x"), Derivation::default());
    let _ = ExportKey::load(bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_cause_no_panic(
        head in prop::sample::select(vec![
            "", "Keyring file version:1.0", "Keyring file version:2.0", "Salted__", "{\"elements\":[", "1;", "\0\0\0\x20",
        ]),
        bytes in proptest::collection::vec(any::<u8>(), 0..2000),
    ) {
        loads(&[head.as_bytes(), &bytes].concat());
    }

    #[test]
    fn mutated_stores_cause_no_panic(
        name in prop::sample::select(vec![
            MYSQL_STORES[0],
            MYSQL_STORES[1],
            MYSQL_STORES[2],
            "keyring/mariadb1011-keyfile",
            "keyring/mariadb1011-keyfile.enc",
            "export/mysql97-16k-encrypted.cfp",
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
        loads(&bytes);
        let _ = MariaDbKeys::load_derived(&bytes, Some(&password()), Derivation::default());
    }

    /// A file written in the component's format parses to the same keys.
    #[test]
    fn component_files_round_trip(keys in proptest::collection::btree_map("[A-Za-z0-9_-]{1,40}", any::<[u8; 32]>(), 0..20)) {
        let elements: Vec<_> = keys
            .iter()
            .map(|(name, key)| format!(r#"{{"user":"","data_id":"{name}","data_type":"AES","data":"{}","extension":[]}}"#, hex(key)))
            .collect();
        let keyring = MysqlKeyring::load(format!(r#"{{"version":"1.0","elements":[{}]}}"#, elements.join(",")).as_bytes()).unwrap();
        prop_assert_eq!(keyring.names().collect::<Vec<_>>(), keys.keys().collect::<Vec<_>>());
        for (name, key) in &keys {
            prop_assert_eq!(keyring.get(name).unwrap().as_bytes(), key);
        }
    }
}
