//! Runs `sealant rotate` on its own server, and opens the resulting backups.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use agefile::{Decryptor, Identity};
use harness::{KeyringLocation, Kind, Server, ServerBuilder};
use serde_json::Value;

use super::proof::Proof;
use super::schema::has_its_schema;
use super::sealant;

/// A MySQL with all encryption switched on.
pub(crate) fn encrypting() -> ServerBuilder {
    let options = [
        "--innodb-redo-log-encrypt=ON",
        "--innodb-undo-log-encrypt=ON",
        "--log-bin=binlog",
        "--binlog-encryption=ON",
        "--default-table-encryption=ON",
    ];
    Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).options(options)
}

/// Tables, a general tablespace, the dictionary, several binary logs, and a procedure that writes until it is killed.
pub(crate) const TABLES: &str = "CREATE DATABASE demo; USE demo;
    CREATE TABLE enc (id INT PRIMARY KEY, name VARCHAR(600));
    INSERT INTO enc WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 900)
    SELECT n, REPEAT(CONCAT('row ', n, ' '), 40) FROM s;
    CREATE TABLE zip (id INT PRIMARY KEY, name VARCHAR(600)) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4;
    INSERT INTO zip SELECT * FROM enc;
    CREATE TABLESPACE general ADD DATAFILE 'general.ibd' ENCRYPTION='Y';
    CREATE TABLE inside (id INT PRIMARY KEY) TABLESPACE general; INSERT INTO inside SELECT id FROM enc;
    ALTER TABLESPACE mysql ENCRYPTION='Y';
    CREATE TABLE written (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200));
    FLUSH LOGS; DELETE FROM enc WHERE id > 800; FLUSH LOGS;
DELIMITER //
CREATE PROCEDURE more_tables(tables INT) BEGIN
    WHILE tables > 0 DO
        SET @make = CONCAT('CREATE TABLE many_', tables, ' (id INT PRIMARY KEY)');
        PREPARE make FROM @make; EXECUTE make; SET tables = tables - 1;
    END WHILE;
END //
CREATE PROCEDURE busy() BEGIN
    WHILE TRUE DO INSERT INTO written (v) VALUES (REPEAT('w', 150)); DO SLEEP(0.005); END WHILE;
END //
DELIMITER ;
";

/// A server, and directories for backups and the register.
pub(crate) struct Rotating {
    pub(crate) server: Server,
    pub(crate) directory: tempfile::TempDir,
    identity: Identity,
}

/// Result of a run.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    fn new(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("no JSON: {e}\n{}\n{}", self.stdout, self.stderr))
    }

    /// Asserts that everything was done and proven.
    #[track_caller]
    pub(crate) fn is_done(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}\n{}", self.stdout, self.stderr);
        let json = self.json();
        has_its_schema(&json, "rotate-1");
        assert_eq!(json["done"], true);
        json
    }

    /// Whether nothing was left to do: the previous run was killed between its last log entry and its exit, so this run
    /// refuses to overwrite its result.
    pub(crate) fn had_ended_before(&self) -> bool {
        self.code == Some(1) && self.stderr.contains("already exists")
    }

    /// Asserts that the run was refused for this reason.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, reason: &str, hint: &str) {
        assert_eq!(self.code, Some(code), "{}\n{}", self.stdout, self.stderr);
        assert!(self.stderr.contains(reason) && self.stderr.contains(hint), "{}", self.stderr);
    }
}

impl Rotating {
    pub(crate) fn on(server: Server) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let identity = Identity::generate().expect("an identity");
        fs::write(directory.path().join("identity"), identity.to_secret_text()).expect("written");
        Self { server, directory, identity }
    }

    /// Creates the server with tables.
    pub(crate) fn begin() -> Self {
        let server = encrypting().start().expect("MySQL starts");
        server.sql(TABLES).expect("tables are made");
        Self::on(server)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn keyring(&self) -> PathBuf {
        self.server.dir().join("keyring")
    }

    pub(crate) fn recipient(&self) -> String {
        self.identity.recipient().to_string()
    }

    /// `sealant rotate run … --yes --format json`, with a backup of this name.
    pub(crate) fn command(&self, backup: &str, more: &[&str]) -> Command {
        let mut command = self.bare(&["run", "--yes", "--format", "json"]);
        command.arg("--log").arg(self.path("statements"));
        command.args(["--user", "root", "--recipient", &self.recipient()]);
        command.arg("--keyring-backup").arg(self.path(backup)).args(more);
        command
    }

    /// `sealant rotate …` on this server.
    pub(crate) fn bare(&self, args: &[&str]) -> Command {
        let mut command = sealant();
        command.current_dir(self.directory.path()).arg("rotate").args(args);
        command.arg("--socket").arg(self.server.socket()).arg("--state-dir").arg(self.path("state"));
        command
    }

    pub(crate) fn run(&self, backup: &str, more: &[&str]) -> Ended {
        end(self.command(backup, more))
    }

    /// Asserts that the register records the last run as finished.
    #[track_caller]
    pub(crate) fn has_no_unfinished_run(&self) {
        let mut paths =
            fs::read_dir(self.path("state")).expect("a directory").map(|entry| entry.expect("an entry").path());
        let path = paths.find(|path| path.extension().is_some_and(|is| is == "json")).expect("a register");
        let register: Value = serde_json::from_slice(&fs::read(path).expect("read")).expect("JSON");
        assert!(register["last_rotated"].is_object() && register["unfinished"].is_null(), "{register:#}");
    }

    /// Decrypts a backup, by `age -d` if that is installed, or else by the library.
    pub(crate) fn open(&self, backup: &str) -> Vec<u8> {
        let path = self.path(backup);
        match Command::new("age").arg("-d").arg("-i").arg(self.path("identity")).arg(&path).output() {
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                output.stdout
            }
            Err(_) => {
                let file = fs::File::open(&path).expect("a backup");
                let identities = std::slice::from_ref(&self.identity);
                let mut opened = Vec::new();
                let mut reader = Decryptor::new(file, identities).expect("it is for this identity");
                reader.read_to_end(&mut opened).expect("whole");
                opened
            }
        }
    }

    /// Asserts, with `sealant verify`, that this backup opens everything that is encrypted.
    #[track_caller]
    pub(crate) fn opens_everything(&self, backup: &str) -> Proof {
        let copy = self.path("decrypted");
        fs::write(&copy, self.open(backup)).expect("written");
        let proof = Proof::mysql(&[self.server.datadir()], Some(&copy));
        proof.is_sound();
        proof
    }

    /// Number of the newest InnoDB master key in the keyring.
    pub(crate) fn newest(&self) -> u32 {
        let text = fs::read_to_string(self.keyring()).expect("a keyring");
        let numbers =
            text.split('"').filter_map(|part| part.strip_prefix("INNODBKey-")?.rsplit_once('-')?.1.parse().ok());
        numbers.max().unwrap_or(0)
    }

    /// The keys in the keyring, as it stores them.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let text = fs::read_to_string(self.keyring()).expect("a keyring");
        let keys = text.split('"').filter(|part| part.len() == 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit()));
        keys.map(str::to_ascii_lowercase).collect()
    }

    /// Names of the files in the directory for backups.
    pub(crate) fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).expect("a directory");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        let current = ["identity", "statements", "state", "decrypted", "page.html"];
        let mut left: Vec<String> = names.filter(|name| !current.contains(&name.as_str())).collect();
        left.sort();
        left
    }
}

pub(crate) fn end(mut command: Command) -> Ended {
    Ended::new(&command.output().expect("the binary starts"))
}

/// Permissions of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}
