//! Nodes of a real Galera cluster that join by `wsrep_sst_method=sealant` while it works.
//!
//! `SEALANT_SST_ROUNDS` is the number of joins under load (1), `SEALANT_SST_MIB` how much there is to
//! send (48).
#![allow(clippy::print_stdout, reason = "what was measured, and what was left out")]

mod support;

use std::fs;

use harness::certs::{Authority, Profile};
use harness::{Kind, ServerBuilder, TlsFiles, require};

use crate::support::chance::number;
use crate::support::sst::{
    Image, Load, Place, Programs, empty, fails, fill, join, mebibytes, same_rows, says, set_up, until,
};

const KEYS: &str = "1;770a8a65da156d24ee2a093277530142\n";
/// All that MariaDB encrypts.
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
#[track_caller]
fn nodes_join_under_load(kind: Kind, encrypted: bool) {
    if require(kind).is_none() {
        return;
    }
    let programs = Programs::new();
    let mut set_up = set_up(kind, &programs);
    if encrypted {
        set_up = set_up.file("keys.txt", KEYS.as_bytes()).options(ENCRYPTING);
    }
    let mut cluster = set_up.start(1).expect("a node");
    fill(&cluster.nodes[0], mebibytes());
    for round in 0..number("SEALANT_SST_ROUNDS", 1) {
        let load = Load::begin(&cluster.nodes[0], 2);
        // One with nothing, and one with data of another time.
        for own in [empty as fn(ServerBuilder) -> ServerBuilder, |builder| builder] {
            let mut node = cluster.prepare(own).expect("a node");
            load.forget();
            let before = load.commits();
            let took = join(&mut node);
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
        cluster.nodes.truncate(1);
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
fn certificates_of_the_site() {
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
    let Some(mut place) = Place::new(Kind::MariaDb1011) else { return };
    place.options(&section(&good));
    // None where the donor has some, one for another name, and a good one.
    let mut node = place.node(|builder| builder);
    fails(&mut node);
    says(&place.donor().error_log(), "[ERROR] sealant donor", "the joiner shows none");
    let option_file = node.dir().join("my.cnf");
    fs::write(&option_file, section(&other)).expect("an option file");
    says(&fails(&mut node), "[ERROR] sealant joiner", "");
    says(&place.donor().error_log(), "[ERROR] sealant donor", "certificate");
    fs::write(&option_file, section(&good)).expect("an option file");
    join(&mut node);
    says(&node.new_log(), "joiner", "certificates of [sst]");
    same_rows(place.donor(), &node);
}

/// A donor whose file system takes copies of one instant: no lock.
#[track_caller]
fn joins_from_a_snapshot(system: &str, kind: Kind, encrypted: bool, more: &[&str]) {
    if require(kind).is_none() {
        return;
    }
    let Some(image) = Image::mount(system, 1024) else {
        println!("skipped: only root can make and mount {system}");
        return;
    };
    let programs = Programs::new();
    let mut set_up = set_up(kind, &programs).options(more.iter().copied());
    if encrypted {
        set_up = set_up.file("keys.txt", KEYS.as_bytes()).options(ENCRYPTING);
    }
    let mut cluster = set_up.start(0).expect("no node yet");
    let mut donor = cluster.prepare(|builder| builder.datadir_in(image.path())).expect("a node");
    join(&mut donor);
    fill(&donor, mebibytes());
    for round in 0..number("SEALANT_SST_ROUNDS", 1) {
        let load = Load::begin(&donor, 2);
        let mut node = cluster.prepare(empty).expect("a node");
        until("some commits", 30, || load.commits() > 50);
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
