//! `sealant verify` on files of MySQL in states that are easily mistaken for damage, and on damage that is easily
//! overlooked.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use harness::{KeyringLocation, Kind, Server, ServerBuilder, limit, require, wait_until};

use crate::support::proof::{Proof, Statements, flip, write};

const PAGE: u64 = 16384;

fn server(set_up: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Option<Server> {
    require(Kind::MySql97)?;
    let builder = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside);
    Some(set_up(builder).start().expect("MySQL starts"))
}

fn proof(server: &Server) -> Proof {
    Proof::mysql(&[server.datadir()], Some(&server.dir().join("keyring")))
}

fn rows(count: u32) -> String {
    format!(
        "SET SESSION cte_max_recursion_depth = {count};
         CREATE DATABASE demo; USE demo; CREATE TABLE source (id INT PRIMARY KEY, name VARCHAR(1000));
         INSERT INTO source WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < {count})
         SELECT n, REPEAT(SHA2(n, 512), 6) FROM s;"
    )
}

/// Pages in the new form reach the disk before page 0 does; a server that stops in between continues at its next start.
#[test]
fn a_tablespace_killed_while_it_is_encrypted_or_decrypted_is_not_damaged() {
    // MySQL 9.7 logs the conversion that it continues while it still begins its new binary log, and can write both to
    // one place: the log is then truly damaged, or the server crashes.
    let Some(mut server) = server(|builder| builder.option("--skip-log-bin")) else { return };
    let table = "CREATE TABLESPACE ts ADD DATAFILE 'ts.ibd' ENCRYPTION='N';
        CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(1000)) TABLESPACE ts ENCRYPTION='N'; INSERT INTO t SELECT * FROM source";
    server.sql(&format!("{} {table}", rows(10_000))).expect("tables are made");
    // Keys are read before files: the first key must not be created while a running server is verified.
    server.sql("ALTER INSTANCE ROTATE INNODB MASTER KEY").expect("there is a key");
    for (step, wait) in [("Y", 60), ("N", 60)] {
        let alter = Statements::begin(&server, &format!("ALTER TABLESPACE ts ENCRYPTION='{step}'"));
        // Chooses the moment of the kill.
        sleep(Duration::from_millis(wait));
        proof(&server).is_sound();
        server.kill();
        drop(alter);
        proof(&server).is_sound();
        server.start().expect("it starts and goes on");
        proof(&server).is_sound();
        // Refused while the server itself completes its conversion.
        let alter = format!("ALTER TABLESPACE ts ENCRYPTION='{step}'");
        wait_until("the server is through", limit(120), || server.sql(&alter));
    }
    server.stop().expect("it stops");
    proof(&server).is_complete();
    assert_eq!(proof(&server).verdict("/ts.ibd"), "clear");
}

/// A plaintext page that is not newer than the checkpoint cannot come from a decryption.
#[test]
fn a_clear_page_in_a_stopped_servers_encrypted_tablespace_is_damage() {
    let Some(mut server) = server(|builder| builder) else { return };
    let tables =
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(1000)) ENCRYPTION='Y'; INSERT INTO t SELECT * FROM source;
        CREATE TABLE c (id INT PRIMARY KEY, name VARCHAR(1000)); INSERT INTO c SELECT * FROM source";
    server.sql(&format!("{} {tables}", rows(500))).expect("tables are made");
    server.stop().expect("it stops");
    let [encrypted, clear] = ["t", "c"].map(|name| server.datadir().join(format!("demo/{name}.ibd")));
    let (mut page, mut current) = (vec![0; 16384], vec![0; 16384]);
    File::open(&clear).unwrap().read_exact_at(&mut page, 5 * PAGE).unwrap();
    File::open(&encrypted).unwrap().read_exact_at(&mut current, 5 * PAGE).unwrap();
    page[34..38].copy_from_slice(&current[34..38]);
    write(&encrypted, 5 * PAGE, &page);
    current[34..38].copy_from_slice(&{
        let mut space = [0; 4];
        File::open(&clear).unwrap().read_exact_at(&mut space, 38).unwrap();
        space
    });
    write(&clear, 5 * PAGE, &current);
    let proof = proof(&server);
    for (name, check) in [("demo/t.ibd", "clear-unit"), ("demo/c.ibd", "encrypted-unit")] {
        let file = proof.file(name);
        assert_eq!((&file["verdict"], &file["findings"][0]["check"]), (&"damaged".into(), &check.into()), "{file:#}");
        assert_eq!((&file["findings"][0]["page"], &file["units"]["bad"]), (&5.into(), &1.into()), "{file:#}");
    }
}

/// Tables that can be moved to another server, by name.
const MOVED: [(&str, &str); 4] = [
    ("enc", "ENCRYPTION='Y'"),
    ("enc_zlib", "COMPRESSION='zlib' ENCRYPTION='Y'"),
    ("enc_kb4", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4 ENCRYPTION='Y'"),
    ("clear_zlib", "COMPRESSION='zlib'"),
];

/// The importing server encrypts even free pages, which are zeros.
#[test]
fn tables_of_one_server_are_proven_in_another() {
    let (Some(mut from), Some(mut to)) = (server(|builder| builder), server(|builder| builder)) else { return };
    let make = |(name, options)| format!("CREATE TABLE {name} (id INT PRIMARY KEY, name VARCHAR(1000)) {options};");
    let tables: String = MOVED.map(make).concat();
    let fill = MOVED.map(|(name, _)| format!("INSERT INTO {name} SELECT * FROM source;")).concat();
    from.sql(&format!("{} {tables} {fill}", rows(3000))).expect("tables are made");
    let discard = MOVED.map(|(name, _)| format!("ALTER TABLE {name} DISCARD TABLESPACE;")).concat();
    to.sql(&format!("CREATE DATABASE demo; USE demo; {tables} {discard}")).expect("tables are made");
    let names = MOVED.map(|(name, _)| name).join(", ");
    let export = Statements::begin(&from, &format!("USE demo; FLUSH TABLES {names} FOR EXPORT; DO SLEEP(600)"));
    let [source, target] = [&from, &to].map(|server| server.datadir().join("demo"));
    let exported = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'";
    wait_until("the export", limit(60), || from.value(exported).expect("it answers") != "0");
    for (name, _) in MOVED {
        for ending in ["ibd", "cfg", "cfp"] {
            let file = format!("{name}.{ending}");
            if source.join(&file).exists() {
                fs::copy(source.join(&file), target.join(&file)).expect("copied");
            }
        }
    }
    // The transfer keys are beside the tables.
    Proof::mysql(&[&to.datadir().join("demo")], None).is_complete();
    from.kill();
    drop(export);
    let import = MOVED.map(|(name, _)| format!("ALTER TABLE {name} IMPORT TABLESPACE;")).concat();
    to.sql(&format!("USE demo; {import} UPDATE enc SET name = '' WHERE id % 9 = 0")).expect("imported");
    to.stop().expect("it stops");
    proof(&to).is_complete();
    assert_eq!(proof(&to).verdict("demo/enc_zlib.ibd"), "ok");
    for (name, _) in MOVED {
        let _ = fs::remove_file(target.join(format!("{name}.cfp")));
    }
    let keyless = Proof::mysql(&[to.datadir()], None);
    assert_eq!(keyless.verdict("demo/enc.ibd"), "unverifiable", "{:#}", keyless.file("demo/enc.ibd"));
    let foreign = Proof::mysql(&[to.datadir()], Some(&from.dir().join("keyring")));
    assert_eq!(foreign.verdict("demo/enc.ibd"), "missing-key");
}

#[test]
fn several_files_of_a_system_tablespace_are_verified_as_one() {
    let path = "--innodb-data-file-path=ibdata1:12M;ibdata2:4M;ibdata3:4M:autoextend";
    let several = |builder: ServerBuilder| builder.init_option(path).option("--innodb-file-per-table=0");
    let Some(mut server) = server(several) else { return };
    let table = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(1000)); INSERT INTO t SELECT * FROM source";
    server.sql(&format!("{} {table}", rows(12_000))).expect("a table is made");
    proof(&server).is_complete();
    server.stop().expect("it stops");
    proof(&server).is_complete();
    flip(&server.datadir().join("ibdata2"), 3 * PAGE + 500, 4);
    let damaged = proof(&server);
    assert_eq!(["/ibdata1", "/ibdata2", "/ibdata3"].map(|name| damaged.verdict(name)), ["clear", "damaged", "clear"]);
    assert_eq!(damaged.file("/ibdata2")["findings"][0]["page"], 3);
}

/// With pages of 4 KiB, the second descriptor page is page 4096.
#[test]
fn a_descriptor_page_that_was_zeroed_is_damage() {
    let Some(mut server) = server(|builder| builder.init_option("--innodb-page-size=4k")) else { return };
    let tables = "CREATE TABLE enc LIKE source; ALTER TABLE enc ENCRYPTION='Y'; INSERT INTO enc SELECT * FROM source;";
    server.sql(&format!("{} {tables}", rows(20_000))).expect("tables are made");
    server.stop().expect("it stops");
    proof(&server).is_complete();
    for name in ["source", "enc"] {
        let path = server.datadir().join(format!("demo/{name}.ibd"));
        write(&path, 4096 * 4096, &[0; 4096]);
        let proof = Proof::mysql(&[&path], Some(&server.dir().join("keyring")));
        let finding = &proof.file(".ibd")["findings"][0];
        assert_eq!((proof.verdict(".ibd"), &finding["page"]), ("damaged", &4096.into()), "{name}");
        assert_eq!(finding["check"], "allocated-zero");
    }
}

#[test]
fn copies_that_no_key_opens_are_not_called_proven() {
    let Some(mut server) = server(|builder| builder.option("--innodb-checksum-algorithm=none")) else { return };
    let tables = MOVED.map(|(name, options)| {
        format!("CREATE TABLE {name} (id INT PRIMARY KEY, name VARCHAR(1000)) {options}; INSERT INTO {name} SELECT * FROM source;")
    });
    let clear = "CREATE TABLE kb4 (id INT PRIMARY KEY, name VARCHAR(1000)) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4;
        INSERT INTO kb4 SELECT * FROM source; UPDATE kb4 SET name = REVERSE(name);";
    // Pages that are changed last are written last, so that no other pages replace their copies.
    let last = "UPDATE enc SET name = REVERSE(name);";
    server.sql(&format!("{} {clear} {} {last}", rows(3000), tables.concat())).expect("tables are made");
    server.stop().expect("it stops");
    proof(&server).is_complete();
    let copies = ["#ib_16384_0.dblwr", "#ib_16384_1.dblwr"].map(|name| server.datadir().join(name));
    let encrypted: PathBuf = copies
        .iter()
        .find(|path| Proof::mysql(&[path], None).files()[0]["units"]["encrypted"] != 0)
        .expect("pages of encrypted tables were written")
        .clone();
    let keyring = server.dir().join("keyring");
    for paths in [&[encrypted.as_path()][..], &[server.datadir()]] {
        assert_eq!(Proof::mysql(paths, None).verdict(text(&encrypted)), "unverifiable", "{paths:?}");
    }
    assert_eq!(
        Proof::mysql(&[&encrypted], Some(&keyring)).verdict(".dblwr"),
        "unverifiable",
        "its tablespaces are not here"
    );
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the harness uses ASCII paths")
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

#[test]
fn damage_does_not_change_the_kind_of_a_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let packed = fs::read(sample("tablespace/mysql97-16k-clear.ibd.zst")).expect("read");
    let bytes = zstd::decode_all(packed.as_slice()).expect("unpacked");
    let file = |name: &str, damage: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        damage(&mut bytes);
        fs::write(dir.path().join(name), bytes).expect("written");
    };
    // The flag that would make it a temporary tablespace, in which damage does not matter.
    file("temporary.ibd", &|bytes| bytes[56] ^= 0x10);
    file("cut.ibd", &|bytes| bytes.truncate(10_000));
    file("undo_001", &|bytes| bytes[..16384].fill(0));
    // A doublewrite file whose first slot holds a page 0.
    file("#ib_16384_0.dblwr", &|_| {});
    file("#ib_16384_2.dblwr", &|bytes| bytes.copy_within(..16384, 3 * 16384));
    symlink("nowhere", dir.path().join("moved.ibd")).expect("linked");
    symlink("circle", dir.path().join("circle")).expect("linked");
    symlink("nowhere", dir.path().join("mysql.sock")).expect("linked");
    let proof = Proof::mysql(&[dir.path()], None);
    for (name, kind, verdict) in [
        ("temporary.ibd", "tablespace", "damaged"),
        ("cut.ibd", "tablespace", "truncated"),
        ("undo_001", "tablespace", "damaged"),
        ("#ib_16384_0.dblwr", "doublewrite", "clear"),
        ("#ib_16384_2.dblwr", "doublewrite", "clear"),
    ] {
        let file = proof.file(name);
        assert_eq!((&file["kind"], &file["verdict"]), (&kind.into(), &verdict.into()), "{file:#}");
    }
    let unread: Vec<&str> =
        proof.json["errors"].as_array().unwrap().iter().filter_map(|e| e["path"].as_str()).collect();
    assert_eq!((unread.len(), proof.code), (1, 1), "{unread:?}");
    assert!(unread[0].ends_with("moved.ibd"));
}
