use codec::{
    entry::{Entry, Kind},
    hash::{CHUNK_BYTES, Hash, file_hash},
    path::RelativePath,
};
use innodb::binlog::LogPosition;

use super::*;

fn stored(path: &[u8], kind: Kind) -> StoredFile {
    let entry =
        Entry { path: RelativePath::parse(path).unwrap(), kind, mode: 0o640, uid: 27, gid: 27, modified: (-1, 5) };
    StoredFile { entry, hash: None, head: None, chunks: Vec::new(), runs: Vec::new() }
}

fn manifest() -> Manifest {
    let chunks: Vec<Hash> = (0..1500_u64).map(|chunk| Hash::compute(&chunk.to_be_bytes())).collect();
    let run = |at, bytes, pack| Run { at, bytes, pack, offset: 5, frame_at: 7, frame_bytes: 99 };
    let long = StoredFile {
        hash: file_hash(&chunks),
        head: Some(FileHead::new(&[&[1, 2, 3][..], &[0; 997]].concat())),
        chunks,
        runs: vec![run(0, 16384, 1), run(16384, 16384, 0), run(1 << 20, 1, 1)],
        ..stored(b"d/long.ibd", Kind::File { bytes: 1500 * CHUNK_BYTES as u64 })
    };
    let short = StoredFile {
        hash: Some(Hash::compute(b"x")),
        chunks: vec![Hash::compute(b"x")],
        ..stored(b"d/\xff", Kind::File { bytes: 1 })
    };
    let head = Head {
        schema: SCHEMA.to_owned(),
        repo: "r".to_owned(),
        host: "db1".to_owned(),
        number: 3,
        instant: "2026-11-23T01:00:00Z".parse().unwrap(),
        provider: "stopped".to_owned(),
        server_uuid: Some("u".to_owned()),
        checkpoint_lsn: Some(12),
        position: Some(CopyPosition {
            log: LogPosition { file: "binlog.000002".to_owned(), offset: 1234 },
            gtid: "0-1-7".to_owned(),
        }),
        parent: Some(Digest::compute(b"")),
        root: Root { mode: 0o750, uid: 27, gid: 27 },
        entries: 4,
        left_out: vec![ExcludedFile { path: "keyring".to_owned(), why: "a keyring".to_owned() }],
    };
    let packs = [b"one", b"two"].map(|text| Object { sha256: Digest::compute(text), bytes: 3 }).to_vec();
    let keys = vec![MariaDbKey { id: 1, version: 2, check: "0011223344556677".to_owned() }];
    let link = stored(b"link", Kind::Link { target: b"d/\xfe".to_vec() });
    Manifest { head, files: vec![stored(b"d", Kind::Directory), short, long, link], packs, keys }
}

fn text(manifest: &Manifest) -> String {
    let mut text = Vec::new();
    manifest.write(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_manifest_reads_back() {
    let text = text(&manifest());
    assert_eq!(Manifest::read(&mut text.as_bytes()).unwrap(), manifest());
    assert!(text.lines().all(|line| (line.len() as u64) < MAX_LINE_BYTES));
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let text = text(&manifest());
    let run = "{\"run\":{\"f\":2,\"at\":1048576,\"n\":1,\"p\":1,\"o\":5";
    for (from, to) in [
        ("\"entries\":4", "\"entries\":5"),
        ("manifest/1", "manifest/2"),
        (run, "{\"run\":{\"f\":3,\"at\":1048576,\"n\":1,\"p\":1,\"o\":5"),
        (run, "{\"run\":{\"f\":9,\"at\":1048576,\"n\":1,\"p\":1,\"o\":5"),
        (run, "{\"run\":{\"f\":2,\"at\":16384,\"n\":1,\"p\":1,\"o\":5"),
        (run, "{\"run\":{\"f\":2,\"at\":1572864000,\"n\":1,\"p\":1,\"o\":5"),
        (run, "{\"run\":{\"f\":2,\"at\":1048576,\"n\":0,\"p\":1,\"o\":5"),
        (run, "{\"run\":{\"f\":2,\"at\":1048576,\"n\":1,\"p\":2,\"o\":5"),
        (run, "{\"run\":{\"f\":2,\"at\":1048576,\"n\":1,\"p\":1,\"o\":1048576"),
        ("{\"chunks\":{\"f\":2", "{\"chunks\":{\"f\":1"),
        ("{\"head\":{\"f\":2,\"n\":1000", "{\"head\":{\"f\":2,\"n\":2"),
        ("{\"head\":{\"f\":2,\"n\":1000", "{\"head\":{\"f\":2,\"n\":100000"),
        ("{\"head\":{\"f\":2,\"n\":1000", "{\"head\":{\"f\":1,\"n\":1000"),
        ("{\"key\":", "{\"else\":"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        assert!(Manifest::read(&mut changed.as_bytes()).is_err(), "{to}");
    }
    let hash = manifest().files[2].chunks[3].0;
    let lost = manifest().files[2].chunks.iter().filter(|chunk| chunk.0 != hash).copied().collect();
    let mut changed = manifest();
    changed.files[2].chunks = lost;
    let mut out = Vec::new();
    changed.write(&mut out).unwrap();
    assert!(Manifest::read(&mut out.as_slice()).is_err());
}

#[test]
fn a_line_without_an_end_is_not_read_to_its_end() {
    struct Endless(u64);
    impl std::io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            buffer.fill(b' ');
            self.0 += buffer.len() as u64;
            assert!(self.0 < 4 * MAX_LINE_BYTES, "read without an end");
            Ok(buffer.len())
        }
    }
    assert!(Manifest::read(&mut std::io::BufReader::new(Endless(0))).is_err());
}

#[test]
fn parts_of_runs_are_where_they_were() {
    let run = Run { at: 100, bytes: 50, pack: 1, offset: 7, frame_at: 3, frame_bytes: 9 };
    assert_eq!(run.within(0, 1000), Some(run));
    assert_eq!(run.within(110, 120), Some(Run { at: 110, bytes: 10, offset: 17, ..run }));
    assert_eq!(run.within(150, 160), None);
    assert_eq!(run.within(0, 100), None);
    let (one, other) = (run.within(100, 120).unwrap(), run.within(120, 150).unwrap());
    assert!(one.is_followed_by(&other) && !other.is_followed_by(&one));
}
