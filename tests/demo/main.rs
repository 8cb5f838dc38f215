//! `make demo`: two real servers, each encrypted as far as its owner believed, and the result of `sealant audit` on
//! them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a demonstration talks to people")]

use std::path::Path;
use std::process::{Command, ExitCode};

use harness::{KeyringLocation, Kind, Server};

/// A key file for `file_key_management`, with a throw-away key.
const MARIADB_KEYS: &str = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n";

fn main() -> ExitCode {
    match demo(Path::new("demo")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("demo: {e}");
            ExitCode::FAILURE
        }
    }
}

fn demo(directory: &Path) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(directory)?;
    println!("Starting MySQL 9.7 with a keyring, and switching encryption on the way most guides say.");
    let mysql = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).start()?;
    mysql.sql(&orders("ENCRYPTION='N'"))?;
    mysql.sql(
        "SET PERSIST default_table_encryption=ON; ALTER TABLE shop.orders ENCRYPTION='Y'; \
         ALTER TABLESPACE mysql ENCRYPTION='Y'; SET PERSIST innodb_redo_log_encrypt=ON; \
         SET PERSIST innodb_undo_log_encrypt=ON; SET PERSIST binlog_encryption=ON; \
         CREATE TABLE shop.invoices (id INT PRIMARY KEY, amount INT); \
         CREATE USER app@'%' IDENTIFIED BY 'Demo-1-password'",
    )?;
    println!("Starting MariaDB 10.11 with every encryption variable ON.");
    let mariadb = Server::builder(Kind::MariaDb1011)
        .mariadb_keys(MARIADB_KEYS)
        .options(["--innodb-encrypt-tables=ON", "--innodb-encrypt-log=ON", "--encrypt-binlog=ON", "--log-bin=mbin"])
        .option("--aria-encrypt-tables=ON")
        .start()?;
    mariadb.sql(&orders(""))?;

    audit(&mysql, directory, "mysql")?;
    audit(&mariadb, directory, "mariadb")?;
    println!("\nReports: demo/mysql.html, demo/mariadb.html; for scripts: demo/mysql.json, demo/mariadb.json");
    Ok(())
}

fn orders(options: &str) -> String {
    let rows = vec!["('a customer''s address, in clear')"; 500].join(",");
    format!(
        "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(200)) {options}; \
         INSERT INTO shop.orders(v) VALUES {rows}; UPDATE shop.orders SET v = CONCAT('moved: ', v)"
    )
}

fn audit(server: &Server, directory: &Path, name: &str) -> Result<(), Box<dyn std::error::Error>> {
    let status = Command::new(binary()?)
        .args(["audit", "--user", "root", "--socket"])
        .arg(server.socket())
        .arg("--html")
        .arg(directory.join(format!("{name}.html")))
        .arg("--json")
        .arg(directory.join(format!("{name}.json")))
        .status()?;
    match status.code() {
        // 3: it found what the demo left open.
        Some(0 | 3) => Ok(()),
        _ => Err(format!("sealant audit ended with {status}").into()),
    }
}

/// Path of the `sealant` binary beside this example: `target/debug/examples/demo`, `target/debug/sealant`.
fn binary() -> Result<std::path::PathBuf, std::io::Error> {
    let here = std::env::current_exe()?;
    let directory = here.parent().and_then(Path::parent).unwrap_or_else(|| Path::new("."));
    Ok(directory.join("sealant"))
}
