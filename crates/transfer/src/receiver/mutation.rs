//! Frames modified inside TLS: whatever they contain, no file ends up with bytes that were not
//! sent.

use std::{
    fs::{self, File},
    net::TcpListener,
    os::unix::fs::FileExt,
    path::Path,
    sync::{Mutex, RwLock},
};

use ::codec::compression::CompressionLevel;

use super::*;
use crate::{
    codec::Encoder,
    pairing::Pin,
    path::RelativePath,
    receiver::{chunk_index::ChunkIndex, staging::Staging},
    stop::Stop,
    tls::{
        Pinned, client_config,
        identity::{Identity, pin_of},
        server_config,
    },
    wire::{Control, Root, SecretBytes, frame},
};

const FRAMES: usize = 100_000;

/// Lengths of the files: two of one chunk, one with holes, one of two chunks whose second is short.
const FILES: [usize; 4] = [16 << 10, 16 << 10, 48 << 10, CHUNK_BYTES + (8 << 10)];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        // Xorshift64*, by Vigna.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}

fn contents(file: usize) -> Vec<u8> {
    let bytes = FILES[file];
    let mut bytes: Vec<u8> = (0..bytes).map(|at| b"all work and no play "[(at / 5 + file) % 21]).collect();
    if file == 2 {
        bytes[4096..12288].fill(0);
        bytes[40960..].fill(0);
    }
    bytes
}

fn holes(file: usize) -> Option<Vec<Segment>> {
    let segments = [(0, 4096), (12288, 28672)].map(|(from, bytes)| Segment { from, bytes });
    (file == 2).then(|| segments.to_vec())
}

fn number_of(file: usize) -> u64 {
    chunks_of(FILES[file] as u64) - 1
}

fn bytes_of(file: usize) -> Vec<u8> {
    contents(file).split_off(number_of(file) as usize * CHUNK_BYTES)
}

/// A frame of every codec for every file.
fn frames() -> Vec<Vec<u8>> {
    let plain = (0..FILES.len()).flat_map(frames_of);
    plain.chain(KEYS.into_iter().flat_map(|key| [opened(0, key), opened(2, key)])).collect()
}

fn frames_of(file: usize) -> Vec<Vec<u8>> {
    let (bytes, segments) = (bytes_of(file), holes(file));
    let hash = chunk_hash(FILES[file] as u64, number_of(file), &bytes);
    let part = |segment: &Segment| bytes[segment.from as usize..][..segment.bytes as usize].to_vec();
    let parts: Vec<u8> = match &segments {
        Some(segments) => segments.iter().flat_map(part).collect(),
        None => bytes,
    };
    let frame = |level| {
        let mut encoder = Encoder::default();
        let (codec, payload) = encoder.encode(&parts, level, false).unwrap();
        let (number, segments) = (number_of(file), segments.clone());
        framed(&Data::Chunk(Chunk { file: file as u32, number, hash, codec, segments, payload: &[] }), payload)
    };
    [CompressionLevel::None, CompressionLevel::Lz4, CompressionLevel::Zstd(1)].map(frame).to_vec()
}

/// A key: slot, start of its encoding, and its length after that. The function maps the length of a
/// chunk to the number of encryption units in it and to the number of bytes that describe them.
type Key = (u16, &'static [u8], usize, fn(usize) -> (usize, usize));

const KEYS: [Key; 7] = [
    (7, &[1, 0, 0, 0x10, 0], 64, |bytes| (bytes / 4096, 5 * (bytes / 4096))),
    (13, &[2, 0, 0, 0x10, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0], 4, |bytes| {
        (bytes / 4096, 5 * (bytes / 4096))
    }),
    (8, &[3], 40, |_| (1, 1)),
    (9, &[4], 64, |bytes| (bytes / 512, (bytes / 512).div_ceil(8))),
    (10, &[5, 0], 12 + 24, |_| (1, 8)),
    (11, &[6, 0, 0], 16, |_| (1, 8)),
    (12, &[7, 1, 1], 16 + 4 + 8, |bytes| (bytes / 512, (bytes / 512).div_ceil(8))),
];

/// A frame with pages or part of a log as decrypted data, whose description says that none of it
/// was encrypted.
fn opened(file: usize, (slot, _, _, marks): Key) -> Vec<u8> {
    let bytes = bytes_of(file);
    let (units, mark_bytes) = marks(bytes.len());
    let mut described = [slot.to_be_bytes(), (units as u16).to_be_bytes()].concat();
    described.extend(vec![0; mark_bytes]);
    described.extend(&bytes);
    let mut encoder = Encoder::default();
    let (codec, payload) = encoder.encode(&described, CompressionLevel::Lz4, true).unwrap();
    let hash = chunk_hash(FILES[file] as u64, number_of(file), &bytes);
    let chunk = Chunk { file: file as u32, number: 0, hash, codec, segments: holes(file), payload: &[] };
    framed(&Data::Chunk(chunk), payload)
}

fn framed(message: &Data<'_>, payload: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let kind = message.encode(&mut body);
    body.extend(payload);
    [&frame::header(kind, body.len())[..], &body].concat()
}

fn mutate(random: &mut Random, frames: &[Vec<u8>], frame: &mut Vec<u8>) {
    let all = frame.len();
    if all == 0 {
        return;
    }
    // Most fields are in front: fields, segments, and the start of the payload.
    let near = |random: &mut Random| if random.below(3) > 0 { random.below(all.min(90)) } else { random.below(all) };
    match random.below(8) {
        0..3 => frame[near(random)] ^= 1 << random.below(8),
        3 => frame[near(random)] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
        4 => frame.truncate(near(random)),
        5 => frame.extend(vec![random.below(256) as u8; 1 + random.below(40)]),
        6 => {
            let at = near(random);
            let count = (1 + random.below(8)).min(all - at);
            frame[at..at + count].iter_mut().for_each(|byte| *byte = random.below(256) as u8);
        }
        _ => {
            let other = &frames[random.below(frames.len())];
            let at = random.below(all.min(other.len()));
            frame.truncate(at);
            frame.extend(&other[at..]);
        }
    }
    // In half of the cases the length is corrected, so that the rest of the message is parsed.
    if random.below(2) == 0 && frame.len() >= 5 {
        let length = (frame.len() - 5) as u32;
        frame[..4].copy_from_slice(&length.to_be_bytes());
    }
}

/// One of the frames, changed; never unchanged.
fn changed(random: &mut Random, frames: &[Vec<u8>]) -> Vec<u8> {
    let original = &frames[random.below(frames.len())];
    let mut frame = original.clone();
    while frame == *original {
        for _ in 0..=random.below(3) {
            mutate(random, frames, &mut frame);
        }
        if frame.is_empty() {
            frame.clone_from(original);
        }
    }
    frame
}

/// A frame of every message of the control connection.
fn control_frames() -> Vec<Vec<u8>> {
    let (proof, token, speeds, hash) = ([3; 32], [4; 16], [1, 2, 3], crate::hash::Hash([5; 32]));
    let link = Entry { kind: Kind::Link { target: b"f1".to_vec() }, ..entries().remove(0) };
    let messages = [
        Control::Hello { version: crate::wire::VERSION, proof, speeds, streams: 4 },
        Control::Welcome { proof, token, speeds, streams: 4 },
        Control::Entry(entries().remove(0)),
        Control::Entry(link),
        Control::PlanEnd { entries: 2, allocated_bytes: 77, more: true, root: Root { mode: 0, uid: 0, gid: 0 } },
        Control::Have { file: 1, first: 2, hashes: vec![hash; 3] },
        Control::Ready { rekey: false },
        Control::Unwrapped { file: 1, secret: SecretBytes(vec![6; 64].into()) },
        Control::UnwrappedEnd { files: 1 },
        Control::Finish { tree: hash },
        Control::Committed { tree: hash },
        Control::Progress { bytes: 1 << 33, starving: 250 },
        Control::Ping,
        Control::Failed { reason: "no space".to_owned() },
        Control::Note { text: "full".to_owned() },
    ];
    let framed = |message: &Control| {
        let mut body = Vec::new();
        let kind = message.encode(&mut body);
        [&frame::header(kind, body.len())[..], &body].concat()
    };
    messages.iter().map(framed).collect()
}

fn control_of(frame: &[u8]) -> Option<Control> {
    let (kind, length) = frame::parse_header(*frame.first_chunk()?).ok()?;
    Control::decode(kind, frame.get(5..)?.get(..length)?).ok()
}

#[test]
fn no_changed_control_frame_decodes_to_the_same_message() {
    let frames = control_frames();
    let messages: Vec<Control> = frames.iter().map(|frame| control_of(frame).expect("a message")).collect();
    let mut random = Random(0x5ea1_a17e_d5ee_d002);
    let mut read = 0;
    for round in 0..FRAMES {
        let frame = changed(&mut random, &frames);
        let Some(message) = control_of(&frame) else { continue };
        read += 1;
        // The bytes after the frame belong to the next one.
        let length = frame::HEADER_BYTES + frame::parse_header(*frame.first_chunk().unwrap()).unwrap().1;
        let same = messages.iter().position(|known| *known == message);
        assert!(same.is_none_or(|same| frames[same] == frame[..length]), "frame {round}: {message:?}");
    }
    assert!((FRAMES / 20..FRAMES).contains(&read), "{read} of {FRAMES} were read");
}

fn channel() -> (DataChannel, std::net::TcpStream) {
    let identity = Identity::ephemeral().unwrap();
    let (pin, any) = (pin_of(&identity).unwrap(), Pinned::to_any());
    let server = server_config(&identity, any).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let timeout = std::time::Duration::from_secs(10);
    let client = std::thread::spawn(move || client(socket, pin));
    let channel = DataChannel::accept(listener.accept().unwrap().0, server, "peer".to_owned(), timeout).unwrap();
    (channel, client.join().unwrap())
}

fn client(socket: std::net::TcpStream, pin: Pin) -> std::net::TcpStream {
    let config = client_config(None, &Identity::ephemeral().unwrap(), Pinned::to(pin)).unwrap();
    let name = "sealant".try_into().unwrap();
    let timeout = std::time::Duration::from_secs(10);
    DataChannel::connect(socket, config, name, "peer".to_owned(), timeout).unwrap().handle().unwrap()
}

fn entries() -> Vec<Entry> {
    let entry = |(number, bytes): (usize, &usize)| Entry {
        path: RelativePath::parse(format!("f{number}").as_bytes()).unwrap(),
        kind: Kind::File { bytes: *bytes as u64 },
        mode: 0o600,
        uid: 0,
        gid: 0,
        modified: (0, 0),
    };
    FILES.iter().enumerate().map(entry).collect()
}

/// Overwrites the positions of chunks, so that a chunk that is not written is detected.
fn overwrite_chunks(root: &Path) {
    for (number, bytes) in FILES.iter().enumerate() {
        fs::write(root.join(format!("f{number}")), vec![0x55; *bytes]).unwrap();
    }
}

/// Passes one frame to a stream as its connection would; returns whether a chunk was accepted, and
/// which.
fn feed(stream: &mut ChunkReceiver<'_>, frame: &[u8]) -> Option<(usize, u64, crate::hash::Hash)> {
    let (kind, length) = frame::parse_header(*frame.first_chunk()?).ok()?;
    let body = frame.get(5..)?.get(..length)?;
    let _ = Control::decode(kind, body);
    match Data::decode(kind, body).ok()? {
        Data::Chunk(chunk) => {
            stream.chunk(&chunk, "peer").ok().map(|()| (chunk.file as usize, chunk.number, chunk.hash))
        }
        _ => None,
    }
}

#[test]
fn no_changed_frame_writes_wrong_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let staging = Staging::open(directory.path(), None).unwrap();
    let root = directory.path().join(".sealant-staging/files");
    let (entries, frames, progress) = (entries(), frames(), Progress::default());
    let sent: Vec<Vec<u8>> = (0..FILES.len()).map(bytes_of).collect();
    let (mut channel, _client) = channel();
    let [decoded, bytes] = [DECODED_BYTES, CHUNK_BYTES].map(Buffer::new);
    let mut worker = Worker { decoder: Decoder::default(), ciphers: HashMap::new(), decoded, bytes };
    for (slot, kind, key_bytes, _) in KEYS {
        let key = [kind, &vec![9; key_bytes]].concat();
        worker.ciphers.insert(slot, SpaceCipher::decode(&key).unwrap());
    }
    let mut random = Random(0x5ea1_a17e_d5ee_d001);
    let mut taken = [0; 2];
    let hashes = staging.scratch().unwrap();
    overwrite_chunks(&root);
    for round in 0..FRAMES {
        let stop = Stop::default();
        let receiving = Receiving {
            staging: &staging,
            journal: staging.journal().unwrap(),
            progress: &progress,
            stop: &stop,
            rekeying: None,
            notes: Mutex::default(),
            round: RwLock::new(Arc::new(Round {
                entries: entries.clone(),
                chunk_index: ChunkIndex::new(hashes.try_clone().unwrap(), &entries).unwrap(),
                resumed: true,
                more: false,
                root: Root { mode: 0, uid: 0, gid: 0 },
            })),
        };
        // Buffers are reused: allocating them for each frame would dominate the run time.
        let parents = receiving.staging.parents();
        let mut stream = ChunkReceiver { receiving: &receiving, round: None, channel, worker, parents, open: None };
        // The first frames are unchanged, so that the test is known to detect accepted chunks.
        let frame = match frames.get(round) {
            Some(frame) => frame.clone(),
            None => changed(&mut random, &frames),
        };
        if let Some((file, number, hash)) = feed(&mut stream, &frame) {
            taken[usize::from(round < frames.len())] += 1;
            let length = chunk_bytes(FILES[file] as u64, number);
            let mut written = vec![0; length];
            let on_disk = File::open(root.join(format!("f{file}"))).unwrap();
            on_disk.read_exact_at(&mut written, number * CHUNK_BYTES as u64).unwrap();
            assert_eq!(chunk_hash(FILES[file] as u64, number, &written), hash, "frame {round}");
            // Two files of the same length may be exchanged; the list's hash distinguishes these.
            assert!(written == sent[file] || file < 2 && written == sent[1 - file], "frame {round}");
            let spoilt = vec![0x55; length];
            overwrite_chunk(&root, file, number, &spoilt);
        }
        ChunkReceiver { channel, worker, .. } = stream;
    }
    // Accepted changed frames: other encodings of the same bytes, and parts combined to another
    // complete frame.
    let [changed, unchanged] = taken;
    assert_eq!(unchanged, frames.len());
    assert!((1..FRAMES / 5).contains(&changed), "{changed} of {FRAMES} were taken");
}

fn overwrite_chunk(root: &Path, file: usize, number: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(root.join(format!("f{file}"))).unwrap();
    file.write_all_at(bytes, number * CHUNK_BYTES as u64).unwrap();
}

#[test]
fn nothing_is_written_after_the_list_was_compared() {
    let directory = tempfile::tempdir().unwrap();
    let staging = Staging::open(directory.path(), None).unwrap();
    let (entries, progress, stop) = (vec![entries().remove(0)], Progress::default(), Stop::default());
    let chunk_index = ChunkIndex::new(staging.scratch().unwrap(), &entries).unwrap();
    // Present from an earlier transfer, so it may be sent again, but need not.
    let hash = chunk_hash(FILES[0] as u64, 0, &bytes_of(0));
    chunk_index.add_existing(0, 0, hash).unwrap();
    fs::write(directory.path().join(".sealant-staging/files/f0"), bytes_of(0)).unwrap();
    let round = Round { entries, chunk_index, resumed: true, more: false, root: Root { mode: 0, uid: 0, gid: 0 } };
    let receiving = Receiving {
        staging: &staging,
        journal: staging.journal().unwrap(),
        progress: &progress,
        stop: &stop,
        rekeying: None,
        notes: Mutex::default(),
        round: RwLock::new(Arc::new(round)),
    };
    let (channel, _client) = channel();
    let mut stream = ChunkReceiver::new(&receiving, channel);
    let tree = crate::manifest::Manifest { entries: vec![(receiving.round().entries[0].clone(), Some(hash))] }.tree();
    crate::receiver::round::complete_manifest("peer", &receiving, tree).unwrap();
    let other = vec![7; FILES[0]];
    let hash = chunk_hash(FILES[0] as u64, 0, &other);
    let chunk = Chunk { file: 0, number: 0, hash, codec: Codec::Raw, segments: None, payload: &other };
    stream.chunk(&chunk, "peer").unwrap_err();
    assert!(fs::read(directory.path().join(".sealant-staging/files/f0")).unwrap() == bytes_of(0));
}

#[test]
fn bytes_in_holes_are_refused() {
    let bytes = [&[1; 4096][..], &[0; 4096]].concat();
    let segment = |from, bytes| Segment { from, bytes };
    assert!(holes_are_zero(&[segment(0, 4096)], &bytes));
    assert!(!holes_are_zero(&[segment(0, 4000)], &bytes));
    assert!(!holes_are_zero(&[], &bytes));
    assert!(!holes_are_zero(&[segment(0, 4096), segment(8000, 4096)], &bytes));
}
