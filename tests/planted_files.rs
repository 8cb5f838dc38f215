//! What another user may have put under the names that `sealant` opens: pipes, which block an open; devices and links
//! to devices, which never end; sockets; and links to files that this user cannot read.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::support::moving::{Receiving, send};
use crate::support::sealant;

/// Names that a verb opens, whatever kind of file they have.
const NAMES: [&str; 55] = [
    "#ib_16384_0.dblwr",
    "#innodb_redo/#ib_redo1",
    "aria_log.00000001",
    "aria_log_control",
    "auto.cnf",
    "backup-my.cnf",
    "binlog.000001",
    "binlog.index",
    "ca-key.pem",
    "ca.pem",
    "component_keyring_file",
    "component_keyring_file.cnf",
    "core.4711",
    "demo/t.cfg",
    "demo/t.cfp",
    "demo/x.cfp",
    "demo/x.ARZ",
    "demo/x.CSV",
    "demo/x.MAD",
    "demo/x.MAI",
    "demo/x.MYD",
    "demo/x.MYI",
    "demo/x.frm",
    "demo/x.ibd",
    "demo/x.ibd.delta",
    "demo/x.sql",
    "demo/y.MAI",
    "error.log",
    "galera.cache",
    "general.log",
    "grastate.dat",
    "ib_buffer_pool",
    "ib_logfile0",
    "ib_logfile1",
    "ib_logfile101",
    "ibdata1",
    "ibdata2",
    "ibtmp1",
    "keyring",
    "keyring.json",
    "mariadb_backup_checkpoints",
    "my.cnf",
    "mysql.ibd",
    "mysqld-auto.cnf",
    "mysqld.my",
    "mysqld.pid",
    "private_key.pem",
    "relay-bin.000001",
    "sealant-manifest",
    "server-key.pem",
    "slow.log",
    "tc.log",
    "undo_001",
    "undo_001.cfp",
    "xtrabackup_checkpoints",
];

/// Kinds of files that may have such a name.
#[derive(Clone, Copy, Debug)]
enum Trap {
    Pipe,
    Socket,
    Device,
    LinkToPipe,
    LinkToDevice,
    LinkOut,
}

const TRAPS: [Trap; 6] = [Trap::Pipe, Trap::Socket, Trap::Device, Trap::LinkToPipe, Trap::LinkToDevice, Trap::LinkOut];

const SECRET: &str = "sealant-secret-of-another-user";

impl Trap {
    /// Creates the trap; returns whether that was possible: only root can create devices.
    fn plant(self, path: &Path, outside: &Path) -> bool {
        let _ = fs::remove_file(path);
        let node = |kind, device| mknodat(CWD, path, kind, Mode::RUSR | Mode::WUSR, device).is_ok();
        match self {
            Self::Pipe => node(FileType::Fifo, 0),
            // The number of /dev/zero.
            Self::Device => node(FileType::CharacterDevice, makedev(1, 5)),
            // Paths of sockets are short.
            Self::Socket => {
                let short = outside.join("s");
                let _ = fs::remove_file(&short);
                UnixListener::bind(&short).is_ok() && fs::rename(&short, path).is_ok()
            }
            Self::LinkToPipe => symlink(outside.join("pipe"), path).is_ok(),
            Self::LinkToDevice => symlink("/dev/zero", path).is_ok(),
            Self::LinkOut => symlink(outside.join("secret"), path).is_ok(),
        }
    }
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// Tablespaces that are read to the end, beside the names of `NAMES`.
fn datadir(root: &Path) {
    fs::create_dir_all(root.join("demo")).expect("made");
    fs::create_dir_all(root.join("#innodb_redo")).expect("made");
    fs::copy(sample("tablespace/mysql97-16k-encrypted.ibd"), root.join("demo/t.ibd")).expect("copied");
    fs::copy(sample("tablespace/mariadb1011-16k-encrypted.ibd"), root.join("demo/m.ibd")).expect("copied");
    fs::write(root.join("demo/y.MAD"), vec![0; 8192]).expect("written");
}

/// Runs it with limited memory; it must end by itself, with any result.
#[track_caller]
fn ends<S: AsRef<OsStr>>(args: &[S]) -> Output {
    // Kibibytes: enough for all threads, too little for an endless file.
    const MEMORY: &str = "ulimit -v 8000000; exec \"$0\" \"$@\"";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", MEMORY]).arg(sealant().get_program()).args(args);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let readers = [
        child.stdout.take().map(|out| Box::new(out) as Box<dyn std::io::Read + Send>),
        child.stderr.take().map(|out| Box::new(out) as Box<dyn std::io::Read + Send>),
    ];
    let readers = readers.map(|reader| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = reader.expect("piped").read_to_end(&mut bytes);
            bytes
        })
    });
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("ours") {
            break status;
        }
        if began.elapsed() > Duration::from_secs(300) {
            child.kill().expect("ours");
            panic!("it hangs: {:?}", args.iter().map(|arg| arg.as_ref().to_owned()).collect::<Vec<_>>());
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let [stdout, stderr] = readers.map(|reader| reader.join().expect("it reads"));
    let output = Output { status, stdout, stderr };
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.code().is_some_and(|code| code < 100), "{:?}: {said}", output.status);
    assert!(!said.contains("panicked") && !said.contains(SECRET), "{said}");
    output
}

#[test]
fn no_verb_hangs_on_special_files_under_the_names_of_files() {
    let outside = tempfile::tempdir().expect("a directory");
    rustix::fs::mkfifoat(CWD, outside.path().join("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
    fs::write(outside.path().join("secret"), SECRET.repeat(1000)).expect("written");
    for trap in TRAPS {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().join("data");
        datadir(&root);
        if !NAMES.iter().all(|name| trap.plant(&root.join(name), outside.path())) {
            continue;
        }
        let [data, keyring, config, manifest] =
            ["", "keyring", "component_keyring_file.cnf", "sealant-manifest"].map(|name| root.join(name));
        let [data, keyring, config, manifest] =
            [&data, &keyring, &config, &manifest].map(|path| path.to_str().expect("ASCII"));
        for args in [
            &["verify", data][..],
            &["verify", data, "--keyring", keyring],
            &["verify", data, "--keyring-config", config],
            &["verify", data, "--mariadb-key-file", keyring],
            &["verify", "--manifest", manifest],
            &["audit", "--offline", data],
            &["audit", "--offline", data, "--deep"],
            &["audit", "--offline", data, "--keyring-copy", keyring],
            &["snapshot", "estimate", "--datadir", data],
            &["snapshot", "list", "--datadir", data],
            &["receive", "--listen", "127.0.0.1:0", "--into", "/proc/none", "--rekey", keyring],
            &["receive", "--listen", "127.0.0.1:0", "--into", "/proc/none", "--rekey", config],
        ] {
            ends(args);
        }
        for name in ["demo/x.ibd", "demo/t.cfp", "ib_logfile0"] {
            ends(&["verify", root.join(name).to_str().expect("ASCII")]);
        }
        let receiving = Receiving::begin(&dir.path().join("copy"), &[]);
        let sent = send(&root, &receiving.code, &[]);
        let (code, stderr) = receiving.end();
        assert_eq!((sent.status.code(), code), (Some(0), 0), "{trap:?}: {stderr}");
    }
}

#[test]
fn verify_reports_links_out_of_the_directory_and_does_not_follow_them() {
    let (dir, outside) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("another"));
    let root = dir.path().join("data");
    datadir(&root);
    fs::copy(root.join("demo/t.ibd"), outside.path().join("far.ibd")).expect("copied");
    fs::create_dir(outside.path().join("moved")).expect("made");
    fs::copy(root.join("demo/t.ibd"), outside.path().join("moved/table.ibd")).expect("copied");
    symlink(outside.path().join("far.ibd"), root.join("demo/far.ibd")).expect("linked");
    symlink(outside.path().join("moved"), root.join("moved")).expect("linked");
    symlink(outside.path().join("far.ibd"), root.join("mysql.sock")).expect("linked");
    symlink("demo", root.join("near")).expect("linked");
    symlink("../demo/t.ibd", root.join("demo/near.ibd")).expect("linked");
    let verify = |paths: &[&Path]| {
        let args: Vec<&OsStr> = ["verify", "--format", "json"].iter().map(OsStr::new).collect();
        let output = ends(&[args, paths.iter().map(|path| path.as_os_str()).collect()].concat());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let names = |list: &str| -> Vec<String> {
            let list = json[list].as_array().expect("a list").iter();
            list.filter_map(|item| Some(item["path"].as_str()?.rsplit('/').next()?.to_owned())).collect()
        };
        (names("files"), names("errors"), output.status.code())
    };
    let current = ["m.ibd", "t.ibd", "y.MAD"].map(str::to_owned);
    let (files, errors, code) = verify(&[&root]);
    assert_eq!(
        (files.as_slice(), errors, code),
        (&current[..], vec!["far.ibd".to_owned(), "moved".to_owned()], Some(1))
    );
    let (files, errors, code) = verify(&[&root, outside.path()]);
    assert_eq!((files.len(), errors.len(), code), (5, 0, Some(4)), "{files:?}");
    // Somebody who names a link on the command line means its target.
    let (files, errors, _) = verify(&[&root.join("demo/far.ibd")]);
    assert_eq!((files, errors.len()), (vec!["far.ibd".to_owned()], 0));
    symlink(&root, dir.path().join("link")).expect("linked");
    assert_eq!(verify(&[&dir.path().join("link")]).0, current);
}

#[test]
fn a_key_beside_a_tablespace_is_read_only_if_it_is_a_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let (table, key) = (dir.path().join("t.ibd"), dir.path().join("t.cfp"));
    fs::copy(sample("export/mysql97-16k-encrypted.cfp"), dir.path().join("key")).expect("copied");
    fs::copy(sample("tablespace/mysql97-16k-encrypted.ibd"), &table).expect("copied");
    let verdict = || {
        let output = ends(&[OsStr::new("verify"), OsStr::new("--format"), OsStr::new("json"), table.as_os_str()]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        json["files"][0]["verdict"].as_str().expect("a verdict").to_owned()
    };
    let without = verdict();
    symlink("key", &key).expect("linked");
    assert_eq!(verdict(), without);
    fs::remove_file(&key).expect("ours");
    fs::File::create(&key).expect("made").set_len(1 << 40).expect("sparse");
    assert_eq!(verdict(), without);
}
