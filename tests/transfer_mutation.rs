//! A transfer whose bytes are changed: above TLS, by a sender that has paired correctly, and below TLS, by the network.
//! Whatever the change, no receiver panics or hangs, none commits other bytes than those that were sent, and nothing
//! outside its staging directory is touched before the commit.
//!
//! `SEALANT_MUTATIONS` is the number of changed frames (5,000) and `SEALANT_FLIPS` that of flipped bits;
//! `SEALANT_FAULT_SEED` chooses them.

use std::ffi::OsString;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use codec::entry::{Entry, Kind};
use codec::hash::{CHUNK_BYTES, Hash, chunk_bytes, chunk_hash, chunks_of, file_hash};
use codec::path::RelativePath;
use harness::limit;
use keyring::WritableKeyring;
use tempfile::TempDir;
use transfer::manifest::Manifest;
use transfer::pairing::PairingCode;
use transfer::progress::Progress;
use transfer::receiver::{ReceiveSettings, Received, Receiver, Trust};
use transfer::wire::{Chunk, Codec, Control, Data, Material, Root, SecretBytes, Segment, frame};

use crate::peer::flip::Flip;
use crate::peer::{Rogue, Tls, hear, say_bytes};
use crate::support::chance::{Random, number};

/// A session that takes longer hangs.
const SECONDS: u64 = 20;
/// How long to wait for an answer to a changed message, which may never come.
const BRIEF: Duration = Duration::from_millis(30);
const ROOT: Root = Root { mode: 0o700, uid: 0, gid: 0 };

/// The source: a file with holes, one that compresses, one in a directory, a link, and, if the test may take long, one
/// of two chunks.
fn source(long: bool) -> Vec<(Entry, Vec<u8>)> {
    let mut random = Random(0x5ea1);
    let mut holey = random.fill(24 << 10);
    holey[4096..16384].fill(0);
    let contents = [
        ("d", None),
        ("d/small", Some(b"contents".to_vec())),
        ("empty", Some(Vec::new())),
        ("holey", Some(holey)),
        ("link", None),
        ("text", Some(b"all work and no play ".repeat(1000))),
        ("two", Some([vec![7; CHUNK_BYTES], random.fill(5000)].concat())),
    ];
    let entry = |(path, bytes): (&str, Option<Vec<u8>>)| {
        let kind = match &bytes {
            Some(bytes) => Kind::File { bytes: bytes.len() as u64 },
            None if path == "link" => Kind::Link { target: b"text".to_vec() },
            None => Kind::Directory,
        };
        let path = RelativePath::parse(path.as_bytes()).expect("a path");
        (Entry { path, kind, mode: 0o700, uid: 0, gid: 0, modified: (1, 2) }, bytes.unwrap_or_default())
    };
    contents.into_iter().filter(|(path, _)| long || *path != "two").map(entry).collect()
}

/// All messages of a sender, in order.
struct Script {
    parts: Vec<Part>,
    /// Whether it is for a receiver that re-wraps keys.
    rekey: bool,
}

/// Frames that go over one connection, and the type of the message that answers the last one.
#[derive(Clone)]
struct Part {
    is_data: bool,
    frames: Vec<Vec<u8>>,
    answer: Option<u8>,
}

impl Script {
    fn frames(&self) -> Vec<Vec<u8>> {
        self.parts.iter().flat_map(|part| part.frames.clone()).collect()
    }
}

fn control(message: &Control) -> Vec<u8> {
    let mut body = Vec::new();
    let kind = message.encode(&mut body);
    [&frame::header(kind, body.len())[..], &body].concat()
}

fn data(message: &Data<'_>, payload: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let kind = message.encode(&mut body);
    body.extend(payload);
    [&frame::header(kind, body.len())[..], &body].concat()
}

/// In one list or in two; with unwrapped keys or without.
fn script(source: &[(Entry, Vec<u8>)], twice: bool, rekey: bool) -> Script {
    let said = |frames| Part { is_data: false, frames, answer: Some(READY) };
    let sent = |frames| Part { is_data: true, frames, answer: Some(DRAINED) };
    let mut parts = Vec::new();
    if twice {
        // One file changes, and one is missing.
        let before: Vec<_> = source.iter().map(|(entry, bytes)| (entry.clone(), before(entry, bytes))).collect();
        parts.extend([said(list(&before, true)), sent(chunks(&before, |path| path != "d/small"))]);
    }
    parts.push(said(list(source, false)));
    if rekey {
        let frames = [Control::Ping, Control::UnwrappedEnd { files: 0 }].iter().map(control).collect();
        parts.push(Part { is_data: false, frames, answer: None });
    }
    parts.push(sent(chunks(source, |path| !twice || ["d/small", "text"].contains(&path))));
    let finish = vec![control(&Control::Ping), control(&Control::Finish { tree: tree(source) })];
    parts.push(Part { is_data: false, frames: finish, answer: Some(COMMITTED) });
    Script { parts, rekey }
}

fn before(entry: &Entry, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if entry.path.as_bytes() == b"text" {
        bytes.reverse();
    }
    bytes
}

fn list(source: &[(Entry, Vec<u8>)], more: bool) -> Vec<Vec<u8>> {
    let entries = u32::try_from(source.len()).expect("few");
    let mut list: Vec<_> = source.iter().map(|(entry, _)| control(&Control::Entry(entry.clone()))).collect();
    list.push(control(&Control::PlanEnd { entries, allocated_bytes: 0, more, root: ROOT }));
    list
}

/// The chunks of a file, with their hashes.
fn hashed<'b>(entry: &Entry, bytes: &'b [u8]) -> Vec<(Hash, &'b [u8])> {
    let Kind::File { bytes: length } = entry.kind else { return Vec::new() };
    let part = |chunk| &bytes[chunk as usize * CHUNK_BYTES..][..chunk_bytes(length, chunk)];
    (0..chunks_of(length)).map(|chunk| (chunk_hash(length, chunk, part(chunk)), part(chunk))).collect()
}

fn chunks(source: &[(Entry, Vec<u8>)], wanted: impl Fn(&str) -> bool) -> Vec<Vec<u8>> {
    let key = [&[1][..], &16384_u32.to_be_bytes(), &[7; 64]].concat();
    let mut said = vec![data(&Data::Key { slot: 3, material: Material(&key) }, &[]), data(&Data::Ping, &[])];
    let wanted = source.iter().enumerate().filter(|(_, (entry, _))| wanted(&entry.path.to_string()));
    for (file, (entry, bytes)) in wanted {
        let chunks = (0..).zip(hashed(entry, bytes));
        said.extend(chunks.map(|(number, (hash, part))| chunk_frame(file as u32, number, hash, entry, part)));
    }
    // The empty file is in each list.
    said.extend([data(&Data::HashQuery { file: 2, first: 0, count: 1 }, &[]), data(&Data::End, &[])]);
    said
}

fn tree(source: &[(Entry, Vec<u8>)]) -> Hash {
    let entries = source.iter().map(|(entry, bytes)| {
        let hashes: Vec<Hash> = hashed(entry, bytes).into_iter().map(|(hash, _)| hash).collect();
        (entry.clone(), file_hash(&hashes))
    });
    Manifest { entries: entries.collect() }.tree()
}

fn chunk_frame(file: u32, number: u64, hash: Hash, entry: &Entry, bytes: &[u8]) -> Vec<u8> {
    let name = entry.path.to_string();
    let segments = (name == "holey").then(|| [(0, 4096), (16384, 8192)].map(|(from, bytes)| Segment { from, bytes }));
    let (codec, payload) = match name.as_str() {
        "holey" => (Codec::Raw, [&bytes[..4096], &bytes[16384..]].concat()),
        "text" | "two" if number == 0 => (Codec::Zstd, zstd::bulk::compress(bytes, 1).expect("zstd")),
        _ => (Codec::Raw, bytes.to_vec()),
    };
    let segments = segments.map(|segments| segments.to_vec());
    data(&Data::Chunk(Chunk { file, number, hash, codec, segments, payload: &[] }), &payload)
}

/// A changed frame, mixed with another frame from `all` if the mutation requires it.
fn change(random: &mut Random, all: &[Vec<u8>], original: &[u8]) -> Vec<u8> {
    let mut frame = original.to_vec();
    // A frame that was already truncated to nothing stays empty.
    while frame == original && !original.is_empty() {
        for _ in 0..=random.below(2) {
            mutate(random, all, &mut frame);
        }
        // In half of the cases the length is corrected, so that the receiver reads the rest of the message.
        if random.below(2) == 0 && frame.len() >= 5 {
            let length = u32::try_from(frame.len() - 5).expect("short");
            frame[..4].copy_from_slice(&length.to_be_bytes());
        }
    }
    frame
}

fn mutate(random: &mut Random, all: &[Vec<u8>], frame: &mut Vec<u8>) {
    let length = frame.len() as u64;
    if length == 0 {
        return;
    }
    // Most fields that are checked are at the front.
    let position = if random.below(3) > 0 { random.below(length.min(90)) } else { random.below(length) } as usize;
    match random.below(8) {
        0..3 => frame[position] ^= 1 << random.below(8),
        3 => frame[position] = [0, 1, 0x7f, 0x80, 0xff][random.below(5) as usize],
        4 => frame.truncate(position),
        5 => frame.extend(random.fill(1 + position % 40)),
        6 => {
            let end = (position + 1 + random.below(8) as usize).min(frame.len());
            let other = random.fill(end - position);
            frame[position..end].copy_from_slice(&other);
        }
        _ => {
            let other = &all[random.below(all.len() as u64) as usize];
            let position = position.min(other.len());
            frame.truncate(position);
            frame.extend(&other[position..]);
        }
    }
}

/// The place of sessions, which run one after the other: a target, and the files beside it.
struct Setup {
    directory: TempDir,
    keyring: TempDir,
}

impl Setup {
    fn new() -> Self {
        let [directory, keyring] =
            [(); 2].map(|()| tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory"));
        fs::write(directory.path().join("outside"), "mine").expect("a file");
        Self { directory, keyring }
    }

    fn target(&self) -> std::path::PathBuf {
        self.directory.path().join("target")
    }

    /// One session: a receiver, and a sender that `send` controls with the receiver's code. The receiver must end soon
    /// after.
    #[track_caller]
    fn session(&self, rekey: bool, send: impl FnOnce(&PairingCode)) -> Result<Received, transfer::Error> {
        let settings = ReceiveSettings {
            into: self.target(),
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            advertise: Vec::new(),
            streams: 2,
            expiry: limit(SECONDS),
            timeout: limit(SECONDS),
            owner: None,
            allow: Vec::new(),
            restart: true,
            rekey: rekey.then(|| WritableKeyring::open(&self.keyring.path().join("keyring")).expect("a keyring")),
        };
        let receiver = Receiver::bind(settings, &Trust::Pairing).expect("it listens");
        let code = receiver.code().expect("a code").clone();
        let (tell, reported) = mpsc::channel();
        let receiving = thread::spawn(move || {
            // A receiver that panics reports nothing.
            let _ = tell.send(receiver.run(&Progress::default()));
        });
        send(&code);
        let outcome = reported.recv_timeout(limit(SECONDS) / 2);
        assert!(!matches!(outcome, Err(mpsc::RecvTimeoutError::Timeout)), "the receiver hangs");
        assert!(receiving.join().is_ok(), "the receiver panicked");
        outcome.expect("no panic, so it told")
    }

    /// Checks the invariant after a session, and cleans up for the next one; returns whether it was committed.
    #[track_caller]
    fn check(&self, source: &[(Entry, Vec<u8>)], outcome: &Result<Received, transfer::Error>) -> bool {
        let target = self.target();
        let names = |path: &Path| {
            let mut names: Vec<_> =
                fs::read_dir(path).expect("a directory").map(|item| item.expect("an item").file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(self.directory.path()), ["outside", "target"]);
        assert_eq!(fs::read(self.directory.path().join("outside")).expect("a file"), b"mine");
        if outcome.is_err() {
            assert_eq!(names(&target), [".sealant-staging"], "{outcome:?}");
            return false;
        }
        // Properties of the source directory itself are not in the list.
        fs::set_permissions(&target, fs::Permissions::from_mode(0o700)).expect("permissions");
        let mut expected = vec![OsString::from("sealant-manifest")];
        for (entry, bytes) in source {
            let path = target.join(entry.path.as_path());
            match entry.kind {
                Kind::Link { .. } => assert_eq!(fs::read_link(&path).expect("a link"), Path::new("text")),
                Kind::Directory => assert!(path.is_dir()),
                Kind::File { .. } => assert!(&fs::read(&path).expect("a file") == bytes, "{}", entry.path),
            }
            if entry.path.parent().is_none() {
                expected.push(entry.path.as_path().into());
            }
        }
        expected.sort();
        assert_eq!(names(&target), expected);
        fs::remove_dir_all(&target).expect("removed");
        true
    }
}

/// Sends frames; the other side may have closed.
fn say(to: &mut Tls, frames: &[Vec<u8>]) {
    frames.iter().for_each(|frame| say_bytes(to, frame));
}

/// Waits for a message of this type, or the end.
fn wait_for(from: &mut Tls, kind: u8, timeout: Duration) {
    from.sock.set_read_timeout(Some(timeout)).expect("a time limit");
    while hear(from).is_some_and(|(found, _)| found != kind) {}
}

const READY: u8 = 6;
const COMMITTED: u8 = 8;
const DRAINED: u8 = 37;

/// Runs a script. If something was changed earlier in this part, an answer may be missing.
fn follow(rogue: &mut Rogue, script: &Script, changed: Option<usize>) {
    let time_limit = |is_changed| if is_changed { BRIEF } else { limit(SECONDS) };
    let mut data = None;
    for (at, part) in script.parts.iter().enumerate() {
        if part.is_data && data.is_none() {
            data = rogue.data_within(time_limit(changed.is_some_and(|part| part < at)));
        }
        let to = match &mut data {
            Some(data) if part.is_data => data,
            None if part.is_data => return,
            _ => &mut rogue.control,
        };
        say(to, &part.frames);
        part.answer
            .into_iter()
            .for_each(|answer| wait_for(to, answer, time_limit(changed.is_some_and(|part| part <= at))));
    }
}

/// The same with changed frames in one part; `changes` says which and how many.
fn changed(random: &mut Random, script: &Script, all: &[Vec<u8>]) -> (Script, usize, u64) {
    let mut parts = script.parts.clone();
    // Most of the messages are in the other parts.
    let last = parts.len() - 1;
    let part = if random.below(10) == 0 { last } else { random.below(last as u64) as usize };
    let frames = &mut parts[part].frames;
    let count = 1 + random.below(6);
    for _ in 0..count {
        let at = random.below(frames.len() as u64) as usize;
        frames[at] = change(random, all, &frames[at]);
    }
    (Script { parts, ..*script }, part, count)
}

/// A sender whose first message is changed. If that makes it an invalid sender, it is unauthenticated, and the valid
/// sender can still connect.
fn begin_otherwise(random: &mut Random, code: &PairingCode, script: &Script, all: &[Vec<u8>]) {
    match Rogue::pair_by(code, BRIEF, |hello| change(random, all, &hello)) {
        Some(mut rogue) => follow(&mut rogue, script, None),
        None => drop(Rogue::try_pair(code)),
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "shown if the test fails, or by --nocapture")]
fn frames_changed_by_a_sender_commit_nothing_else() {
    let frames = number("SEALANT_MUTATIONS", 5_000);
    let (done, sessions, committed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let worker = &|test| {
        let (mut random, position) = (Random::new(test), Setup::new());
        let kinds = [(false, false, false), (false, true, false), (false, false, true), (true, true, false)];
        let scripts = kinds.map(|(long, twice, rekey)| {
            let source = source(long);
            let script = script(&source, twice, rekey);
            // Unchanged, it is committed: this shows that the receiver accepts the script.
            let outcome = position.session(rekey, |code| follow(&mut Rogue::pair(code), &script, None));
            assert!(position.check(&source, &outcome), "{outcome:?}");
            let secret = SecretBytes(vec![6; 64].into());
            let all = [script.frames(), vec![control(&Control::Unwrapped { file: 1, secret })]].concat();
            (source, script, all)
        });
        while done.load(Ordering::Relaxed) < frames {
            // Two chunks take long.
            let (source, script, all) = match random.below(16) {
                0 => &scripts[3],
                other => &scripts[other as usize % 3],
            };
            let (other, which, mut count) = changed(&mut random, script, all);
            let is_first = random.below(16) == 0;
            let outcome = position.session(script.rekey, |code| match is_first {
                true => begin_otherwise(&mut random, code, script, all),
                false => follow(&mut Rogue::pair(code), &other, Some(which)),
            });
            if is_first {
                count = 1;
            }
            committed.fetch_add(u64::from(position.check(source, &outcome)), Ordering::Relaxed);
            done.fetch_add(count, Ordering::Relaxed);
            sessions.fetch_add(1, Ordering::Relaxed);
        }
    };
    let began = Instant::now();
    // More threads than processors, because they wait for each other.
    thread::scope(|scope| {
        (0..12).for_each(|thread| drop(scope.spawn(move || worker(100 + thread))));
    });
    println!("{done:?} frames in {sessions:?} sessions, {committed:?} committed, {:?}", began.elapsed());
    // Changes without effect: another ping, a key that nothing uses, a chunk that is sent again later.
    let (sessions, committed) = (sessions.into_inner(), committed.into_inner());
    assert!(committed * 2 < sessions, "{committed} of {sessions} were committed");
}

#[test]
fn bits_that_the_network_flips_end_the_transfer() {
    let flips = number("SEALANT_FLIPS", 150);
    let (source, position) = (source(true), Setup::new());
    let script = script(&source, true, false);
    let mut random = Random::new(200);
    let through = |flip: &Flip| {
        position.session(false, |code| {
            let relayed = PairingCode { port: flip.start(code), ..code.clone() };
            match Rogue::try_pair(&relayed) {
                Some(mut rogue) => follow(&mut rogue, &script, None),
                // A peer that does not get this far is unauthenticated, and the receiver keeps waiting for its sender.
                None => drop(Rogue::pair(code)),
            }
        })
    };
    let none = Flip::new(None);
    assert!(position.check(&source, &through(&none)));
    let bits = none.bits();
    for _ in 0..flips {
        let bit = random.below(bits);
        let flip = Flip::new(Some(bit));
        let outcome = through(&flip);
        assert!(flip.happened(), "bit {bit}: {outcome:?}");
        assert!(!position.check(&source, &outcome), "bit {bit}");
    }
}
