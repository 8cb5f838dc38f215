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
    StoredFile { entry, hash: None, head: None, chunks: List::default(), runs: List::default() }
}

fn manifest() -> Manifest {
    let chunks: Vec<Hash> = (0..1500_u64).map(|chunk| Hash::compute(&chunk.to_be_bytes())).collect();
    let run = |at, bytes, pack| Run { at, bytes, pack, offset: 5, frame_at: 7, frame_bytes: 99 };
    let long = StoredFile {
        hash: file_hash(&chunks),
        head: Some(FileHead::new(&[&[1, 2, 3][..], &[0; 997]].concat())),
        chunks: chunks.into(),
        runs: vec![run(0, 16384, 1), run(16384, 16384, 0), run(1 << 20, 1, 1)].into(),
        ..stored(b"d/long.ibd", Kind::File { bytes: 1500 * CHUNK_BYTES as u64 })
    };
    let short = StoredFile {
        hash: Some(Hash::compute(b"x")),
        chunks: vec![Hash::compute(b"x")].into(),
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
    let [chunks, runs] = [0, 1].map(|_| tempfile::tempfile().unwrap());
    let in_files = Manifest::read_with(&mut text.as_bytes(), Lists::in_files(chunks, runs)).unwrap();
    assert_eq!(in_files, manifest());
    let checked = Manifest::read_with(&mut text.as_bytes(), Lists::not_kept()).unwrap();
    assert_eq!(checked.files[2].head, manifest().files[2].head);
    assert!(checked.files[2].chunks.len() == 1500 && checked.files[2].chunks.get(0).is_err());
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
    let mut changed = manifest();
    let mut hashes = changed.files[2].chunks.range(0, u64::MAX).unwrap();
    hashes.remove(3);
    changed.files[2].chunks = hashes.into();
    let mut out = Vec::new();
    changed.write(&mut out).unwrap();
    assert!(Manifest::read(&mut out.as_slice()).is_err());
}

#[test]
fn a_line_without_an_end_is_not_read_to_its_end() {
    struct Endless(u64);
    impl io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(b' ');
            self.0 += buffer.len() as u64;
            assert!(self.0 < 4 * MAX_LINE_BYTES, "read without an end");
            Ok(buffer.len())
        }
    }
    assert!(Manifest::read(&mut io::BufReader::new(Endless(0))).is_err());
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

#[test]
fn lines_of_a_file_follow_one_another() {
    let text = text(&manifest());
    let moved_to_end = |kind: &str, which: usize| {
        let mut lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().enumerate().filter(|(_, line)| line.starts_with(kind)).nth(which).unwrap().0;
        let line = lines.remove(at);
        lines.push(line);
        lines.join("\n")
    };
    // The file of one byte gets a run between two of the other file.
    let between = text.replacen(
        "{\"run\":{\"f\":2,\"at\":16384",
        "{\"run\":{\"f\":1,\"at\":0,\"n\":1,\"p\":0,\"o\":0,\"z\":7,\"zn\":9}}\n{\"run\":{\"f\":2,\"at\":16384",
        1,
    );
    assert!(Manifest::read(&mut between.as_bytes()).is_err());
    assert!(Manifest::read(&mut moved_to_end("{\"run\"", 0).as_bytes()).is_err(), "out of order");
    assert!(Manifest::read(&mut moved_to_end("{\"run\"", 2).as_bytes()).is_ok(), "after the keys");
    assert!(Manifest::read(&mut moved_to_end("{\"chunks\"", 1).as_bytes()).is_ok());
    assert!(Manifest::read(&mut moved_to_end("{\"chunks\"", 0).as_bytes()).is_err());
}

#[test]
fn runs_between_two_offsets_are_found() {
    let runs = manifest().files[2].runs.clone();
    let found = |from: u64, end: u64| runs.overlapping(from, end).unwrap().iter().map(|run| run.at).collect::<Vec<_>>();
    assert_eq!(found(0, 1), [0]);
    assert_eq!(found(16_383, 16_385), [0, 16384]);
    assert_eq!(found(40_000, 1 << 20), [0; 0]);
    assert_eq!(found(16_384, 2 << 20), [16384, 1 << 20]);
}
