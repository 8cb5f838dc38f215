//! Tables of real servers, created once and kept.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use harness::{KeyringLocation, Kind, Server, require};
use verify::Keys;

/// An encrypted and a clear table of each server, with their keys.
pub(crate) struct Tables {
    pub(crate) directory: PathBuf,
    pub(crate) mysql_encrypted: PathBuf,
    pub(crate) mysql_clear: PathBuf,
    pub(crate) mariadb_encrypted: PathBuf,
    pub(crate) mariadb_clear: PathBuf,
    keyring: PathBuf,
    key_file: PathBuf,
}

const MIB: u64 = 1 << 20;
/// Rows per statement: few enough for the statement's time limit.
const MOST_ROWS: u64 = 100_000;
const KEY: &str = "1;000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
/// For quick inserts: nothing has to survive a crash.
const OPTIONS: [&str; 3] =
    ["--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--innodb-buffer-pool-size=512M"];

/// Tables of that many MiB each; `None` if a server is not installed on this machine.
pub(crate) fn tables(mib: u64) -> Option<Tables> {
    let (mysql, mariadb) = (require(Kind::MySql97)?, require(Kind::MariaDb1011)?);
    let name = format!("verify-{mib}-{}-{}", mysql.version, mariadb.version);
    let directory = harness::cache().join("bench").join(name);
    let tables = Tables::below(directory);
    if !tables.directory.exists() {
        let unfinished = Tables::below(tables.directory.with_extension("new"));
        let _ = fs::remove_dir_all(&unfinished.directory);
        fs::create_dir_all(&unfinished.directory).expect("a directory");
        unfinished.make(mib);
        fs::rename(&unfinished.directory, &tables.directory).expect("renamed");
    }
    Some(tables)
}

impl Tables {
    fn below(directory: PathBuf) -> Self {
        let file = |name: &str| directory.join(name);
        Self {
            mysql_encrypted: file("mysql-encrypted.ibd"),
            mysql_clear: file("mysql-clear.ibd"),
            mariadb_encrypted: file("mariadb-encrypted.ibd"),
            mariadb_clear: file("mariadb-clear.ibd"),
            keyring: file("keyring"),
            key_file: file("keys.txt"),
            directory,
        }
    }

    /// Keys of both servers.
    pub(crate) fn keys(&self) -> Keys {
        let mut keys = Keys::default();
        keys.add_keyring(&self.keyring).expect("a keyring");
        keys.add_key_file(&self.key_file, None).expect("a key file");
        keys
    }

    /// The keys as options of the command line.
    pub(crate) fn key_options(&self) -> [OsString; 4] {
        ["--keyring".into(), self.keyring.clone().into(), "--mariadb-key-file".into(), self.key_file.clone().into()]
    }

    pub(crate) fn all(&self) -> Vec<PathBuf> {
        [&self.mysql_encrypted, &self.mysql_clear, &self.mariadb_encrypted, &self.mariadb_clear]
            .map(PathBuf::clone)
            .to_vec()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.all().iter().map(|path| length(path)).sum()
    }

    pub(crate) fn encrypted_bytes(&self) -> u64 {
        length(&self.mysql_encrypted) + length(&self.mariadb_encrypted)
    }

    fn make(&self, mib: u64) {
        let mysql = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).options(OPTIONS);
        let mut mysql = mysql.options(["--skip-log-bin", "--innodb-redo-log-capacity=256M"]).start().expect("MySQL");
        fill(&mysql, mib, ["ENCRYPTION='Y'", "ENCRYPTION='N'"]);
        mysql.stop().expect("stopped");
        take(&mysql, [&self.mysql_encrypted, &self.mysql_clear]);
        fs::copy(mysql.dir().join("keyring"), &self.keyring).expect("copied");
        drop(mysql);

        let mariadb = Server::builder(Kind::MariaDb1011).mariadb_keys(KEY).options(OPTIONS);
        let mut mariadb = mariadb.option("--innodb-log-file-size=256M").start().expect("MariaDB");
        fill(&mariadb, mib, ["ENCRYPTED=YES", "ENCRYPTED=NO"]);
        mariadb.stop().expect("stopped");
        take(&mariadb, [&self.mariadb_encrypted, &self.mariadb_clear]);
        fs::write(&self.key_file, KEY).expect("written");
    }
}

const NAMES: [&str; 2] = ["encrypted", "clear"];

fn fill(server: &Server, mib: u64, options: [&str; 2]) {
    server.sql("CREATE DATABASE bench").expect("a schema");
    for (name, option) in NAMES.iter().zip(options) {
        let table = format!("bench.{name}");
        let first = format!(
            "CREATE TABLE {table} (id BIGINT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(1000) NOT NULL) {option};
             INSERT INTO {table} (v) WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
             SELECT RPAD('', 900, SHA2(i, 512)) FROM n;"
        );
        server.sql(&first).expect("a table");
        let path = server.datadir().join("bench").join(format!("{name}.ibd"));
        double(server, &table, &path, mib * MIB);
    }
}

/// Adds rows until the file has that many bytes.
fn double(server: &Server, table: &str, path: &Path, bytes: u64) {
    loop {
        let (now, rows) =
            (length(path).max(1), server.value(&format!("SELECT COUNT(*) FROM {table}")).expect("a count"));
        if now >= bytes {
            return;
        }
        let rows: u64 = rows.parse().expect("a number");
        let more = (rows * (bytes - now) / now + 1).min(rows).min(MOST_ROWS);
        server.sql(&format!("INSERT INTO {table} (v) SELECT v FROM {table} LIMIT {more}")).expect("more rows");
    }
}

fn take(server: &Server, to: [&PathBuf; 2]) {
    for (name, to) in NAMES.iter().zip(to) {
        let from = server.datadir().join("bench").join(format!("{name}.ibd"));
        if fs::rename(&from, to).is_err() {
            fs::copy(&from, to).expect("copied");
        }
    }
}

/// Copies of one file, removed with this value.
pub(crate) struct Copies {
    pub(crate) files: Vec<PathBuf>,
    directory: PathBuf,
}

impl Copies {
    pub(crate) fn make(file: &Path, count: usize) -> Self {
        let directory = file.with_file_name("copies");
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).expect("a directory");
        let files: Vec<PathBuf> = (0..count).map(|n| directory.join(format!("copy{n}.ibd"))).collect();
        for to in &files {
            copy(file, to);
        }
        Self { files, directory }
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Copies all bytes: shared blocks would be read from one place on the disk.
fn copy(from: &Path, to: &Path) {
    let (mut from, mut to) = (fs::File::open(from).expect("open"), fs::File::create(to).expect("created"));
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = from.read(&mut buffer).expect("read");
        if read == 0 {
            return;
        }
        std::io::Write::write_all(&mut to, &buffer[..read]).expect("written");
    }
}

/// The first bytes of a file.
pub(crate) fn head(path: &Path, bytes: usize) -> Vec<u8> {
    let mut head = Vec::new();
    fs::File::open(path).expect("open").take(bytes as u64).read_to_end(&mut head).expect("read");
    head
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}
