//! Sends a source in rounds while another program writes to it.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write,
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use codec::page::KeyFileKeys;
use transfer::{
    Error,
    codec::level::Compression,
    pairing::PairingCode,
    plan::{Plan, Selection},
    progress::Progress,
    receiver::{ReceiveSettings, Received, ReceiverListener, Trust},
    sender::{Destination, SendSettings, Session, Source},
};

const MIB: usize = 1 << 20;
const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect()
}

fn settings() -> SendSettings {
    SendSettings {
        streams: 3,
        compression: Compression::Auto,
        bandwidth: None,
        suite: None,
        timeout: harness::limit(30),
        key_file_keys: KeyFileKeys::Keep,
    }
}

fn listen(into: &Path, listen: SocketAddr, expiry: Duration) -> ReceiverListener {
    let settings = ReceiveSettings {
        into: into.to_owned(),
        listen,
        advertise: Vec::new(),
        streams: 4,
        expiry,
        timeout: harness::limit(30),
        owner: None,
        allow: Vec::new(),
        restart: false,
        rekey: None,
    };
    ReceiverListener::listen(settings, &Trust::Pairing).expect("it listens")
}

/// Receives into `into` and sends with `send`.
fn moved<T>(into: &Path, send: impl FnOnce(Session<'_>) -> T) -> (Result<Received, Error>, T) {
    let listener = listen(into, SocketAddr::new(LOCALHOST, 0), harness::limit(60));
    let before = into.exists();
    let destination = Destination::Paired(listener.code().expect("a code").clone());
    thread::scope(|scope| {
        let receiving = scope.spawn(move || {
            let mut session = listener.wait(|_| {})?;
            assert_eq!(session.receive_note()?, "everything");
            assert_eq!(into.exists(), before, "nothing is touched before the first word");
            session.receive(&Progress::default())
        });
        let progress = Progress::default();
        let mut session = Session::open(&destination, &settings(), &progress).expect("it connects");
        session.send_note("everything").expect("it hears");
        let sent = send(session);
        (receiving.join().expect("no panic"), sent)
    })
}

fn plan(root: &Path) -> Plan {
    Plan::scan(root, &Selection::default()).expect("a plan")
}

fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let plan = plan(root);
    let files = plan.entries.iter().filter(|planned| planned.file_bytes().is_some());
    files.map(|file| (file.entry.path.as_path().to_owned(), fs::read(plan.absolute(file)).expect("a file"))).collect()
}

#[test]
fn the_copy_is_that_of_the_last_round() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let [root, into] = ["source", "target"].map(|name| directory.path().join(name));
    fs::create_dir_all(root.join("db")).expect("a directory");
    let write = |name: &str, bytes: &[u8]| fs::write(root.join(name), bytes).expect("a file");
    let large = bytes(8 * MIB + 77, 1);
    write("db/large", &large);
    write("db/steady", &bytes(3 * MIB, 2));
    write("db/grows", &bytes(MIB, 3));
    write("db/shrinks", &bytes(5 * MIB + 5, 4));
    write("db/goes", &bytes(2 * MIB, 5));
    write("db/replaced", &bytes(2 * MIB, 6));
    write("small", b"1");
    let (received, rounds) = moved(&into, |mut session| {
        let first_plan = plan(&root);
        // After the plan is made, before the files are read.
        write("db/grows", &bytes(MIB + 9, 30));
        fs::remove_file(root.join("db/goes")).expect("it was there");
        File::options().write(true).open(root.join("db/shrinks")).expect("a file").set_len(100).expect("a length");
        let first = session.round(&first_plan, None, Source::InUse).expect("a round");
        // Changes one chunk of the large file, replaces a file with another one, and creates a directory.
        let file = File::options().write(true).open(root.join("db/large")).expect("a file");
        file.write_all_at(b"changed", 4 * MIB as u64 + 3).expect("room");
        write("new", &bytes(2 * MIB, 60));
        fs::rename(root.join("new"), root.join("db/replaced")).expect("a name");
        fs::create_dir(root.join("db2")).expect("a directory");
        write("db2/later", &bytes(10, 7));
        for _ in 0..3 {
            session.idle(Duration::from_millis(10)).expect("it waits");
        }
        let second = session.round(&plan(&root), None, Source::InUse).expect("a round");
        write("small", b"23");
        // Files written so long ago are not read again.
        let written = Instant::now();
        while written.elapsed() < Duration::from_secs(61) {
            session.idle(Duration::from_secs(1)).expect("it waits");
        }
        let third = session.round(&plan(&root), None, Source::InUseCached).expect("a round");
        write("small", b"345");
        let last = plan(&root);
        let to_read = session.bytes_to_read(&last);
        let fourth = session.round(&last, None, Source::Static).expect("a round");
        session.send_note("position 5").expect("it hears");
        session.finish().expect("it is committed");
        assert_eq!(fourth.read_bytes, to_read);
        [first, second, third, fourth]
    });
    let received = received.expect("it is committed");
    assert_eq!(received.notes, ["position 5"]);
    assert_eq!(files(&into), files(&root));
    let [first, second, third, fourth] = rounds;
    assert_eq!(first.read_bytes, (8 * MIB + 77 + 3 * MIB + MIB + 5 * MIB + 5 + 2 * MIB + 2 * MIB + 1) as u64);
    assert!(second.sent_bytes >= 4 * MIB as u64 && second.sent_bytes < 5 * MIB as u64, "{second:?}");
    assert!(third.sent_bytes <= 2, "{third:?}");
    assert_eq!((fourth.read_bytes, fourth.sent_bytes), (3, 3));
}

#[test]
fn a_source_that_was_emptied_arrives_empty() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let [root, into] = ["source", "target"].map(|name| directory.path().join(name));
    fs::create_dir_all(root.join("db")).expect("a directory");
    fs::write(root.join("db/file"), bytes(2 * MIB, 1)).expect("a file");
    let (received, ()) = moved(&into, |mut session| {
        session.round(&plan(&root), None, Source::InUse).expect("a round");
        fs::remove_dir_all(root.join("db")).expect("it was there");
        session.round(&plan(&root), None, Source::InUse).expect("a round");
        session.round(&plan(&root), None, Source::Static).expect("a round");
        session.finish().expect("it is committed");
    });
    assert_eq!(received.expect("it is committed").entries, 0);
    assert_eq!(fs::read_dir(&into).expect("a directory").count(), 1, "the manifest");
}

#[test]
fn a_file_that_changes_in_the_last_round_aborts_the_transfer() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let [root, into] = ["source", "target"].map(|name| directory.path().join(name));
    fs::create_dir(&root).expect("a directory");
    fs::write(root.join("file"), bytes(2 * MIB, 1)).expect("a file");
    let (received, sent) = moved(&into, |mut session| {
        session.round(&plan(&root), None, Source::InUse).expect("a round");
        let plan = plan(&root);
        fs::write(root.join("file"), bytes(2 * MIB, 2)).expect("a file");
        session.round(&plan, None, Source::Static)
    });
    assert!(matches!(sent, Err(Error::Changed { .. })), "{sent:?}");
    assert!(matches!(received, Err(Error::Peer { .. })), "{received:?}");
    assert!(!into.join("file").exists());
}

#[test]
fn the_next_attempt_resumes_an_interrupted_round() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let [root, into] = ["source", "target"].map(|name| directory.path().join(name));
    fs::create_dir(&root).expect("a directory");
    fs::write(root.join("file"), bytes(4 * MIB, 1)).expect("a file");
    let (received, ()) = moved(&into, |mut session| {
        session.round(&plan(&root), None, Source::InUse).expect("a round");
        session.abort("enough");
    });
    assert!(received.is_err());
    assert!(into.join(".sealant-staging").exists() && !into.join("file").exists());
    let (received, round) = moved(&into, |mut session| {
        let round = session.round(&plan(&root), None, Source::Static).expect("a round");
        session.finish().expect("it is committed");
        round
    });
    received.expect("it is committed");
    assert_eq!(round.sent_bytes, 0);
    assert_eq!(files(&into), files(&root));
}

/// Three addresses of this host with one port: on the first another service answers, on the second a receiver with
/// another key.
#[test]
fn other_services_at_addresses_of_the_code_are_skipped() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let [root, into, other] = ["source", "target", "other"].map(|name| directory.path().join(name));
    fs::create_dir(&root).expect("a directory");
    fs::write(root.join("file"), bytes(MIB, 1)).expect("a file");
    let [first, second, third] = [11, 12, 13].map(|last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)));
    let port = harness::free_port().expect("a port");
    let right = listen(&into, SocketAddr::new(third, port), harness::limit(60));
    let code = right.code().expect("a code").clone();
    let web = TcpListener::bind((first, code.port)).expect("a port");
    let wrong = listen(&other, SocketAddr::new(second, code.port), harness::limit(4));
    let progress = Progress::default();
    let destination =
        |addresses: &[IpAddr]| Destination::Paired(PairingCode { addresses: addresses.to_vec(), ..code.clone() });
    thread::scope(|scope| {
        scope.spawn(|| {
            for socket in web.incoming().take(2) {
                let sent = socket.and_then(|mut socket| socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
                sent.expect("it is sent");
            }
        });
        let waiting =
            scope.spawn(|| wrong.wait(|why| assert!(!why.contains("secret"), "it was given one: {why}")).map(drop));
        let nowhere = destination(&[first, second]);
        let refused = Session::open(&nowhere, &settings(), &progress).expect_err("neither is the receiver");
        let Error::Unreached { tried } = &refused else { panic!("{refused}") };
        assert!(matches!(tried.as_slice(), [Error::Tls { .. }, Error::NotTheReceiver { .. }]), "{tried:?}");
        let message = refused.to_string();
        assert!(
            [first, second].iter().all(|address| message.contains(&format!("{address}:{}", code.port))),
            "{message}"
        );

        let receiving = scope.spawn(move || right.wait(|_| {})?.receive(&Progress::default()));
        let everywhere = destination(&[first, second, third]);
        let mut session = Session::open(&everywhere, &settings(), &progress).expect("the third is");
        session.round(&plan(&root), None, Source::Static).expect("a round");
        session.finish().expect("it is committed");
        receiving.join().expect("no panic").expect("it is committed");
        // It received no secret, not even a wrong one.
        let ended = waiting.join().expect("no panic");
        assert!(matches!(ended, Err(Error::Expired { .. })), "{ended:?}");
    });
}
