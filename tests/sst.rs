//! Nodes of a real Galera cluster join by `wsrep_sst_method=sealant` while the cluster is in use.
//!
//! `SEALANT_SST_ROUNDS` is the number of joins under load (1), `SEALANT_SST_MIB` the amount of data to send (48).
#![allow(clippy::print_stdout, reason = "what was measured")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use harness::certs::{Authority, Profile};
use harness::galera::{SetUp, wait_until_synced};
use harness::{Kind, Server, ServerBuilder, TlsFiles, require};

use crate::keys_in_vault::{KEY_1, POLICY, Site};
use crate::support::chance::number;
use crate::support::sst::{
    ENOUGH_WRITE_SETS, Image, Load, Programs, Setup, empty, fails, fill, join, join_from, mebibytes, program,
    same_rows, says, set_up, until,
};
use crate::support::tmpfs::in_memory;

const KEYS: &str = "1;770a8a65da156d24ee2a093277530142\n";
/// All encryption of MariaDB.
const ENCRYPTING: [&str; 9] = [
    "--plugin-load-add=file_key_management",
    "--file-key-management-filename={dir}/keys.txt",
    "--innodb-encrypt-tables=ON",
    "--innodb-encrypt-log=ON",
    "--innodb-encryption-threads=2",
    "--aria-encrypt-tables=ON",
    "--encrypt-tmp-disk-tables=ON",
    "--encrypt-binlog=ON",
    "--log-bin=binlog",
];

/// Nodes that encrypt all, and whose donor opens it with their key file.
fn encrypting(nodes: SetUp) -> SetUp {
    let option_file = "[sst]\nsealant-mariadb-key-file={dir}/keys.txt\n";
    nodes.file("keys.txt", KEYS.as_bytes()).options(ENCRYPTING).option_file(option_file)
}

#[track_caller]
fn nodes_join_under_load(kind: Kind, encrypted: bool) {
    if require(kind).is_none() {
        return;
    }
    let programs = Programs::new();
    let mut set_up = set_up(kind, &programs);
    if encrypted {
        set_up = encrypting(set_up);
    }
    let mut cluster = set_up.start(1).expect("a node");
    fill(&cluster.nodes[0], mebibytes());
    for round in 0..number("SEALANT_SST_ROUNDS", 1) {
        let load = Load::begin(&cluster.nodes[0], 2);
        // An empty joiner, and one with older data.
        for current in [empty as fn(ServerBuilder) -> ServerBuilder, |builder| builder] {
            let mut node = cluster.prepare(current).expect("a node");
            load.forget();
            let before = load.commits();
            let took = join_from(&cluster.nodes[0], &mut node);
            println!(
                "{kind:?}, encrypted: {encrypted}, round {round}: joined in {:.2} s, {} commits meanwhile, the longest \
                 {:.0} ms",
                took.as_secs_f64(),
                load.commits() - before,
                load.longest().as_secs_f64() * 1e3
            );
            says(&node.new_log(), "joiner", "everything is in place");
            assert!(!node.datadir().join(".sealant_in").exists() && !node.datadir().join("sealant-manifest").exists());
            cluster.nodes.push(node);
        }
        load.end();
        for joiner in &cluster.nodes[1..] {
            same_rows(&cluster.nodes[0], joiner);
        }
        for line in cluster.nodes[0].error_log().lines().filter(|line| line.contains("stands still")) {
            println!("{line}");
        }
        // The order matters: if two of three nodes are killed, the third stops.
        for mut node in cluster.nodes.split_off(1) {
            node.stop().expect("it stops");
        }
    }
}

#[test]
fn nodes_join_under_load_with_equal_rows() {
    nodes_join_under_load(Kind::MariaDb1011, true);
}

#[test]
fn nodes_of_a_newer_server_join_under_load_with_equal_rows() {
    nodes_join_under_load(Kind::MariaDb118, false);
}

/// Bytes that the donor has sent over the network, by its last message.
#[track_caller]
fn sent_mebibytes(donor: &Server) -> f64 {
    let log = donor.error_log();
    let line = log.lines().rfind(|line| line.contains(" over the network in ")).expect("a message");
    let (size, _) = line.split_once(" over the network").expect("it has that");
    let words: Vec<&str> = size.split_whitespace().collect();
    let [.., number, unit] = words.as_slice() else { panic!("{line}") };
    let number: f64 = number.parse().expect("a number");
    match *unit {
        "KiB" => number / 1024.0,
        "MiB" => number,
        _ => panic!("{line}"),
    }
}

#[test]
fn encrypted_pages_compress_with_the_keys_of_a_vault() {
    let Some(site) = Site::start() else { return };
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    site.vault(&["secrets", "enable", "-path=mariadb", "-version=2", "kv"]);
    site.vault(&["kv", "put", "mariadb/1", KEY_1]);
    let token = site.vault.token("mariadb", POLICY, &[]).expect("a token");
    let config = site.with_token("keys.cnf", "mariadb", &token);
    let programs = Programs::new();
    let mut cluster = set_up(Kind::MariaDb1011, &programs)
        .options(site.options_of_mariadb(&token))
        .options(["--innodb-encrypt-tables=ON", "--innodb-encrypt-log=ON"])
        .option_file(&format!("[sst]\nsealant-mariadb-key-file={}\nsealant-compress=zstd:1\n", config.display()))
        .start(1)
        .expect("a node");
    let rows = "CREATE DATABASE demo; USE demo; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(1000));
        INSERT INTO t SELECT seq, REPEAT(MD5(seq), 25) FROM seq_1_to_20000;";
    cluster.nodes[0].sql(rows).expect("rows");

    let mut node = cluster.prepare(empty).expect("a node");
    join_from(&cluster.nodes[0], &mut node);
    says(&cluster.nodes[0].error_log(), "donor", "of it were encrypted pages and logs");
    let with_keys = sent_mebibytes(&cluster.nodes[0]);
    let sum = |server: &Server| server.value("CHECKSUM TABLE demo.t").expect("a checksum");
    assert_eq!(sum(&node), sum(&cluster.nodes[0]));
    node.stop().expect("it stops");

    // The servers' own token is another one.
    site.file("keys.cnf-token", "hvs.CAESIJunknown");
    let mut node = cluster.prepare(empty).expect("a node");
    join_from(&cluster.nodes[0], &mut node);
    says(&cluster.nodes[0].error_log(), "donor", "no keys, so encrypted pages are sent as they are");
    says(&cluster.nodes[0].error_log(), "donor", "the Vault does not know the token");
    let without = sent_mebibytes(&cluster.nodes[0]);
    assert!(with_keys * 2.0 < without, "{with_keys} MiB with keys, {without} MiB without");
    assert_eq!(sum(&node), sum(&cluster.nodes[0]));
}

#[test]
fn a_node_that_was_away_for_a_moment_keeps_its_data() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let programs = Programs::new();
    let mut cluster = set_up(Kind::MariaDb1011, &programs).start(1).expect("a node");
    fill(&cluster.nodes[0], 8);
    let mut node = cluster.prepare(empty).expect("a node");
    join(&mut node);
    node.stop().expect("it stops");
    let witness = node.datadir().join("bank/bulk.ibd");
    let before = fs::metadata(&witness).expect("a table").modified().expect("a time");
    let load = Load::begin(&cluster.nodes[0], 1);
    until("some commits", 30, || load.commits() > 20);
    join(&mut node);
    load.end();
    let log = node.new_log();
    says(&log, "joiner", "the data that is here is good");
    says(&cluster.nodes[0].error_log(), "donor", "the joiner's data is good");
    assert!(!log.contains("everything is in place"), "{log}");
    assert_eq!(fs::metadata(&witness).expect("a table").modified().expect("a time"), before);
    same_rows(&cluster.nodes[0], &node);
}

#[test]
fn certificates_of_the_site_are_used_and_verified() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let desk = tempfile::tempdir().expect("a directory");
    let authority = Authority::create(desk.path()).expect("an authority");
    let good = authority.issue("good", &Profile::default()).expect("a certificate");
    let other = Profile { alternative_names: Some("DNS:elsewhere.example".to_owned()), ..Profile::default() };
    let other = authority.issue("other", &other).expect("a certificate");
    let section = |files: &TlsFiles| {
        let (ca, cert, key) = (files.ca.display(), files.cert.display(), files.key.display());
        format!("[sst]\ntca={ca}\ntcert={cert}\ntkey={key}\nencrypt=0\n")
    };
    let Some(mut setup) = Setup::new(Kind::MariaDb1011) else { return };
    setup.options(&section(&good));
    // No certificate although the donor has one, one for another name, and a valid one.
    let mut node = setup.node(|builder| builder);
    fails(&mut node);
    says(&setup.donor().error_log(), "[ERROR] sealant donor", "the joiner shows none");
    let option_file = node.dir().join("my.cnf");
    fs::write(&option_file, section(&other)).expect("an option file");
    let log = fails(&mut node);
    says(&log, "[INFO] sealant joiner", "a connection was rejected (1 so far)");
    says(&setup.donor().error_log(), "[ERROR] sealant donor", "certificate");
    // In the data directories of both nodes, where each node keeps its own files.
    let [of_donor, of_node] = [setup.donor(), &node].map(|node| node.datadir().join("tls"));
    for directory in [&of_donor, &of_node] {
        fs::create_dir(directory).expect("a directory");
        fs::write(directory.join("whose.txt"), directory.as_os_str().as_encoded_bytes()).expect("room");
    }
    let current =
        |name: &str, from: &Path| fs::copy(from, of_node.join(name)).map(|_| of_node.join(name)).expect("copied");
    let [ca, cert] = [("ca.crt", &good.ca), ("node.crt", &good.cert)].map(|(name, from)| current(name, from));
    let good = TlsFiles { ca, cert, key: current("node.key", &good.key) };
    fs::write(&option_file, section(&good).replace("[sst]", "[SST]")).expect("an option file");
    join(&mut node);
    says(&node.new_log(), "joiner", "certificates of [sst]");
    same_rows(setup.donor(), &node);
    assert!(good.ca.exists() && good.cert.exists() && good.key.exists());
    let whose = fs::read(of_node.join("whose.txt")).expect("a file of its own");
    assert_eq!(whose, of_node.as_os_str().as_encoded_bytes());
}

#[test]
fn the_secret_is_on_no_command_line_and_in_no_log() {
    let Some(mut setup) = Setup::new(Kind::MariaDb1011) else { return };
    let mut node = setup.node(|builder| builder);
    setup.interrupt(&mut node);
    let donor = program("donor", setup.donor().datadir()).expect("a donor");
    let environment = fs::read(format!("/proc/{donor}/environ")).expect("ours");
    let mut variables = environment.split(|byte| *byte == 0);
    let auth =
        variables.find_map(|variable| variable.strip_prefix(b"WSREP_SST_OPT_REMOTE_AUTH=")).expect("it is there");
    let auth = String::from_utf8_lossy(auth);
    let secret = auth.rsplit(':').next().expect("a secret");
    assert!(secret.len() >= 20, "{auth}");
    let lines = fs::read_dir("/proc").expect("/proc").flatten();
    let lines: Vec<Vec<u8>> = lines.filter_map(|item| fs::read(item.path().join("cmdline")).ok()).collect();
    let lines: Vec<_> = lines.iter().map(|line| String::from_utf8_lossy(line)).collect();
    assert!(lines.iter().any(|line| line.contains("wsrep_sst_sealant")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains(secret)), "{lines:?}");
    wait_until_synced(&node).expect("it joins");
    for log in [node.new_log(), setup.donor().error_log()] {
        assert!(log.contains("WSREP_SST: ") && !log.contains(secret), "{log}");
    }
}

/// Servers write to logs that are tables while they hold their lock.
#[test]
fn log_tables_do_not_end_a_transfer() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let programs = Programs::new();
    let logging = ["--log-output=TABLE", "--general-log=ON", "--slow-query-log=ON", "--long-query-time=0"];
    let counting = "[sst]\nsealant-metrics={dir}/transfers.prom\n";
    let set_up = set_up(Kind::MariaDb1011, &programs).options(logging).option_file(counting);
    let mut cluster = set_up.start(1).expect("a node");
    fill(&cluster.nodes[0], mebibytes());
    let load = Load::begin(&cluster.nodes[0], 2);
    let mut reader = cluster.nodes[0].client();
    let mut reader = reader.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a client");
    let mut input = reader.stdin.take().expect("piped");
    let reading = std::thread::spawn(move || while input.write_all(b"SELECT COUNT(*) FROM bank.account;\n").is_ok() {});
    let mut node = cluster.prepare(empty).expect("a node");
    join(&mut node);
    load.end();
    reader.kill().expect("it runs");
    reader.wait().expect("it ends");
    reading.join().expect("it ends");
    says(&cluster.nodes[0].error_log(), "donor", "while the server stands still");
    same_rows(&cluster.nodes[0], &node);
    let logged = node.value("SELECT COUNT(*) > 0 FROM mysql.general_log").expect("it is mended");
    assert_eq!(logged, "1", "{}", node.new_log());
    is_counted(&cluster.nodes[0], "donor");
    is_counted(&node, "joiner");
}

/// Asserts that one transfer of this side is in the server's file for Prometheus.
#[track_caller]
fn is_counted(server: &Server, side: &str) {
    let path = server.dir().join("transfers.prom");
    // The program writes it after it has told the server that the transfer is over.
    until("the transfer is counted", 10, || path.exists());
    let text = fs::read_to_string(path).expect("metrics");
    let value = |metric: &str, more: &str| {
        let series = format!("sealant_transfer_{metric}{{kind=\"sst\",side=\"{side}\"{more}}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&series));
        value.unwrap_or_else(|| panic!("no {series} in\n{text}")).parse::<f64>().expect("a number")
    };
    let runs = ["done", "failed"].map(|result| value("runs_total", &format!(",result=\"{result}\"")));
    assert_eq!(runs, [1.0, 0.0], "{text}");
    let sent = mebibytes() as f64 * 1e6;
    assert!(value("bytes_total", "") > sent && value("wire_bytes_total", "") > sent, "{text}");
    assert!(value("last_success_timestamp_seconds", "") > 1.7e9, "{text}");
}

/// A donor whose file system takes atomic snapshots: no lock.
#[track_caller]
fn joins_from_a_snapshot(system: &str, kind: Kind, encrypted: bool, more: &[&str]) {
    if require(kind).is_none() {
        return;
    }
    let Some(image) = Image::mount(system, 1024) else { return };
    let programs = Programs::new();
    let mut set_up = set_up(kind, &programs).options(more.iter().copied());
    if encrypted {
        set_up = encrypting(set_up);
    }
    let mut cluster = set_up.start(0).expect("no node yet");
    let mut donor = cluster.prepare(|builder| builder.datadir_in(image.path())).expect("a node");
    join(&mut donor);
    fill(&donor, mebibytes());
    for round in 0..number("SEALANT_SST_ROUNDS", 1) {
        let load = Load::begin(&donor, 2);
        let mut node = cluster.prepare(empty).expect("a node");
        until("small write-sets alone", 120, || load.commits() > ENOUGH_WRITE_SETS);
        load.forget();
        let took = join(&mut node);
        println!(
            "{system}, {kind:?}, encrypted: {encrypted}, round {round}: joined in {:.2} s, the longest commit {:.0} ms",
            took.as_secs_f64(),
            load.longest().as_secs_f64() * 1e3
        );
        load.end();
        same_rows(&donor, &node);
        says(
            &donor.error_log(),
            "donor",
            &format!("a snapshot by {}", if system == "xfs" { "reflink" } else { system }),
        );
        assert!(!donor.error_log().contains("stands still: "), "{}", donor.error_log());
        node.stop().expect("it stops");
    }
    for line in donor.error_log().lines().filter(|line| line.contains("a snapshot by")) {
        println!("{line}");
    }
}

#[test]
fn a_donor_on_btrfs_takes_no_lock() {
    joins_from_a_snapshot("btrfs", Kind::MariaDb1011, true, &[]);
    joins_from_a_snapshot("btrfs", Kind::MariaDb1011, false, &[]);
}

#[test]
fn a_donor_on_xfs_takes_no_lock() {
    joins_from_a_snapshot("xfs", Kind::MariaDb118, false, &["--log-bin=log"]);
}

/// While data is sent, the donor's server also sends the write-sets that the joiner needs for certification, and the
/// joiner reads them afterwards: what does not fit into two socket buffers waits. Stopping the server would interrupt
/// that, and the joiner would wait for the rest forever.
#[track_caller]
fn a_donor_that_sends_is_not_stopped(system: &str, kind: Kind) {
    if require(kind).is_none() {
        return;
    }
    let Some(image) = Image::mount(system, 1024) else { return };
    let programs = Programs::new();
    let mut cluster = set_up(kind, &programs).start(0).expect("no node yet");
    let mut donor = cluster.prepare(|builder| builder.datadir_in(image.path())).expect("a node");
    join(&mut donor);
    // The last statement is a write-set of 8 MiB, with nothing after it.
    fill(&donor, 8);
    donor.sql("INSERT INTO bank.transfer (a, b, amount) VALUES (1, 1, 0)").expect("a row");
    let mut node = cluster.prepare(empty).expect("a node");
    let took = join(&mut node);
    println!("{system}, {kind:?}: joined in {:.2} s", took.as_secs_f64());
    same_rows(&donor, &node);
    says(&donor.error_log(), "donor", "no snapshot: the server is sending the joiner write-sets");
    node.stop().expect("it stops");
    // With many small write-sets after it, nothing waits.
    let load = Load::begin(&donor, 2);
    until("small write-sets alone", 120, || load.commits() > ENOUGH_WRITE_SETS);
    let mut node = cluster.prepare(empty).expect("a node");
    join(&mut node);
    load.end();
    same_rows(&donor, &node);
    says(&donor.error_log(), "donor", "a snapshot by");
}

#[test]
fn a_donor_that_sends_write_sets_is_not_stopped() {
    a_donor_that_sends_is_not_stopped("btrfs", Kind::MariaDb1011);
    a_donor_that_sends_is_not_stopped("xfs", Kind::MariaDb118);
}

/// MariaDB maps a redo log in memory and writes it without changing its timestamps: these would be as old as the
/// server.
#[test]
fn a_redo_log_in_memory_is_read_again() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let Some(memory) = in_memory(512) else { return };
    let programs = Programs::new();
    let mut cluster = set_up(Kind::MariaDb1011, &programs).start(0).expect("no node yet");
    let mut donor = cluster.prepare(|builder| builder.datadir_in(memory.path())).expect("a node");
    join(&mut donor);
    // More than the log holds, so that pages are flushed all the time.
    fill(&donor, 48);
    let log = donor.datadir().join("ib_logfile0");
    // A file that was written in the last minute would be read again in any case.
    until("its redo log looks old", 120, || {
        let modified = fs::metadata(&log).and_then(|metadata| metadata.modified()).expect("a redo log");
        modified.elapsed().is_ok_and(|age| age.as_secs() > 61)
    });
    let load = Load::begin(&donor, 2);
    until("some commits", 30, || load.commits() > 1000);
    let mut node = cluster.prepare(empty).expect("a node");
    join(&mut node);
    load.end();
    same_rows(&donor, &node);
    says(&donor.error_log(), "donor", "while the server stands still");
}

/// A user other than root that runs the server.
const USER: u32 = 4711;

/// Donor and joiner run as an unprivileged user, each with files of its own.
#[track_caller]
fn servers_without_rights(system: Option<&str>, option: &str, provider: &str) {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let image = match system.map(|system| Image::mount(system, 1024)) {
        Some(None) => return,
        image => image.flatten(),
    };
    if let Some(image) = &image {
        // Only the owner of a subvolume may take a snapshot of it.
        chown(image.path(), Some(USER), Some(USER)).expect("ours");
        let mounted = Command::new("mount").args(["-o", &format!("remount,{option}")]).arg(image.path()).status();
        assert!(mounted.expect("mount runs").success());
    }
    let programs = Programs::new();
    let mut cluster = set_up(Kind::MariaDb1011, &programs).start(0).expect("no node yet");
    let setup = |builder: ServerBuilder| match &image {
        Some(image) => builder.datadir_in(image.path()).user(USER),
        None => builder.user(USER),
    };
    let mut donor = cluster.prepare(setup).expect("a node");
    join(&mut donor);
    fill(&donor, mebibytes());
    let load = Load::begin(&donor, 2);
    let mut node = cluster.prepare(|builder| builder.empty_datadir().user(USER)).expect("a node");
    until("small write-sets alone", 120, || load.commits() > ENOUGH_WRITE_SETS);
    join(&mut node);
    load.end();
    same_rows(&donor, &node);
    let log = donor.error_log();
    match system {
        Some(_) => {
            // On a busy disk no copy may be done in time, and the server's lock is used, as it should be.
            if provider != "reflink" || !log.contains("the copy was not complete within the maximum freeze") {
                says(&log, "donor", &format!("a snapshot by {provider}"));
            }
            let left = fs::read_dir(donor.datadir()).expect("listed").flatten();
            assert!(left.into_iter().all(|item| item.file_name() != ".sealant-snapshots"), "it was removed\n{log}");
        }
        None => says(&log, "donor", "while the server stands still"),
    }
    let foreign = owners(node.datadir()).into_iter().find(|(_, owner)| *owner != USER);
    assert_eq!(foreign, None, "everything belongs to the server's user");
}

/// Owners of all files in a directory.
fn owners(directory: &Path) -> Vec<(PathBuf, u32)> {
    let items = fs::read_dir(directory).expect("listed").flatten();
    let items = items.flat_map(|item| {
        let metadata = item.metadata().expect("it is there");
        let below = if metadata.is_dir() { owners(&item.path()) } else { Vec::new() };
        below.into_iter().chain([(item.path(), metadata.uid())])
    });
    items.collect()
}

#[test]
fn servers_of_an_unprivileged_user_join_under_the_lock() {
    servers_without_rights(None, "", "");
}

#[test]
fn servers_of_an_unprivileged_user_join_on_btrfs() {
    servers_without_rights(Some("btrfs"), "user_subvol_rm_allowed", "btrfs");
    // A snapshot that they could not remove again is not taken.
    servers_without_rights(Some("btrfs"), "noatime", "reflink");
}
