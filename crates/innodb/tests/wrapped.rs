//! Keys re-wrapped with another master key: encrypted data stays unchanged, and the new master key opens it.

mod common;

use common::{keys_of, sample, samples};
use innodb::{
    MasterKeyId,
    crypt::{
        mysql::UnwrapFault,
        redo::{key_records::KeyRecords, mysql::MySqlBlockCipher},
        wrapped::{HEAD_BYTES, RewrapFault, Secret, Wrapped, rewrap},
    },
    keys::{KeySource, MasterKey},
    page::checksum::Checksum,
    tablespace::Page0,
    verify::redo::key_info,
};
use zeroize::Zeroizing;

const UUID: &str = "11111111-2222-3333-4444-555555555555";

fn master() -> MasterKey {
    MasterKey { server_uuid: UUID.to_owned(), number: 7, key: Zeroizing::new([0x5a; 32]) }
}

/// A keyring with nothing but the new master key, for tablespaces and for logs.
struct OwnKeys;

impl KeySource for OwnKeys {
    fn mysql(&self, name: &str) -> Option<Zeroizing<[u8; 32]>> {
        let current = [format!("INNODBKey-{UUID}-7"), format!("MySQLReplicationKey_{UUID}_7")];
        current.iter().any(|current| current == name).then(|| master().key)
    }

    fn mysql_numbered(&self, _: MasterKeyId) -> Vec<Zeroizing<[u8; 32]>> {
        Vec::new()
    }

    fn mariadb(&self, _: u32, _: innodb::KeyVersion) -> Option<Zeroizing<Vec<u8>>> {
        None
    }

    fn has_mysql(&self) -> bool {
        true
    }

    fn has_mariadb(&self) -> bool {
        false
    }
}

fn head_of(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len().min(HEAD_BYTES)].to_vec()
}

/// Bytes that differ.
fn changed(one: &[u8], other: &[u8]) -> Vec<usize> {
    one.iter().zip(other).enumerate().filter(|(_, (one, other))| one != other).map(|(at, _)| at).collect()
}

#[test]
fn every_tablespace_opens_with_the_new_master_key_alone() {
    let mut files = 0;
    for (name, bytes) in samples("tablespace").into_iter().filter(|(name, _)| !name.contains("lCA")) {
        let head = head_of(&bytes);
        let Some(wrapped) = Wrapped::find(&head) else { continue };
        let secret = wrapped.unwrap(&head, &keys_of(&name)).unwrap();
        let before = Page0::parse(&head).unwrap();
        let mut again = head.clone();
        rewrap(&mut again, &secret, &master(), [0; 16]).unwrap();
        let found = Wrapped::find(&again).unwrap();
        assert_eq!(found.master_key_name(), format!("INNODBKey-{UUID}-7"), "{name}");
        assert_eq!(found.unwrap(&again, &OwnKeys).unwrap().expose(), secret.expose(), "{name}");
        assert_eq!(found.unwrap(&again, &keys_of(&name)).unwrap_err(), UnwrapFault::Missing, "{name}");
        let after = Page0::parse(&again).unwrap();
        assert_eq!((before.checksum, before.flags), (after.checksum, after.flags), "{name}");
        assert_ne!(after.checksum, Checksum::Mismatch, "{name}");
        let changed = changed(&head, &again);
        assert!(changed.len() <= 4 + 36 + 64 + 8, "{name}: {} bytes changed", changed.len());
        files += 1;
    }
    assert!(files >= 20, "{files} files");
}

#[test]
fn a_page_0_that_is_damaged_old_or_of_another_key_stays_as_it_is() {
    let name = "mysql97-16k-encrypted.ibd";
    let mut head = head_of(&sample(&format!("tablespace/{name}")));
    let secret = Wrapped::find(&head).unwrap().unwrap(&head, &keys_of(name)).unwrap();
    let refused = |mut head: Vec<u8>, secret: &Secret, fault| {
        let before = head.clone();
        assert_eq!(rewrap(&mut head, secret, &master(), [0; 16]), Err(fault));
        assert_eq!(head, before);
    };
    let mut damaged = head.clone();
    damaged[200] ^= 1;
    refused(damaged, &secret, RewrapFault::Damaged);
    refused(head.clone(), &Secret::from_bytes(&[1; 64]).unwrap(), RewrapFault::OtherKey);
    refused(head.clone(), &Secret::from_bytes(&[1; 32]).unwrap(), RewrapFault::OtherKey);
    refused(head_of(&sample("tablespace/mysql97-16k-clear.ibd")), &secret, RewrapFault::None);
    let old = "synthetic-lCA-serverid951.ibd";
    let old_head = head_of(&sample(&format!("tablespace/{old}")));
    let old_secret = Wrapped::find(&old_head).unwrap().unwrap(&old_head, &keys_of(old)).unwrap();
    refused(old_head, &old_secret, RewrapFault::Old);
    let unnamed = MasterKey { server_uuid: "x".repeat(36), ..master() };
    assert_eq!(rewrap(&mut head, &secret, &unnamed, [0; 16]), Err(RewrapFault::Name));
}

#[test]
fn binary_logs_open_with_the_new_master_key_alone() {
    for name in ["mysql97-encrypted-7-events", "mysql97-encrypted-13-events", "mysql97-encrypted-83-events"] {
        let head = head_of(&sample(&format!("binlog/{name}")));
        let wrapped = Wrapped::find(&head).unwrap();
        let secret = wrapped.unwrap(&head, &keys_of(name)).unwrap();
        let mut again = head.clone();
        rewrap(&mut again, &secret, &master(), [9; 16]).unwrap();
        let found = Wrapped::find(&again).unwrap();
        assert_eq!(found.master_key_name(), format!("MySQLReplicationKey_{UUID}_7"));
        assert_eq!(found.unwrap(&again, &OwnKeys).unwrap().expose(), secret.expose());
        assert_eq!(head[512..], again[512..], "{name}");
        let other = Secret::from_bytes(&[1; 32]).unwrap();
        assert_eq!(rewrap(&mut head.clone(), &other, &master(), [9; 16]), Err(RewrapFault::OtherKey));
        let wrong = wrapped.unwrap(&head, &keys_of(name).all_wrong()).unwrap_err();
        assert_eq!(wrong, UnwrapFault::Wrong);
    }
}

#[test]
fn the_header_of_a_redo_log_opens_with_the_new_master_key_alone() {
    let head = head_of(&sample("redo/mysql97-mixed"));
    let wrapped = Wrapped::find(&head).unwrap();
    assert!(matches!(wrapped, Wrapped::Redo(_)));
    let secret = wrapped.unwrap(&head, &keys_of("mysql97-mixed")).unwrap();
    let mut again = head.clone();
    rewrap(&mut again, &secret, &master(), [0; 16]).unwrap();
    let found = Wrapped::find(&again).unwrap();
    assert_eq!(found.unwrap(&again, &OwnKeys).unwrap().expose(), secret.expose());
    assert!(changed(&head, &again).iter().all(|at| (1024 + 48..1024 + 48 + 111).contains(at)));
}

#[test]
fn wrapped_keys_that_recovery_would_write_are_found_in_the_log() {
    let mut log = sample("redo/mysql97-mixed");
    let info = key_info(&log[..2048]).unwrap();
    let key = info.key.unwrap(&keys_of("mysql97-mixed")).unwrap();
    let cipher = MySqlBlockCipher::new(&key).unwrap();
    let start = innodb::redo::mysql_start_lsn(&log[..2048]).unwrap();
    // Tables were encrypted while this file was written, so it holds their keys, in encrypted and in clear blocks.
    assert!(KeyRecords::new(start, Some(&cipher)).search(&log, &mut || ()).unwrap());
    // The last block holds no key.
    let used = log[2048..].chunks_exact(512).take_while(|block| block[..4] != [0; 4]).count();
    let last = innodb::Lsn(start.0 + (used as u64 - 1) * 512);
    assert!(!KeyRecords::new(last, Some(&cipher)).search(&log, &mut || ()).unwrap());
    // Blocks that cannot be decrypted count as if they held a key.
    let encrypted = log[2048..].chunks_exact(512).position(|block| block[4] & 0x80 != 0).unwrap();
    let lsn = innodb::Lsn(start.0 + encrypted as u64 * 512);
    assert!(KeyRecords::new(lsn, None).search(&log, &mut || ()).unwrap());
    // A file from before the checkpoint is not read.
    log.truncate(4096);
    let behind = innodb::Lsn(start.0 + (1 << 40));
    assert!(!KeyRecords::new(behind, None).search(&log, &mut || ()).unwrap());
}
