use std::{fs, path::Path};

use transfer::plan::{Plan, Selection};

use super::*;

fn layout(datadir: &Path, more: &str) -> Layout {
    let file = datadir.with_extension("cnf");
    fs::write(&file, "").unwrap();
    let (datadir, file) = (datadir.display(), file.display());
    let words = format!(
        "--role joiner --address h --datadir {datadir}/ --defaults-file {file} --binlog bin --binlog-index \
         bin.index --mysqld-args {more}"
    );
    let arguments = Arguments::parse(words.split_whitespace().map(str::to_owned)).unwrap();
    Layout::of(&arguments, &Options::read(&arguments).unwrap()).unwrap()
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
    let plan = Plan::of(root, &Selection::default()).unwrap();
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
fn the_data_goes_and_the_node_stays() {
    let directory = tempfile::tempdir().unwrap();
    let datadir = directory.path().join("data");
    fill(&datadir, &NODE);
    fill(&datadir, &DATA);
    fill(&datadir, &["bin.000001", "bin.index", "tc.log", "ibtmp1", ".sst/x", "db/node.err", "ib_buffer_pool"]);
    let layout = layout(&datadir, "--tmpdir=tmp");
    assert_eq!(names(&layout.plan().unwrap()), DATA.join(" "));
}

#[test]
fn places_of_their_own_are_found_and_filled() {
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
    layout(&joiner, "--aria-log-dir-path=aria").replace(None).unwrap();
    assert_eq!(files(&joiner), ["aria/aria_log.00000002", "aria/other"]);
}

#[test]
fn old_data_makes_room_for_new() {
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
fn a_copy_of_one_instant_has_the_log_that_decides() {
    let directory = tempfile::tempdir().unwrap();
    let [datadir, copy, joiner] = ["data", "copy", "joiner"].map(|name| directory.path().join(name));
    fill(&datadir, &["ibdata1"]);
    fill(&copy, &["ibdata1", "bin.000007", "bin.000008", "bin.index", "ddl_recovery.log", "node.err"]);
    fs::write(copy.join("bin.index"), "./bin.000007\n./bin.000008\n").unwrap();
    let (plan, log) = layout(&datadir, "").plan_of_copy(&copy).unwrap();
    assert_eq!(names(&plan), "bin.000008 ddl_recovery.log ibdata1");
    assert_eq!(log.as_deref(), Some("bin.000008"));
    fill(&joiner, &["bin.000001", "bin.index", ".sealant_in/bin.000008", ".sealant_in/ibdata1"]);
    layout(&joiner, "").replace(log.as_deref()).unwrap();
    assert_eq!(files(&joiner), ["bin.000008", "bin.index", "ibdata1"]);
    assert_eq!(fs::read_to_string(joiner.join("bin.index")).unwrap(), "./bin.000008\n");
}

#[test]
fn data_that_lies_elsewhere_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let datadir = directory.path().join("data");
    fill(&datadir, &["db/t.isl"]);
    let layout = layout(&datadir, "");
    assert!(matches!(layout.plan(), Err(SstError::Outside { .. })));
    fs::remove_file(datadir.join("db/t.isl")).unwrap();
    layout.plan().unwrap();
    std::os::unix::fs::symlink(directory.path(), datadir.join("db2")).unwrap();
    // A link to a directory is none of the files that go, so it has to be looked for.
    assert!(matches!(layout.plan(), Err(SstError::Outside { .. })));
}
