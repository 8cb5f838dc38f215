use std::{fs, path::Path};

use transfer::plan::{Plan, Selection};

use super::*;

fn layout(datadir: &Path, more: &str) -> Layout {
    let file = datadir.with_extension("cnf");
    fs::write(&file, "").unwrap();
    let (datadir, file) = (datadir.display(), file.display());
    let message = format!(
        "--role joiner --address h --datadir {datadir}/ --defaults-file {file} --binlog bin --binlog-index \
         bin.index --mysqld-args {more}"
    );
    let arguments = Arguments::parse(message.split_whitespace().map(str::to_owned)).unwrap();
    Layout::new(&arguments, &Options::read(&arguments).unwrap()).unwrap()
}

fn fill(root: &Path, names: &[&str]) {
    for name in names {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), name).unwrap();
    }
}

fn names(plan: &Plan) -> String {
    let files = plan.entries.iter().filter(|planned| planned.file_bytes().is_some());
    files.map(|planned| planned.entry.path.to_string()).collect::<Vec<_>>().join(" ")
}

fn files(root: &Path) -> Vec<String> {
    let plan = Plan::scan(root, &Selection::default()).unwrap();
    names(&plan).split(' ').map(str::to_owned).collect()
}

const NODE: [&str; 9] = [
    "cert.pem",
    "galera.cache",
    "grastate.dat",
    "gvwstate.dat",
    "node.err",
    "node.pid",
    "relay-log.info",
    "sst_in_progress",
    "tmp/x",
];
const DATA: [&str; 8] = [
    "aria_log.00000001",
    "aria_log_control",
    "db/t.frm",
    "db/t.ibd",
    "ib_logfile0",
    "ibdata1",
    "mysql/user.MAD",
    "undo001",
];

#[test]
fn data_is_sent_and_files_of_the_node_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let datadir = directory.path().join("data");
    fill(&datadir, &NODE);
    fill(&datadir, &DATA);
    fill(&datadir, &["bin.000001", "bin.index", "tc.log", "ibtmp1", ".sst/x", "db/node.err", "ib_buffer_pool"]);
    let layout = layout(&datadir, "--tmpdir=tmp");
    assert_eq!(names(&layout.plan().unwrap()), DATA.join(" "));
}

#[test]
fn directories_of_the_node_are_neither_sent_nor_replaced() {
    const NODE_DATA: [&str; 9] = [
        "cache/galera.cache",
        "certificates/client.pem",
        "home/gvwstate.dat",
        "keys/keys.txt",
        "logs/node.err",
        "relay/relay.000001",
        "run/node.pid",
        "ssl/node.crt",
        "tls/node.key",
    ];
    let directory = tempfile::tempdir().unwrap();
    let datadir = directory.path().join("data");
    fill(&datadir, &NODE_DATA);
    fill(&datadir, &DATA);
    // A database is data, whatever else it contains.
    fill(&datadir, &["mysql/slow.log"]);
    let below = datadir.display();
    let options = format!(
        "--log-error={below}/logs/node.err --general-log-file=logs/general.log --slow_query_log_file=mysql/slow.log \
         --pid-file=run/node.pid --relay-log=relay/relay --wsrep_data_home_dir=home/ --ssl-cert=ssl/node.crt \
         --file_key_management_filename={below}/keys/keys.txt \
         --wsrep_provider_options=gcache.dir={below}/first;gcache.size=1G;gcache.dir={below}/cache;socket.ssl_key=tls/node.key"
    );
    let layout = layout(&datadir, &options);
    let mut data = [&DATA[..], &["mysql/slow.log"]].concat();
    data.sort_by_key(|name| Path::new(name).to_path_buf());
    assert_eq!(names(&layout.plan().unwrap()), data.join(" "));
    for name in &DATA {
        fill(&datadir, &[&format!(".sealant_in/{name}")]);
    }
    // The donor does not know the purpose of these directories on the joiner, but still recognises a database.
    fill(&datadir, &[".sealant_in/tls/node.key", ".sealant_in/tls/other.key", ".sealant_in/run/t.ibd"]);
    layout.replace(None).unwrap();
    assert_eq!(fs::read_to_string(datadir.join("tls/node.key")).unwrap(), "tls/node.key");
    let mut expected = [&NODE_DATA[..], &DATA, &["run/t.ibd"]].concat();
    expected.sort_by_key(|name| Path::new(name).to_path_buf());
    assert_eq!(files(&datadir), expected);
}

#[test]
fn a_link_to_the_nodes_data_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let (datadir, keys) = (directory.path().join("data"), directory.path().join("keys"));
    fill(&datadir, &DATA);
    fill(&keys, &["node.key"]);
    std::os::unix::fs::symlink(&keys, datadir.join("ssl")).unwrap();
    for name in &DATA {
        fill(&datadir, &[&format!(".sealant_in/{name}")]);
    }
    let layout = layout(&datadir, "--ssl-key=ssl/node.key");
    assert_eq!(names(&layout.plan().unwrap()), DATA.join(" "));
    layout.replace(None).unwrap();
    assert!(datadir.join("ssl/node.key").exists());
}

#[test]
fn separate_directories_are_sent_and_filled() {
    let directory = tempfile::tempdir().unwrap();
    let [donor, joiner, redo] = ["donor", "joiner", "redo"].map(|name| directory.path().join(name));
    fill(&redo, &["ib_logfile0", "something"]);
    fill(&donor, &["ibdata1", "undo/undo001", "undo/note", "db/t.ibd"]);
    let plan = layout(&donor, &format!("--innodb-log-group-home-dir={} --innodb_undo_directory=undo", redo.display()))
        .plan()
        .unwrap();
    assert_eq!(names(&plan), "db/t.ibd ib_logfile0 ibdata1 undo/note undo001");
    assert_eq!(plan.bytes, "db/t.ibdib_logfile0ibdata1undo/noteundo/undo001".len() as u64);
    plan.check_unchanged().unwrap();
    fill(&joiner, &["aria/aria_log.00000001", "aria/other", ".sealant_in/aria_log.00000002"]);
    fill(&joiner, &[".sealant_in/ibdata1", ".sealant_in/ib_logfile0"]);
    layout(&joiner, "--aria-log-dir-path=aria").replace(None).unwrap();
    assert_eq!(files(&joiner), ["aria/aria_log.00000002", "aria/other", "ib_logfile0", "ibdata1"]);
}

#[test]
fn incomplete_data_is_neither_sent_nor_installed() {
    let directory = tempfile::tempdir().unwrap();
    let [donor, joiner] = ["donor", "joiner"].map(|name| directory.path().join(name));
    for there in ["ibdata1", "ib_logfile0"] {
        fill(&donor, &[there, "db/t.ibd"]);
        assert!(matches!(layout(&donor, "").plan(), Err(Error::Incomplete { .. })), "{there}");
        fill(&joiner, &["ibdata1", "ib_logfile0", "old/t.ibd", &format!(".sealant_in/{there}")]);
        let replaced = layout(&joiner, "").replace(None);
        assert!(matches!(replaced, Err(Error::Incomplete { .. })), "{there}");
        assert!(joiner.join("old/t.ibd").exists() && joiner.join("ib_logfile0").exists());
        fs::remove_file(donor.join(there)).unwrap();
        fs::remove_dir_all(joiner.join(".sealant_in")).unwrap();
    }
}

#[test]
fn old_data_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let datadir = directory.path().join("data");
    fill(&datadir, &NODE);
    fill(&datadir, &["old/t.ibd", "ib_logfile1", "undo002", "bin.000001", "bin.index", "tc.log", "ddl_recovery.log"]);
    for name in DATA.iter().chain(&["sealant-manifest"]) {
        fill(&datadir, &[&format!(".sealant_in/{name}")]);
    }
    layout(&datadir, "--tmpdir=tmp").replace(None).unwrap();
    let mut expected = [&NODE[..], &DATA].concat();
    expected.sort_by_key(|name| Path::new(name).to_path_buf());
    assert_eq!(files(&datadir), expected);
}

#[test]
fn the_directory_of_binary_logs_is_created() {
    let directory = tempfile::tempdir().unwrap();
    let (datadir, logs) = (directory.path().join("data"), directory.path().join("logs"));
    fill(&datadir, &[".sealant_in/ib_logfile0", ".sealant_in/ibdata1"]);
    let index = Some(logs.join("index/bin.index"));
    let layout = Layout { binlog: Some(logs.join("bin")), binlog_index: index, ..layout(&datadir, "") };
    layout.replace(None).unwrap();
    assert!(logs.join("index").is_dir());
}

#[test]
fn an_atomic_copy_includes_the_newest_binary_log() {
    let directory = tempfile::tempdir().unwrap();
    let [datadir, copy, joiner] = ["data", "copy", "joiner"].map(|name| directory.path().join(name));
    fill(&datadir, &["ibdata1"]);
    fill(&copy, &["ibdata1", "ib_logfile0", "bin.000007", "bin.000008", "bin.index", "ddl_recovery.log", "node.err"]);
    fs::write(copy.join("bin.index"), "./bin.000007\n./bin.000008\n").unwrap();
    let (plan, log) = layout(&datadir, "").plan_of_copy(&copy).unwrap();
    assert_eq!(names(&plan), "bin.000008 ddl_recovery.log ib_logfile0 ibdata1");
    assert_eq!(log.as_deref(), Some("bin.000008"));
    let whole = [".sealant_in/ib_logfile0", ".sealant_in/ibdata1"];
    fill(&joiner, &["bin.000001", "bin.index", ".sealant_in/bin.000008"]);
    fill(&joiner, &whole);
    layout(&joiner, "").replace(log.as_deref()).unwrap();
    assert_eq!(files(&joiner), ["bin.000008", "bin.index", "ib_logfile0", "ibdata1"]);
    assert_eq!(fs::read_to_string(joiner.join("bin.index")).unwrap(), "./bin.000008\n");
    // If an index named a log that was not sent, the server would not start.
    fill(&joiner, &whole);
    layout(&joiner, "").replace(log.as_deref()).unwrap();
    assert_eq!(files(&joiner), ["ib_logfile0", "ibdata1"]);
    fs::remove_file(copy.join("bin.000008")).unwrap();
    assert!(matches!(layout(&datadir, "").plan_of_copy(&copy), Err(Error::Incomplete { .. })));
}

#[test]
fn data_outside_the_data_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let datadir = directory.path().join("data");
    fill(&datadir, &["db/t.isl", "ibdata1", "ib_logfile0"]);
    let layout = layout(&datadir, "");
    assert!(matches!(layout.plan(), Err(Error::Outside { .. })));
    fs::remove_file(datadir.join("db/t.isl")).unwrap();
    layout.plan().unwrap();
    std::os::unix::fs::symlink(directory.path(), datadir.join("db2")).unwrap();
    // A link to a directory is not part of the plan, so it has to be searched for.
    assert!(matches!(layout.plan(), Err(Error::Outside { .. })));
}
