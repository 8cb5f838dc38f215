//! The commands in the tables of the README and of the index of tasks, run as printed on real servers, copies and
//! disks. Each row that no other test runs is run here, so that a new row runs from the day on which it is written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use harness::{KeyringLocation, Kind, Server, require};

use crate::support::Audit;
use crate::support::backup::Backups;
use crate::support::disk::{Desk, cryptsetup, text};
use crate::support::encryption::sealed_keys;
use crate::support::moving::Receiving;
use crate::support::tunnel::free_port;

/// Throw-away keys of MariaDB's `file_key_management`.
const MARIADB_KEYS: &str = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n\
    2;7550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n";

/// Pages with scripts, of which tests run every line.
const WITH_SCRIPTS: [&str; 2] = ["backup.md", "monitor.md"];

const PAGES: [&str; 2] = [include_str!("../README.md"), include_str!("../docs/README.md")];

/// Rows that need more than one server, a service, a file system or minutes: the beginning of the command, and the test
/// that runs it.
const ELSEWHERE: [(&str, &str); 23] = [
    ("sealant sniff", "sniff::a_signal_ends_it_with_what_was_seen"),
    ("sealant snapshot estimate", "snapshot::the_freeze_is_about_as_long_as_estimated"),
    ("sealant monitor --config", "monitor::readers_prove_who_they_are"),
    (
        "sealant verify /backup/datadir --mariadb-key-file hashicorp",
        "keys_in_vault::mariadb_encrypts_through_the_vault_and_every_page_is_proven",
    ),
    ("sealant bench verify", "bench::verification_is_measured_against_reading_and_against_peers"),
    (
        "sealant rotate run … --mariadb-new-version",
        "rotate_vault::a_new_version_is_written_into_the_vault_and_proven_in_every_table",
    ),
    ("sealant keyring init", "keyring::a_mysql_without_a_keyring_gets_one_and_is_encrypted_with_it"),
    ("sealant keyring migrate", "keyring_migrate::keys_move_from_a_file_into_a_vault_and_back"),
    ("sealant luks header repair", "luks_repair::a_stuck_header_is_repaired_to_that_of_a_finished_re_encryption"),
    ("sealant send /snap/mysql joiner:4444 --tls-cert", "transfer::sites_with_certificates_need_no_code"),
    ("sealant send --live", "snapshot::a_running_server_is_sent_and_the_copy_released"),
    ("sealant provision", "provision::an_encrypted_mysql_gets_a_replica"),
    ("sealant backup init", "backup::the_commands_of_the_page_on_first_backups_work"),
    ("sealant backup binlogs", "backup_binlogs::an_error_on_mysql_is_undone"),
    ("sealant restore … --prove", "backup::a_private_server_proves_a_restored_mariadb_or_says_why_it_does_not_start"),
    ("sealant migrate plan", "migrate::the_documented_grants_are_enough"),
    ("sealant tunnel far", "tunnel::every_operation_of_a_client_works_through_the_tunnel"),
    ("sealant tunnel near", "tunnel::every_operation_of_a_client_works_through_the_tunnel"),
    ("sealant bench tls", "bench::the_cost_of_tls_is_measured_on_a_new_server"),
    ("sealant bench migrate", "bench_migrate::a_migration_is_compared_with_other_tools_on_mysql"),
    ("sealant bench oltp", "bench_oltp::transactions_are_measured_on_mysql_with_and_without_encryption"),
    ("sealant cost --dir", "cost::an_interrupted_measurement_resumes_and_two_reports_are_compared"),
    ("sealant cost compare", "cost::an_interrupted_measurement_resumes_and_two_reports_are_compared"),
];

const TABLES: &str = "CREATE DATABASE demo; CREATE TABLE demo.enc (id INT PRIMARY KEY, v TEXT) ENCRYPTION='Y';
    CREATE TABLE demo.clear (id INT PRIMARY KEY, v TEXT); INSERT INTO demo.enc VALUES (1, 'one'), (2, 'two');
    INSERT INTO demo.clear SELECT * FROM demo.enc; FLUSH LOGS";

/// What a person answers at a terminal, and where state goes that is not to be mixed with this host's own.
const ADDED: [(&str, &str); 15] = [
    ("sealant encrypt run", "--yes --state-dir state"),
    ("sealant encrypt status", "--state-dir state"),
    ("sealant rotate plan", "--state-dir state"),
    ("sealant rotate run", "--yes --state-dir state"),
    ("sealant keys", "--state-dir state"),
    ("sealant keyring check", "--log log"),
    ("sealant cert install", "--yes --log log"),
    ("sealant cost predict", "--for 1s"),
    ("sealant luks header restore", "--yes"),
    ("sealant luks key rotate", "--yes"),
    ("sealant audit mysql://audit@", "--password-file pw"),
    ("sealant audit --socket /run/mysqld/mysqld.sock --user audit", "--password-file pw"),
    ("sealant backup run", "--config backup.toml"),
    ("sealant backup check", "--config backup.toml"),
    ("sealant backup keyring check", "--config backup.toml"),
];

/// Exit codes of commands that say something other than 0 when they work.
const ENDS_WITH: [(&str, i32); 4] = [
    ("sealant audit", 3),
    ("sealant audit diff", 0),
    ("sealant luks audit", 3),
    // Without a receipt from elsewhere.
    ("sealant restore", 4),
];

/// The commands of this program in tables, each once.
fn rows() -> Vec<&'static str> {
    let mut found = Vec::new();
    for line in PAGES.iter().flat_map(|page| page.lines()).filter(|line| line.starts_with("| ")) {
        for code in line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("sealant ")) {
            if !found.contains(&code) {
                found.push(code);
            }
        }
    }
    found
}

/// The blocks of a page that are scripts, in order.
pub(crate) fn scripts(page: &str) -> String {
    page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n")).collect()
}

fn is_run_elsewhere(row: &str) -> bool {
    ELSEWHERE.iter().any(|(begin, _)| row.starts_with(begin))
}

/// The value of the longest beginning of `row` in a list.
fn value<'l, T>(list: &'l [(&str, T)], row: &str) -> Option<&'l T> {
    let fitting = list.iter().filter(|(begin, _)| row.starts_with(begin));
    fitting.max_by_key(|(begin, _)| begin.len()).map(|(_, value)| value)
}

/// Runs commands with the binary under test.
fn shell(directory: &Path, commands: &str) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_sealant")).parent().expect("a directory").display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").expect("a path"));
    let mut bash = Command::new("bash");
    bash.args(["-c", commands]).current_dir(directory).env("PATH", path).env("HOME", directory);
    bash.env_remove("MYSQL_PWD").env("NO_COLOR", "1").stdin(Stdio::null()).output().expect("bash is there")
}

/// A directory in which commands are run, and what names on the page stand for there.
struct Site {
    directory: PathBuf,
    names: Vec<(&'static str, String)>,
}

impl Site {
    /// Runs a row; returns what went wrong.
    fn fault(&self, row: &str) -> Option<String> {
        let added = value(&ADDED, row).map_or_else(|| row.to_owned(), |added| format!("{row} {added}"));
        let command = self.names.iter().fold(added, |command, (name, value)| command.replace(name, value));
        let output = shell(&self.directory, &command);
        let (expected, code) = (value(&ENDS_WITH, row).copied().unwrap_or(0), output.status.code());
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (code != Some(expected)).then(|| format!("{row}\n{command}\nended with {code:?}, not {expected}: {said}\n"))
    }

    /// Runs a row that sends to a receiver, which prints the code.
    fn receives(&mut self, row: &str) -> Option<String> {
        let into = self.directory.join("received");
        let _ = fs::remove_dir_all(&into);
        let receiving = Receiving::begin(&into, &[]);
        self.names.push(("CODE", receiving.code.clone()));
        let fault = self.fault(row);
        self.names.pop();
        if row.contains("--dry-run") || fault.is_some() {
            receiving.kill();
            return fault;
        }
        let (code, said) = receiving.end();
        (code != 0).then(|| format!("{row}\nthe receiver ended with {code}: {said}\n"))
    }
}

/// Asserts that there are rows, and that none had a fault.
#[track_caller]
fn all_ran(faults: impl IntoIterator<Item = Option<String>>) {
    let faults: Vec<_> = faults.into_iter().collect();
    assert!(!faults.is_empty(), "there are no rows");
    let faults: Vec<_> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The rows of one of the three kinds of sites.
fn rows_of(kind: &str) -> Vec<&'static str> {
    let here = rows().into_iter().filter(|row| !is_run_elsewhere(row));
    here.filter(|row| {
        kind == if row.contains("mariadb") {
            "mariadb"
        } else if row.contains(" luks ") {
            "disk"
        } else {
            "mysql"
        }
    })
    .collect()
}

/// Copies the data directory of a server that is stopped meanwhile.
fn copy_of(server: &mut Server, to: &Path) {
    server.stop().expect("it stops");
    let status = Command::new("cp").arg("-a").arg(server.datadir()).arg(to).status().expect("cp starts");
    assert!(status.success());
    server.start().expect("it starts");
}

fn private(path: &Path, content: &str) {
    fs::write(path, content).expect("written");
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("ours");
}

fn recipient() -> String {
    agefile::Identity::generate().expect("an identity").recipient().to_string()
}

/// The account that docs/audit.md creates.
fn audit_account() -> String {
    let guide = include_str!("../docs/audit.md");
    let sql = guide.split("```sql\n").nth(1).and_then(|rest| rest.split("```").next()).expect("statements");
    sql.replace('…', "secret")
}

#[test]
fn the_rows_on_mysql_and_its_copies_run() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let options = ["--log-bin=binlog", "--innodb-redo-log-capacity=64M"];
    let builder = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).options(options);
    let mut server = builder.start().expect("MySQL starts");
    server.sql(TABLES).expect("tables");
    server.sql(&audit_account()).expect("an account");
    let (copy, keyring) = (server.dir().join("copy"), server.dir().join("keyring"));
    copy_of(&mut server, &copy);
    let backups = Backups::new(&copy, &format!("keyring = {keyring:?}"));
    private(&backups.path("pw"), "secret");
    private(&backups.path("waivers.toml"), "");
    let (socket, port) = (text(server.socket()), server.port());
    let member = format!("[[server]]\nname = \"db1\"\nsocket = {socket:?}\nuser = \"root\"\n");
    fs::write(backups.path("fleet.toml"), member).expect("written");
    for (from, to) in
        [("ca.pem", "ca.pem"), ("component_keyring_file.cnf", "component_keyring_file.cnf"), ("demo/enc.ibd", "t.ibd")]
    {
        fs::copy(copy.join(from), backups.path(to)).expect("copied");
    }
    for day in ["yesterday.json", "today.json"] {
        Audit::live_with(&server, &["--save", text(&backups.path(day))]);
    }
    let names = [
        ("--socket …", format!("--socket {socket}")),
        ("/run/mysqld/mysqld.sock", socket.to_owned()),
        ("audit …", format!("audit --socket {socket} --user root")),
        ("rotate run …", format!("rotate run --socket {socket} --user root")),
        (
            "restore …",
            "restore latest --repository DIR --into INTO --identity key.txt --allowed-signers signers --keyring K"
                .to_owned(),
        ),
        ("@db1", format!("@127.0.0.1:{port}")),
        ("db1:3306", format!("127.0.0.1:{port}")),
        ("10.0.0.5", "127.0.0.1".to_owned()),
        ("--into /var/lib/mysql", "--into INTO".to_owned()),
        ("--base /var/lib/mysql.old", format!("--base {}", copy.display())),
        ("/var/lib/mysql/sealant-manifest", "received/sealant-manifest".to_owned()),
        ("/var/lib/mysql", text(server.datadir()).to_owned()),
        ("/backup/datadir", text(&copy).to_owned()),
        ("/snap/mysql", text(&copy).to_owned()),
        ("age1…", recipient()),
        ("--repository DIR", "--repository repository".to_owned()),
        ("key.txt", "identity".to_owned()),
        ("--keyring K", "--keyring COPY".to_owned()),
    ];
    let mut site = Site { directory: backups.path("."), names: names.to_vec() };
    all_ran(rows_of("mysql").iter().map(|row| {
        // Each row has an up-to-date copy of the keyring, and writes what is not there yet.
        for name in ["COPY", "keyring"] {
            fs::copy(&keyring, backups.path(name)).expect("copied");
        }
        let _ = fs::remove_file(backups.path("k.age"));
        let _ = fs::remove_dir_all(backups.path("INTO"));
        if row.contains(" CODE") { site.receives(row) } else { site.fault(row) }
    }));
    the_guide_of_the_monitor_runs(&backups.path("."));
}

/// Runs the scripts of docs/monitor.md, with the fleet in this directory.
fn the_guide_of_the_monitor_runs(directory: &Path) {
    let port = free_port();
    let config = format!("fleet = \"fleet.toml\"\nlisten = [\"127.0.0.1:{port}\"]\nstate-directory = \"monitor\"\n");
    fs::write(directory.join("monitor.toml"), config).expect("written");
    let _ = fs::remove_dir_all(directory.join("ca"));
    let in_background = [
        ("monitor.toml\n", "monitor.toml & trap 'kill $!' EXIT\n"),
        ("curl ", "curl --silent --fail --retry 30 --retry-delay 1 --retry-connrefused --output metrics "),
        ("127.0.0.1:9447", &format!("127.0.0.1:{port}")),
        ("/etc/sealant/", ""),
    ];
    let script = in_background.iter().fold(scripts(include_str!("../docs/monitor.md")), |script, (from, to)| {
        assert!(script.contains(from), "{from:?} is not in {script}");
        script.replace(from, to)
    });
    let output = shell(directory, &format!("set -eu\n{script}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metrics = fs::read_to_string(directory.join("metrics")).expect("metrics");
    assert!(metrics.contains("sealant_"), "{metrics}");
}

#[test]
fn the_rows_on_mariadb_run() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let here = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    private(&here.path().join("pw"), "of the key file");
    let mut server = Server::builder(Kind::MariaDb1011)
        .file("keys.enc", sealed_keys(MARIADB_KEYS, &here.path().join("pw")))
        .file("password", "of the key file")
        .options(["--plugin-load-add=file_key_management", "--file-key-management-filename={dir}/keys.enc"])
        .options(["--file-key-management-filekey=FILE:{dir}/password", "--innodb-encrypt-tables=ON"])
        .start()
        .expect("MariaDB starts");
    server.sql("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY) ENCRYPTED=YES").expect("a table");
    let copy = here.path().join("copy");
    copy_of(&mut server, &copy);
    fs::copy(server.dir().join("keys.enc"), here.path().join("keys.enc")).expect("copied");
    let names = [
        ("rotate run …", format!("rotate run --socket {} --user root", text(server.socket()))),
        ("/backup/datadir", text(&copy).to_owned()),
        ("age1…", recipient()),
    ];
    let site = Site { directory: here.path().to_owned(), names: names.to_vec() };
    all_ran(rows_of("mariadb").iter().map(|row| site.fault(row)));
}

#[test]
fn the_rows_on_a_disk_run() {
    let desk = Desk::new();
    let image = desk.volume("image", "luks2");
    for directory in ["safe", "headers"] {
        fs::create_dir(desk.path(directory)).expect("room");
    }
    let key = desk.key("k1");
    for name in ["old-key", "key", "data.key"] {
        fs::copy(&key, desk.path(name)).expect("copied");
    }
    cryptsetup(&["luksHeaderBackup", text(&image), "--header-backup-file", text(&desk.path("header.bak"))], &[]);
    let names = [
        ("/dev/nvme0n1p3", text(&image).to_owned()),
        ("/safe/headers", "headers".to_owned()),
        ("/safe/", "safe/".to_owned()),
        ("/root/data.key", text(&desk.path("data.key")).to_owned()),
    ];
    let site = Site { directory: desk.path("."), names: names.to_vec() };
    all_ran(rows_of("disk").iter().map(|row| site.fault(row)));
}

#[test]
fn scripts_are_on_pages_whose_scripts_are_run() {
    for page in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")).expect("pages") {
        let path = page.expect("readable").path();
        let has_scripts = path.is_file() && !scripts(&fs::read_to_string(&path).expect("text")).is_empty();
        let is_run = path.file_name().is_some_and(|name| WITH_SCRIPTS.iter().any(|page| name == *page));
        assert_eq!(has_scripts, is_run, "{}: its scripts are run by no test", path.display());
    }
}

#[test]
fn rows_that_are_not_run_here_are_run_by_the_test_that_is_named() {
    let rows = rows();
    for (begin, test) in ELSEWHERE {
        assert!(rows.iter().any(|row| row.starts_with(begin)), "no row begins with {begin}");
        let (file, name) = test.split_once("::").expect("FILE::TEST");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/{file}.rs"));
        let source = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(source.contains(&format!("#[test]\nfn {name}(")), "there is no test {test}");
    }
    // Those tests give other options; the program at least takes those of the page.
    let here = tempfile::tempdir().expect("a directory");
    for row in rows.iter().filter(|row| is_run_elsewhere(row)) {
        let command = row.split(" && ").next().unwrap_or(row).replace("run …", "run").replace("restore …", "restore");
        let command = command.replace("ca.pem …", "ca.pem").replace("age1…", &recipient()).replace('…', "file");
        let output = shell(here.path(), &format!("{command} --help"));
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    for (begin, _) in ADDED {
        assert!(rows.iter().any(|row| row.starts_with(begin) && !is_run_elsewhere(row)), "no row begins with {begin}");
    }
}
