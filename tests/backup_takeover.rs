//! `sealant backup binlogs` when an address leads to another server than before, and when a server takes over.

use std::fs;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use harness::{Kind, Replication, Server, limit, require, wait_until};

use crate::support::backup::{Backups, Ran, files_below};

const OPTIONS: [&str; 2] = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
const TABLE: &str = "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, note TEXT)";

fn mysql() -> Server {
    Server::builder(Kind::MySql97).options(OPTIONS).start().expect("the server starts")
}

fn socket(path: &Path) -> String {
    format!("socket = {path:?}")
}

/// Backups that archive the binary logs of the server at a socket.
fn backups(server: &Server, at: &Path) -> Backups {
    let backups = Backups::new(server.datadir(), &format!("{}\nuser = \"root\"", socket(at)));
    backups.configure("[data]\n", "[binlogs]\nsegment_every = \"1s\"\n[data]\nprovider = \"follow\"\n");
    backups
}

fn insert(server: &Server, note: &str) {
    server.sql(&format!("INSERT INTO shop.orders (note) VALUES ('{note}')")).expect("changed");
}

fn once(backups: &Backups) -> Ran {
    backups.backup(&["binlogs", "--once"])
}

/// Objects of the archive, with their content.
fn archived(backups: &Backups) -> Vec<(PathBuf, Vec<u8>)> {
    let objects = backups.objects().into_iter().filter(|path| path.to_string_lossy().contains("/binlogs/"));
    objects.map(|path| (path.clone(), fs::read(&path).expect("readable"))).collect()
}

/// A socket that leads each connection to a server: the first to the first, and so on.
struct MovingAddress {
    path: PathBuf,
    servers: Arc<Mutex<Vec<PathBuf>>>,
    connections: Arc<AtomicUsize>,
    _directory: tempfile::TempDir,
}

impl MovingAddress {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).expect("a socket");
        let (servers, connections) = (Arc::new(Mutex::new(Vec::<PathBuf>::new())), Arc::new(AtomicUsize::new(0)));
        let (of, counted) = (Arc::clone(&servers), Arc::clone(&connections));
        thread::spawn(move || {
            for near in listener.incoming() {
                let (near, number) = (near.expect("a connection"), counted.fetch_add(1, Ordering::SeqCst));
                let servers = of.lock().expect("not poisoned");
                let server = servers.get(number).or_else(|| servers.last()).expect("a server").clone();
                thread::spawn(move || relay(&near, &UnixStream::connect(server).expect("the server listens")));
            }
        });
        Self { path, servers, connections, _directory: directory }
    }

    fn lead_to(&self, servers: &[&Server]) {
        *self.servers.lock().expect("not poisoned") = servers.iter().map(|server| server.socket().into()).collect();
        self.connections.store(0, Ordering::SeqCst);
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn relay(near: &UnixStream, far: &UnixStream) {
    let copy = |mut from: &UnixStream, mut to: &UnixStream| {
        // Either side may close the connection first.
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Both);
    };
    thread::scope(|scope| {
        scope.spawn(|| copy(near, far));
        copy(far, near);
    });
}

#[test]
fn a_moving_address_does_not_mix_archives() {
    if require(Kind::MySql97).is_some() {
        archives_are_not_mixed(&mysql(), &mysql());
    }
}

#[test]
fn a_moving_address_does_not_mix_archives_of_mariadb() {
    if require(Kind::MariaDb1011).is_some() {
        let mariadb =
            || Server::builder(Kind::MariaDb1011).option("--log-bin=binlog").start().expect("the server starts");
        archives_are_not_mixed(&mariadb(), &mariadb());
    }
}

/// Whichever connection leads to another server: nothing of that one gets into the archive of the first.
fn archives_are_not_mixed(first: &Server, second: &Server) {
    for server in [first, second] {
        server.sql(TABLE).expect("a table is made");
        insert(server, "begin");
    }
    let address = MovingAddress::new();
    let backups = backups(first, &address.path);
    let is_refused = |begins: usize| {
        let before = archived(&backups);
        // A run makes a few connections; from one of them on, each leads to the other server.
        for number in 1.. {
            let mut servers = vec![first; number];
            servers.push(second);
            address.lead_to(&servers);
            let ran = once(&backups);
            if address.connections() <= number {
                assert!(number > begins, "{number}");
                return ran.is(0);
            }
            ran.is(1).says("another server answers than before");
            assert_eq!(archived(&backups), before, "connection {number}");
        }
        unreachable!("a run ends")
    };
    // At the beginning of an archive, and where it goes on.
    is_refused(1);
    insert(first, "second run");
    insert(second, "in the other server");
    is_refused(1);
    address.lead_to(&[first]);
    assert_eq!(once(&backups).is(0).json["segments"], 0);
    let shown = backups.backup(&["binlogs", "show"]).is(0).json;
    let name = if first.kind().is_mariadb() { "server_id" } else { "server_uuid" };
    let name = first.value(&format!("SELECT @@{name}")).expect("a name");
    assert_eq!(shown["archives"].as_array().map(Vec::len), Some(1), "{shown:#}");
    assert_eq!(shown["archives"][0]["server"], name.as_str(), "{shown:#}");
    let of_server = |gtids: &str| gtids.contains(&name) && !gtids.contains(',');
    assert!(shown["archives"][0]["gtid"].as_str().is_some_and(of_server), "{shown:#}");
}

/// A server that was promoted may still apply what it has received from the lost one.
#[test]
fn the_applier_of_a_promoted_server_may_lag() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let (mut source, mut replica) = (mysql(), mysql());
    source.sql(TABLE).expect("a table is made");
    replica.replicate_from(&source, &Replication::default()).expect("it replicates");
    let backups = backups(&source, source.socket());
    once(&backups).is(0);
    replica.catch_up_with(&source).expect("it catches up");
    thread::scope(|scope| {
        // The applier waits for this lock.
        scope.spawn(|| replica.sql("LOCK TABLES shop.orders WRITE; DO SLEEP(600)").expect_err("it is killed"));
        let sleeping = "SELECT id FROM performance_schema.processlist WHERE info LIKE 'DO SLEEP%'";
        let session = wait_until("the lock is taken", limit(60), || match replica.value(sleeping).expect("a row") {
            id if id.is_empty() => Err("not yet"),
            id => Ok(id),
        });
        waits_for_the_applier(&backups, &mut source, &replica, &session);
    });
}

fn waits_for_the_applier(backups: &Backups, source: &mut Server, replica: &Server, session: &str) {
    insert(source, "archived, and not applied");
    once(backups).is(0);
    let last = source.value("SELECT REPLACE(@@GLOBAL.gtid_executed, ':1-', ':')").expect("a GTID");
    wait_until("the replica receives it", limit(60), || {
        let received = format!(
            "SELECT GTID_SUBSET('{last}', received_transaction_set) FROM performance_schema.replication_connection_status"
        );
        let received = replica.value(&received).expect("a row");
        if received == "1" { Ok(()) } else { Err(received) }
    });
    source.stop().expect("it stops");
    backups.configure(&socket(source.socket()), &socket(replica.socket()));

    // The limit ends the waiting.
    backups.configure("[binlogs]\n", "[binlogs]\ntakeover_wait = \"2s\"\n");
    let lost = once(backups).is(3).says("waiting at most 2 s").says("the new server lacks transactions of");
    assert_eq!(lost.json["gaps"].as_array().map(Vec::len), Some(1), "{}", lost.json);
    let uuid = replica.value("SELECT @@server_uuid").expect("a UUID");
    let of_replica = |path: &&PathBuf| path.to_string_lossy().contains(&format!("binlogs-{uuid}"));
    let states = files_below(&backups.path("state"));
    fs::remove_file(states.iter().find(of_replica).expect("a state")).expect("removed");
    fs::remove_dir_all(backups.object(&format!("hosts/db1/binlogs/{uuid}"))).expect("removed");

    backups.configure("takeover_wait = \"2s\"", "takeover_wait = \"60s\"");
    let took = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_secs(8));
            replica.sql(&format!("KILL {session}")).expect("the lock is released");
        });
        once(backups).is(0)
    });
    let took = took.says("waiting at most 60 s").says("the server took over from");
    assert_eq!(took.json["gaps"].as_array().map(Vec::len), Some(0), "{}", took.json);
}

/// A restored directory has to end where it is said to end, also if nothing was to be replayed.
#[test]
fn a_directory_that_has_what_is_to_be_left_out_is_refused() {
    let Some(found) = require(Kind::MySql97) else { return };
    let mut server = mysql();
    server.sql(TABLE).expect("a table is made");
    insert(&server, "in");
    server.sql("FLUSH BINARY LOGS").expect("flushed");
    insert(&server, "to be left out");
    let backups = backups(&server, server.socket());
    backups.configure("provider = \"follow\"", "provider = \"stopped\"");
    once(&backups).is(0);
    let newest = server.value("SHOW BINARY LOG STATUS").expect("a log");
    let newest = newest.split('\t').next().expect("a name").to_owned();
    server.stop().expect("it stops");
    // The directory lost its newest log, so it seems to end with the one before.
    let index = fs::read_to_string(server.datadir().join("binlog.index")).expect("an index");
    let others: String =
        index.lines().filter(|line| !line.ends_with(&newest)).map(|line| format!("{line}\n")).collect();
    assert_ne!(others, index);
    fs::write(server.datadir().join("binlog.index"), &others).expect("written");
    fs::remove_file(server.datadir().join(&newest)).expect("removed");
    backups.configure(&socket(server.socket()), "");
    backups.backup(&["run"]).is(0);
    let mysqld = found.daemon;
    let mysqld = mysqld.to_str().expect("ASCII");
    let position = format!("{}:4", newest);
    let options = ["--mysqld", mysqld, "--to-position", &position];
    let ran = backups.restore("1", &backups.path("restored"), &options);
    ran.is(1).says("it has executed a transaction that was to be left out");
}

/// The server keeps what a repository does not take, as long as it keeps its logs.
#[test]
fn while_the_repository_fails_the_lag_is_said() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let server = mysql();
    server.sql(TABLE).expect("a table is made");
    let backups = backups(&server, server.socket());
    // What waits on this host would not be behind.
    backups.configure("segment_every", "spool_max = \"0\"\nsegment_every");
    once(&backups).is(0);
    let (repository, aside) = (backups.path("repository"), backups.path("aside"));
    let says = backups.path("says");
    let output = fs::File::create(&says).expect("a file");
    let mut follower = backups.command(&["binlogs", "--follow"]).stderr(output).spawn().expect("it starts");
    let said = |text: &str| {
        wait_until(text, limit(60), || {
            let said = fs::read_to_string(&says).expect("text");
            if said.contains(text) { Ok(()) } else { Err(said) }
        });
    };
    said("the server sends its log from");
    fs::rename(&repository, &aside).expect("moved");
    fs::write(&repository, "in its place").expect("written");
    insert(&server, "not archived");
    said("of binary logs behind the server");
    server.sql("FLUSH BINARY LOGS").expect("flushed");
    insert(&server, "in the next log");
    said("whose oldest log, binlog.000001, is not archived yet");
    fs::remove_file(&repository).expect("removed");
    fs::rename(&aside, &repository).expect("back");
    let executed = server.value("SELECT @@GLOBAL.gtid_executed").expect("GTIDs");
    wait_until("it is archived", limit(90), || {
        let gtid = |json: &serde_json::Value| json["gtid"].as_str().map(str::to_owned);
        let states = files_below(&backups.path("state"));
        let state = states.iter().find(|path| path.extension() == Some("json".as_ref())).expect("a state");
        let state = serde_json::from_slice(&fs::read(state).expect("readable")).expect("JSON");
        if gtid(&state).as_deref() == Some(executed.as_str()) { Ok(()) } else { Err(state.to_string()) }
    });
    let stopped = std::process::Command::new("kill").arg(follower.id().to_string()).status().expect("kill runs");
    assert!(stopped.success() && follower.wait().expect("it ends").success(), "{:?}", fs::read_to_string(&says));
    backups.backup(&["check", "all", "--objects"]).is(0);
}

/// Two machines with copies of one state, or a state that was restored: neither may go on beside newer receipts.
#[test]
fn an_old_state_is_not_continued() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let server = mysql();
    server.sql(TABLE).expect("a table is made");
    let backups = backups(&server, server.socket());
    let is_state = |path: &PathBuf| path.extension() == Some("json".as_ref());
    for note in ["one", "two"] {
        insert(&server, note);
        once(&backups).is(0);
    }
    let state = files_below(&backups.path("state")).into_iter().find(is_state).expect("a state");
    let old = fs::read(&state).expect("readable");
    insert(&server, "three");
    once(&backups).is(0);
    insert(&server, "four");
    fs::write(&state, old).expect("written");
    let before = archived(&backups);
    once(&backups).is(1).says("it ends with receipt 2, and receipt 3 exists").says("remove binlogs-");
    assert_eq!(archived(&backups), before);
    // What somebody else has put is not one of them.
    let uuid = server.value("SELECT @@server_uuid").expect("a UUID");
    let receipts = backups.object(&format!("hosts/db1/binlogs/{uuid}/receipts"));
    fs::write(receipts.join("00000009.json"), "of somebody else").expect("written");
    once(&backups).is(1).says("receipt 3 exists");
    fs::remove_file(receipts.join("00000009.json")).expect("removed");

    fs::remove_file(&state).expect("removed");
    assert!(once(&backups).is(0).json["segments"].as_u64() > Some(0));
    let shown = backups.backup(&["binlogs", "show"]).is(0).json;
    let executed = server.value("SELECT @@GLOBAL.gtid_executed").expect("GTIDs");
    assert_eq!(shown["archives"][0]["gtid"], executed.as_str(), "{shown:#}");
}
