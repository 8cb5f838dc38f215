//! Compares the code with the test vectors of `docs/wire-protocol.md`.

use codec::{
    entry::{Entry, Kind},
    hash::{CHUNK_BYTES, Hash, chunk_hash, file_hash},
    page::SpaceCipher,
    path::RelativePath,
};
use innodb::crypt::binlog::{EventMode, MariaDbEvents};
use transfer::{
    manifest::Manifest,
    pairing::{PairingCode, Side},
    wire::{
        Chunk, Codec, Control, Data, MAX_HAVE, MAX_QUERIED_HASHES, Material, Root, SLOTS, SecretBytes, Segment,
        VERSION, frame,
    },
};

const DOCUMENT: &str = include_str!("../../../docs/wire-protocol.md");
const CODE: &str = "sealant1-aecmaaaca4ivyws2ljnfuws2ljnfuws2ljnfuws2ljnfvjnfuws2ljnfuws2ljnfuws2lji3jbibg";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Checks that the document has this vector on a line of its own.
#[track_caller]
fn documented(name: &str, value: &str) {
    let line = format!("{name}: {value}");
    assert!(DOCUMENT.lines().any(|found| found.trim() == line), "docs/wire-protocol.md has no line\n{line}");
}

fn control(message: &Control) -> String {
    let mut body = Vec::new();
    let kind = message.encode(&mut body);
    hex(&[frame::header(kind, body.len()).as_slice(), &body].concat())
}

fn data(message: &Data<'_>, payload: &[u8]) -> String {
    let mut body = Vec::new();
    let kind = message.encode(&mut body);
    body.extend(payload);
    hex(&[frame::header(kind, body.len()).as_slice(), &body].concat())
}

#[test]
fn the_pairing_code_of_the_document_is_ours() {
    documented("code", CODE);
    let code: PairingCode = CODE.parse().expect("a code");
    assert_eq!(code.sockets().next().expect("an address").to_string(), "192.0.2.7:4444");
    documented("pin", &hex(&code.pin.0));
    documented("proof of the sender", &hex(&code.secret.proof(Side::Sender, &[1; 32])));
    documented("proof of the receiver", &hex(&code.secret.proof(Side::Receiver, &[1; 32])));
}

/// Checks that the document contains this text.
#[track_caller]
fn documented_text(description: &str) {
    assert!(DOCUMENT.contains(description), "docs/wire-protocol.md does not say: {description}");
}

/// A number with commas between thousands, as the document writes it.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

#[test]
fn the_limits_of_the_document_are_ours() {
    documented_text(&format!("# The transfer protocol, version {VERSION}\n"));
    documented_text(&format!("| 1 | Hello | sender | 2 version ({VERSION}),"));
    documented_text(&format!("then 32 for each chunk, {} at most: hashes", grouped(MAX_HAVE)));
    documented_text(&format!("2 number of chunks, 1 to {MAX_QUERIED_HASHES} |"));
    documented_text(&format!("2 slot, 0 to {}, key material", SLOTS - 1));
    documented_text(&format!("length of the body, at most {} (", grouped(frame::MAX_BODY_BYTES)));
}

#[test]
fn the_messages_of_the_document_are_ours() {
    let path = RelativePath::parse(b"sakila/actor.ibd").expect("a path");
    let entry = Entry {
        path,
        kind: Kind::File { bytes: 1 << 21 },
        mode: 0o640,
        uid: 27,
        gid: 27,
        modified: (1_700_000_000, 5),
    };
    let (proof, token) = ([0x0a; 32], [0x0b; 16]);
    let speeds = [4000, 3000, 1500];
    documented("hello", &control(&Control::Hello { version: VERSION, proof, speeds, streams: 4 }));
    documented("welcome", &control(&Control::Welcome { proof, token, speeds, streams: 4 }));
    documented("finish", &control(&Control::Finish { tree: Hash([8; 32]) }));
    documented("committed", &control(&Control::Committed { tree: Hash([8; 32]) }));
    documented("attach", &data(&Data::Attach { token }, &[]));
    documented("attached", &data(&Data::Attached, &[]));
    documented("drained", &data(&Data::Drained, &[]));
    documented("entry", &control(&Control::Entry(entry)));
    documented(
        "plan end",
        &control(&Control::PlanEnd {
            entries: 3,
            allocated_bytes: 4096,
            more: false,
            root: Root { mode: 0o750, uid: 27, gid: 28 },
        }),
    );
    documented("ready", &control(&Control::Ready { rekey: false }));
    let secret = SecretBytes(vec![5; 32].into());
    documented("unwrapped", &control(&Control::Unwrapped { file: 1, secret }));
    documented("unwrapped end", &control(&Control::UnwrappedEnd { files: 1 }));
    documented("have", &control(&Control::Have { file: 1, first: 2, hashes: vec![Hash([9; 32])] }));
    documented("progress", &control(&Control::Progress { bytes: 1 << 33, starving: 250 }));
    documented("failed", &control(&Control::Failed { reason: "no space".to_owned() }));
    documented("note", &control(&Control::Note { text: "full".to_owned() }));
    let chunk = |segments| {
        Data::Chunk(Chunk { file: 1, number: 2, hash: Hash([3; 32]), codec: Codec::Raw, segments, payload: &[] })
    };
    documented("chunk", &data(&chunk(None), b"bytes"));
    documented("chunk with holes", &data(&chunk(Some(vec![Segment { from: 4096, bytes: 5 }])), b"bytes"));
    documented("end", &data(&Data::End, &[]));
    documented("hash query", &data(&Data::HashQuery { file: 1, first: 2, count: 1 }, &[]));
    documented("hashes", &data(&Data::Hashes { hashes: &[9; 32] }, &[]));
}

#[test]
fn the_keys_and_decrypted_chunks_of_the_document_are_ours() {
    let key = |material: &[u8]| {
        let cipher = SpaceCipher::decode(material).expect("a key");
        assert_eq!(cipher.encode().as_slice(), material);
        (data(&Data::Key { slot: 7, material: Material(material) }, &[]), cipher)
    };
    let decrypted = |cipher: &SpaceCipher, offset: usize, chunk: &[u8]| {
        let (mut payload, mut check) = (Vec::new(), Vec::new());
        cipher.decrypt(7, offset as u64, chunk, &mut payload, &mut check);
        hex(&payload)
    };
    let (message, binlog) = key(&[&[3][..], &[0x0b; 32], &[0x0c; 8]].concat());
    documented("key of a binary log", &message);
    let mysql = [&[1][..], &16384_u32.to_be_bytes(), &[0x0b; 32], &[0x0d; 32]].concat();
    documented("key of a MySQL tablespace", &key(&mysql).0);
    let mariadb = [&[2][..], &16384_u32.to_be_bytes(), &[0x0b; 16], &[1, 0, 1], &5_u32.to_be_bytes()].concat();
    documented("key of a MariaDB tablespace", &key(&mariadb).0);
    documented("key of a redo log", &key(&[&[4][..], &[0x0b; 32], &[0x0d; 32]].concat()).0);
    documented("decrypted binary log", &decrypted(&binlog, CHUNK_BYTES, &[0; 20]));
    let (message, events) = key(&[&[5, 0][..], &[0x0c; 12], &[0x0b; 16]].concat());
    documented("key of a MariaDB binary log", &message);
    documented("decrypted MariaDB binary log", &decrypted(&events, CHUNK_BYTES, &encrypted_event()));
    let (message, records) = key(&[&[6, 0, 0][..], &[0x0b; 16]].concat());
    documented("key of a MariaDB redo log", &message);
    documented("decrypted MariaDB redo log", &decrypted(&records, CHUNK_BYTES, &MINI_TRANSACTION));
    let blocks = [&[7, 1, 0][..], &[0x0b; 16], &[0x0c; 4], &512_u64.to_be_bytes()].concat();
    documented("key of an older MariaDB redo log", &key(&blocks).0);
}

/// Four unrelated bytes, then the mini-transaction of docs/formats: one record (`fa` and ten bytes), sequence byte,
/// nonce and checksum.
const MINI_TRANSACTION: [u8; 28] = [
    0, 0, 0, 0, 0xfa, 0xdf, 0x52, 0x15, 0x19, 0xe9, 0xa5, 0x09, 0x7c, 0xc4, 0x16, 0x01, 0, 0, 0, 0, 0, 0, 0xb8, 0xf8,
    0x64, 0x6e, 0xc6, 0x38,
];

/// Four bytes of the previous event, and an encrypted event of 27 bytes at 1,048,580 of its file: its time is 1, its
/// type 3, its server 2, and its body is `stop` and a checksum of zeros.
fn encrypted_event() -> Vec<u8> {
    let end: u32 = (1 << 20) + 4 + 27;
    let header = [&1_u32.to_le_bytes()[..], &[3], &2_u32.to_le_bytes(), &27_u32.to_le_bytes(), &end.to_le_bytes()];
    let mut event = [&header.concat()[..], &[0; 2], b"stop", &[0; 4]].concat();
    let events = MariaDbEvents::new(&[0x0b; 16], [0x0c; 12], EventMode::Cbc).expect("a key");
    events.encrypt((1 << 20) + 4, &mut event).expect("an event");
    [&[0xee; 4][..], &event].concat()
}

#[test]
fn the_hashes_of_the_document_are_ours() {
    let bytes: Vec<u8> = (0..3 * CHUNK_BYTES / 2).map(|at| u8::try_from(at % 251).unwrap_or_default()).collect();
    let length = bytes.len() as u64;
    let (first, second) = bytes.split_at(CHUNK_BYTES);
    let chunks = [chunk_hash(length, 0, first), chunk_hash(length, 1, second)];
    documented("chunk 0", &chunks[0].to_string());
    documented("chunk 1", &chunks[1].to_string());
    let file = file_hash(&chunks).expect("a hash");
    documented("file", &file.to_string());
    assert_eq!(file, Hash::compute(&bytes));
}

#[test]
fn the_hash_of_the_documents_list_is_ours() {
    let entry = |path: &str, kind| {
        let path = RelativePath::parse(path.as_bytes()).expect("a path");
        Entry { path, kind, mode: 0o640, uid: 27, gid: 27, modified: (1_700_000_000, 5) }
    };
    let entries = vec![
        (entry("sakila", Kind::Directory), None),
        (entry("sakila/actor.ibd", Kind::File { bytes: 1 << 21 }), Some(Hash([3; 32]))),
        (entry("sakila/link", Kind::Link { target: b"actor.ibd".to_vec() }), None),
    ];
    documented("list", &Manifest { entries }.tree().to_string());
}
