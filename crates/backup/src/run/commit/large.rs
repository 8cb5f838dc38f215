//! What a run knows of all parts takes no memory for each of them: the map of many terabytes is made, written as a
//! manifest, and read back as the base of the next run.
//!
//! `SEALANT_SCALE_GIB` (128) is the length of the data: `make scale`.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Seek},
};

use archive::manifest::Lists;
use codec::hash::{CHUNK_BYTES, Hash, chunks_of};
use transfer::plan::Selection;

use super::*;
use crate::{
    memory::peak,
    run::files::FilePlan,
    state::{FileState, PAGE_HASH_BYTES},
};

const GIB: u64 = 1 << 30;
const FILES: u64 = 4;
const UNIT_BYTES: usize = 64 << 10;
/// Chunks in a pack, as if they were compressed to two fifths.
const PACK_CHUNKS: u64 = 80;
/// Chunks that a thread takes at a time.
const PART_CHUNKS: u64 = 64;
/// What is known of a pack: see the comparison of both manifests.
const PACK_BYTES: u64 = 500;
/// What the allocator may keep. In memory, the lists of 128 GiB took 9 MiB.
const NOISE_BYTES: u64 = 3 << 20;

#[test]
fn the_map_of_terabytes_takes_little_memory() {
    let test = "run::commit::large::the_map_of_terabytes_takes_little_memory";
    let grown = peak::growth(test, |gib| map(gib * GIB));
    let most = NOISE_BYTES + packs_of(peak::scale_gib() * GIB) * PACK_BYTES;
    assert!(grown <= most, "{grown} bytes, more than {most}");
}

fn packs_of(bytes: u64) -> u64 {
    chunks_of(bytes).div_ceil(PACK_CHUNKS)
}

fn map(bytes: u64) {
    let packs = packs_of(bytes);
    let directory = tempfile::tempdir().unwrap();
    for number in 0..FILES {
        let file = File::create(directory.path().join(format!("t{number}.ibd"))).unwrap();
        file.set_len(bytes / FILES).unwrap();
    }
    let plan = Plan::scan(directory.path(), &Selection::default()).unwrap();
    let files = Files::of((0..FILES).map(|number| Some(file(number, bytes / FILES))).collect());
    let contents = Contents::new(tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    for number in 0..FILES {
        fill(&contents, files.get(number as usize).unwrap(), number * chunks_of(bytes / FILES), bytes / FILES);
    }
    let objects = (0..packs).map(|pack| Object { sha256: Digest::compute(&pack.to_be_bytes()), bytes: 32 << 20 });
    let stored = StoredPacks { packs: objects.collect(), old: 0, keys: std::collections::BTreeSet::new() };
    let used = UsedPacks::find((&files, &plan), &stored, &contents).unwrap();
    drop(stored);
    assert_eq!((used.objects.len() as u64, used.used.len() as u64), (packs, packs));
    let runs = ListWriter::new(Place::File(tempfile::tempfile().unwrap()));
    let stored = stored_files((&files, &plan), &contents, runs, &used.numbers).unwrap();
    let manifest = Manifest { head: head(), files: stored, packs: used.objects, keys: Vec::new() };
    assert_eq!(pages_of(&manifest, &used.used).unwrap() << 14, bytes);
    reads_back(&manifest, bytes);
}

fn file(number: u64, bytes: u64) -> FilePlan {
    let (units, chunks) = (bytes.div_ceil(UNIT_BYTES as u64), chunks_of(bytes));
    let pages_at = number * units * PAGE_HASH_BYTES;
    let state =
        FileState { unit_bytes: UNIT_BYTES as u32, context: 0, pages_at, sound: false, decrypted_from: 0, seen: None };
    FilePlan {
        unit_bytes: UNIT_BYTES,
        is_tablespace: true,
        space: None,
        head: None,
        state,
        first_chunk: number * chunks,
        before: None,
        is_unwritten: false,
        attempts: Vec::new(),
    }
}

/// Records a whole frame for each chunk of a file. `first` is the number of its first chunk among those of all files.
fn fill(contents: &Contents, file: &FilePlan, first: u64, bytes: u64) {
    for part in (0..chunks_of(bytes)).step_by(PART_CHUNKS as usize) {
        let chunks = part..chunks_of(bytes).min(part + PART_CHUNKS);
        let hashes: Vec<Hash> = chunks.clone().map(|chunk| Hash::compute(&(first + chunk).to_be_bytes())).collect();
        contents.put_chunks(file, part, &hashes).unwrap();
        for chunk in chunks {
            let (pack, frame) = ((first + chunk) / PACK_CHUNKS, (first + chunk) % PACK_CHUNKS);
            let run = FileRun {
                at: chunk * CHUNK_BYTES as u64,
                bytes: CHUNK_BYTES as u64,
                pack: pack as u32,
                offset: 0,
                frame_at: frame * 400_000,
                frame_bytes: 400_000,
            };
            contents.put_run(file, &run).unwrap();
        }
    }
}

fn head() -> Head {
    let head = serde_json::json!({
        "schema": manifest::SCHEMA, "repo": "", "host": "db1", "number": 1, "instant": "2026-11-23T01:00:00Z",
        "provider": "stopped", "root": { "mode": 0o750, "uid": 0, "gid": 0 }, "entries": FILES,
    });
    serde_json::from_value(head).unwrap()
}

fn reads_back(manifest: &Manifest, bytes: u64) {
    let mut file = tempfile::tempfile().unwrap();
    let mut out = zstd::Encoder::new(BufWriter::new(&file), MANIFEST_LEVEL).unwrap();
    manifest.write(&mut out).unwrap();
    out.finish().unwrap().into_inner().unwrap();
    file.rewind().unwrap();
    let lists = Lists::in_files(tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    let base = Manifest::read_with(&mut BufReader::new(zstd::Decoder::new(&file).unwrap()), lists).unwrap();
    let counted = |of: &dyn Fn(&StoredFile) -> u64| base.files.iter().map(of).sum::<u64>();
    assert_eq!((counted(&|file| file.chunks.len()), counted(&|file| file.runs.len())), (bytes >> 20, bytes >> 20));
    assert_eq!((&base.files, &base.packs), (&manifest.files, &manifest.packs));
    let middle = bytes / FILES / 2;
    let runs = base.files[2].runs.overlapping(middle, middle + 64 * CHUNK_BYTES as u64).unwrap();
    assert_eq!((runs.len(), runs[0].at), (64, middle));
}
