//! The repository of the format's vectors (testdata/backup): what docs/formats/backup.md says of it is what is read.

#![allow(clippy::unwrap_used, reason = "in a test a failure is to be seen")]

use std::{fs, io::BufReader};

use agefile::{Decryptor, Identity};
use archive::{
    Digest, Manifest, PackReader, Receipt, names,
    receipt::{NAMESPACE, Object, fingerprint},
    sshsig::{AllowedSigners, Signature},
};
use codec::hash::{CHUNK_BYTES, Hash, chunk_hash, file_hash};
use data_encoding::BASE64;

/// SHA-256 of the receipts, which the page has.
const RECEIPTS: [&str; 2] = [
    "e44e4871c762cc235a9d7a847a16e125df73116fac106dd9edd72a808473b1eb",
    "b0d54d598f2873d5e1416a5f4bae911853133b7b3aa4d89270099b838770c7ca",
];
/// Chaining values of the three chunks of `demo/large.MYD` in the second backup, and BLAKE3 of the file.
const CHUNKS: &str = "+C4WzxnmluELF206GM4fJtBRMYVxjgS0e7aHGOkm9GXMaj5c+b/yaMirEP9+G1JYroEZG1Gby6p51aqFZLcbfAr7HYDBWXo0f8WeUBScjycynIF3MITiQVdFEA0fLrjp";
const FILE: &str = "0dbfb49ddaf437546fdf6faf90e8e7e745beef231872c60e56d6ba801bdb505a";

fn object(name: &str) -> Vec<u8> {
    fs::read(format!("{}/../../testdata/backup/{name}", env!("CARGO_MANIFEST_DIR"))).expect("the vector is there")
}

fn stored(name: &str) -> Vec<u8> {
    object(&format!("repository/{name}"))
}

fn identities() -> Vec<Identity> {
    Identity::parse_file(&String::from_utf8(object("identity")).unwrap()).unwrap()
}

fn receipt(number: u64) -> (Receipt, Digest) {
    let bytes = stored(&names::receipt("db1", number));
    (Receipt::parse(&bytes).unwrap(), Digest::compute(&bytes))
}

fn manifest(number: u64) -> Manifest {
    let bytes = stored(&names::manifest("db1", number));
    let decrypted = Decryptor::new(bytes.as_slice(), &identities()).unwrap();
    Manifest::read(&mut BufReader::new(zstd::Decoder::new(decrypted).unwrap())).unwrap()
}

/// The second version of `demo/large.MYD`.
fn large() -> Vec<u8> {
    let mut bytes = vec![0; 2 * CHUNK_BYTES + 5];
    bytes[..6000].copy_from_slice(&b"first ".repeat(1000));
    bytes[16384..16391].copy_from_slice(b"changed");
    let last = [b"last ".repeat(3276), b"....".to_vec()].concat();
    bytes[2 * CHUNK_BYTES - 16384..2 * CHUNK_BYTES].copy_from_slice(&last);
    bytes
}

#[test]
fn receipts_are_signed_and_chained() {
    let signers = AllowedSigners::parse(&String::from_utf8(object("signers")).unwrap()).unwrap();
    for (number, expected) in (1..).zip(RECEIPTS) {
        let (bytes, signature) = (stored(&names::receipt("db1", number)), stored(&names::signature("db1", number)));
        let signature = Signature::parse(&signature).unwrap();
        let key = signature.verify(NAMESPACE, &bytes).unwrap();
        signers.allow(key, "db1", NAMESPACE).unwrap();
        assert_eq!(Digest::compute(&bytes).to_string(), expected);
        assert_eq!(Receipt::parse(&bytes).unwrap().encode().unwrap(), bytes, "it is written as it was read");
    }
    let ((first, hash), (second, _)) = (receipt(1), receipt(2));
    assert_eq!((first.previous, second.previous), (None, Some(hash)));
    assert_eq!((first.full, second.full), (true, false));
    assert_eq!(second.packs.iter().map(|pack| pack.new).collect::<Vec<_>>(), [false, true]);
    let recipients: Vec<String> = identities().iter().map(|identity| fingerprint(&identity.recipient())).collect();
    assert_eq!(second.recipients, recipients);
}

#[test]
fn every_object_is_the_one_that_its_receipt_names() {
    for number in [1, 2] {
        let (receipt, _) = receipt(number);
        for (name, Object { sha256, bytes }) in receipt.objects() {
            let found = stored(&name);
            assert_eq!((Digest::compute(&found), found.len() as u64), (sha256, bytes), "{name}");
        }
    }
}

#[test]
fn the_manifest_is_the_one_of_the_page() {
    let manifest = manifest(2);
    assert_eq!((manifest.head.number, manifest.head.parent.unwrap().to_string().as_str()), (2, RECEIPTS[0]));
    let paths: Vec<String> = manifest.files.iter().map(|file| file.entry.path.to_string()).collect();
    assert_eq!(paths, ["demo", "demo/db.opt", "demo/enc.ibd", "demo/large.MYD", "ib_logfile0", "ibdata1"]);
    let runs = |file: usize| -> Vec<(u64, u64, u32, u64, u32)> {
        let runs = manifest.files[file].runs.iter().map(Result::unwrap);
        runs.map(|run| (run.at, run.bytes, run.pack, run.frame_at, run.frame_bytes)).collect()
    };
    assert_eq!(runs(2), [(0, 131_072, 0, 323, 12883)]);
    assert_eq!(runs(3), [(0, 16384, 0, 0, 162), (16384, 16384, 1, 0, 157), (2_080_768, 16384, 0, 162, 161)]);
    let expected: Vec<Hash> = {
        let bytes = BASE64.decode(CHUNKS.as_bytes()).unwrap();
        bytes.as_chunks().0.iter().copied().map(Hash).collect()
    };
    assert_eq!(manifest.files[3].chunks.range(0, u64::MAX).unwrap(), expected);
    let bytes = large();
    let chunks = (0..).zip(bytes.chunks(CHUNK_BYTES));
    let chunks: Vec<Hash> = chunks.map(|(number, chunk)| chunk_hash(bytes.len() as u64, number, chunk)).collect();
    assert_eq!(chunks, expected);
    assert_eq!(file_hash(&chunks).unwrap().to_string(), FILE);
    assert_eq!(manifest.files[3].hash, file_hash(&chunks));
}

#[test]
fn frames_have_what_their_descriptions_say() {
    let (second, bytes) = (receipt(2).0, large());
    let mut decrypted = 0;
    for pack in &second.packs {
        let pack = stored(&names::pack("db1", &pack.sha256));
        let mut reader = PackReader::decrypt(pack.as_slice(), &identities()).unwrap();
        while let Some(frame) = reader.next_frame().unwrap() {
            match &frame.description.decrypted {
                None => frame.check_hash().unwrap(),
                Some(units) => {
                    // Page 0 is not encrypted, and the last page is a hole.
                    assert_eq!((units.kind, units.unit_bytes, units.marks.len()), (1, 16384, 8 * 5));
                    assert_eq!((units.marks[0], &units.marks[5..10]), (0, &[1, 0, 0, 0x40, 0][..]));
                    decrypted += 1;
                }
            }
            if frame.description.path.to_string() == "demo/large.MYD" && frame.at == 0 && pack.len() < 1000 {
                assert_eq!(frame.data, &bytes[16384..32768]);
            }
        }
    }
    assert_eq!(decrypted, 1);
}
