//! Measures how fast encrypted pages and logs are decrypted (with encrypting and comparing, as the donor does) and
//! encrypted (as the receiver does): one thread, chunks of 1 MiB, composed of the samples in testdata.
//!
//! `cargo bench --package sealant-transfer --bench codecs [-- PART OF A NAME]`

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{env, error::Error, fs, path::PathBuf, time::Duration, time::Instant};

use codec::{
    hash::CHUNK_BYTES,
    page::{DecryptedChunk, HEAD_BYTES, KeyFileKeys, SpaceCipher, SpaceKeys},
};
use innodb::{
    binlog::MYSQL_HEADER_BYTES,
    crypt::{
        binlog::{EventMode, EventsKey, StreamKey},
        mariadb::Mode,
        redo::{
            LogKey, LogKeyInfo,
            run::{self, RunLayout},
        },
    },
    keys::KeySource,
    redo::records::{Framing, frame},
};
use verify::Keys;

type Failure = Box<dyn Error>;

/// Length of the data that is decrypted repeatedly.
const FILE_BYTES: usize = 8 * CHUNK_BYTES;
/// Duration of the measurement of each direction.
const MIN_TIME: Duration = Duration::from_millis(600);

fn main() -> Result<(), Failure> {
    // Arguments that cargo itself passes start with dashes.
    let wanted = env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    println!("{:<44} {:>12} {:>12} {:>9}", "", "donor MB/s", "joiner MB/s", "decrypted");
    for (name, file, keys) in files()? {
        if name.contains(&wanted) {
            measure(&name, &file, &keys)?;
        }
    }
    Ok(())
}

fn measure(name: &str, file: &[u8], keys: &dyn KeySource) -> Result<(), Failure> {
    let head = file.get(..HEAD_BYTES).ok_or("a short file")?;
    let space = SpaceKeys::from_head(head, keys, KeyFileKeys::Send, || None).ok_or("no key opens it")?;
    let chunk = |number: usize| file.get(number * CHUNK_BYTES..(number + 1) * CHUNK_BYTES).unwrap_or_default();
    let first = chunk(1);
    let cipher = space.cipher(space.version_of(first), CHUNK_BYTES as u64, first, keys).ok_or("nothing opens")?;
    let joiner = SpaceCipher::decode(&cipher.encode())?;
    let (mut payload, mut check) = (Vec::new(), Vec::new());
    let donor = rate(|number| {
        cipher.decrypt(0, (number * CHUNK_BYTES) as u64, chunk(number), &mut payload, &mut check);
    });
    let mut payloads = Vec::new();
    for number in 1..FILE_BYTES / CHUNK_BYTES {
        cipher.decrypt(0, (number * CHUNK_BYTES) as u64, chunk(number), &mut payload, &mut check);
        payloads.push(payload.clone());
    }
    let same: usize = payloads.iter().map(|payload| same_bytes(payload, file)).sum();
    let decrypted = 100 - 100 * same / (payloads.len() * CHUNK_BYTES);
    let mut encrypted = vec![0; CHUNK_BYTES];
    let receiver = rate(|number| {
        let decrypted = payloads.get(number - 1).and_then(|payload| DecryptedChunk::parse(payload).ok());
        let decrypted =
            decrypted.map(|decrypted| decrypted.encrypt(&joiner, (number * CHUNK_BYTES) as u64, &mut encrypted));
        assert!(decrypted == Some(Ok(())) && encrypted == chunk(number), "{name}: other bytes");
    });
    println!("{name:<44} {donor:>12.0} {receiver:>12.0} {decrypted:>8}%");
    Ok(())
}

/// Number of bytes of a payload that equal the file at the same offset of a chunk: those that were not decrypted.
fn same_bytes(payload: &[u8], file: &[u8]) -> usize {
    let decrypted = payload.get(payload.len().saturating_sub(CHUNK_BYTES)..).unwrap_or_default();
    let chunks = file.chunks_exact(CHUNK_BYTES);
    let same =
        |chunk: &[u8]| chunk.chunks(64).zip(decrypted.chunks(64)).filter(|(one, other)| one == other).count() * 64;
    chunks.map(same).max().unwrap_or_default()
}

/// MB/s of work on the chunks from the second on.
fn rate(mut work: impl FnMut(usize)) -> f64 {
    work(1);
    let (began, mut chunks) = (Instant::now(), 0_u32);
    while began.elapsed() < MIN_TIME {
        (1..FILE_BYTES / CHUNK_BYTES).for_each(&mut work);
        chunks += (FILE_BYTES / CHUNK_BYTES - 1) as u32;
    }
    f64::from(chunks) * CHUNK_BYTES as f64 / 1e6 / began.elapsed().as_secs_f64()
}

fn sample_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

fn sample(name: &str) -> Result<Vec<u8>, Failure> {
    match fs::read(sample_path(name)) {
        Ok(bytes) => Ok(bytes),
        Err(_) => Ok(zstd::stream::decode_all(fs::File::open(sample_path(&format!("{name}.zst")))?)?),
    }
}

fn mariadb(name: &str) -> Result<Keys, Failure> {
    let mut keys = Keys::default();
    keys.add_key_file(&sample_path(&format!("keyring/{name}")), None)?;
    Ok(keys)
}

fn mysql() -> Result<Keys, Failure> {
    let mut keys = Keys::default();
    keys.add_keyring(&sample_path("keyring/mysql97-component-file.json"))?;
    Ok(keys)
}

type Case = (String, Vec<u8>, Keys);

fn files() -> Result<Vec<Case>, Failure> {
    let mut all = tablespaces()?;
    all.extend(redo_logs()?);
    all.extend(binary_logs()?);
    Ok(all)
}

/// The first `head` bytes, followed by `body` repeatedly.
fn tiled(head: &[u8], body: &[u8]) -> Vec<u8> {
    head.iter().chain(body.iter().cycle()).take(FILE_BYTES).copied().collect()
}

fn tablespaces() -> Result<Vec<Case>, Failure> {
    let mut all = Vec::new();
    for name in ["mysql97-16k-encrypted", "mysql97-16k-encrypted-zlib"] {
        all.push((name.to_owned(), pages(&format!("tablespace/{name}.ibd"), 16 << 10)?, mysql()?));
    }
    let page_bytes = |name: &str| if name.contains("-32k-") { 32 << 10 } else { 16 << 10 };
    for (name, keys) in [
        ("16k-encrypted", "mariadb1011-keyfile"),
        ("ctr-32k-encrypted", "mariadb1011-ctr-keyfile"),
        ("16k-legacy-encrypted", "mariadb1011-keyfile"),
        ("ctr-32k-legacy-encrypted", "mariadb1011-ctr-keyfile"),
        ("16k-encrypted-page-compressed", "mariadb1011-keyfile"),
        ("16k-encrypted-page-compressed-lz4", "mariadb1011-keyfile"),
        ("16k-encrypted-page-compressed-bzip2", "mariadb1011-keyfile"),
        ("16k-encrypted-page-compressed-lzma", "mariadb1011-keyfile"),
        ("16k-legacy-encrypted-page-compressed", "mariadb1011-keyfile"),
    ] {
        let name = format!("mariadb1011-{name}");
        all.push((name.clone(), pages(&format!("tablespace/{name}.ibd"), page_bytes(&name))?, mariadb(keys)?));
    }
    Ok(all)
}

/// Page 0 of a tablespace, followed by all of its non-empty pages from the fourth on.
fn pages(name: &str, page_bytes: usize) -> Result<Vec<u8>, Failure> {
    let space = sample(name)?;
    let pages = space.chunks_exact(page_bytes);
    let filled: Vec<u8> = pages.skip(3).filter(|page| page.iter().any(|byte| *byte != 0)).flatten().copied().collect();
    Ok(tiled(space.get(..page_bytes).ok_or("no page 0")?, &filled))
}

fn redo_logs() -> Result<Vec<Case>, Failure> {
    const HEADER_BYTES: usize = 12288;
    const BLOCKS_HEADER_BYTES: usize = 2048;
    let mut all = Vec::new();
    for (name, layout) in [
        ("mariadb10.11.19-encrypted", RunLayout::OneStream),
        ("mariadb11.8.6-encrypted", RunLayout::OneStream),
        ("mariadb11.4.5-encrypted-phys", RunLayout::PageRecords),
    ] {
        let (log, keys) = (sample(&format!("redo/{name}"))?, mariadb(keys_of(name))?);
        let (head, body) = log.split_at(HEADER_BYTES);
        let info = LogKeyInfo::from_header(head).ok_or("no key in the header")?;
        let key = keys.mariadb(info.key_id, info.key_version).ok_or("no such key")?;
        let key = LogKey::derive(&key, &info.message)?;
        let mut clear = body.to_vec();
        let end = run::decrypt(&key.cipher(Mode::Cbc)?, layout, &mut clear);
        clear.truncate(end);
        for mode in Mode::ALL {
            let mut encrypted = clear.clone();
            run::encrypt(&key.cipher(mode)?, layout, &mut encrypted);
            all.push((format!("{name}, {mode:?}"), tiled(head, &reframed(encrypted)), mariadb(keys_of(name))?));
        }
    }
    for (name, keys) in
        [("mariadb10.5.23-encrypted", mariadb("mariadb-redo-versions-keyfile")?), ("mysql97-mixed", mysql()?)]
    {
        let log = sample(&format!("redo/{name}"))?;
        let (head, body) = log.split_at(BLOCKS_HEADER_BYTES);
        // Only encrypted blocks of MySQL's log.
        let encrypted =
            |block: &&[u8]| block.iter().any(|byte| *byte != 0) && (name != "mysql97-mixed" || block[4] & 0x80 != 0);
        let blocks: Vec<u8> = body.chunks_exact(512).filter(encrypted).take(400).flatten().copied().collect();
        all.push((name.to_owned(), tiled(head, &blocks), keys));
    }
    Ok(all)
}

fn keys_of(log: &str) -> &'static str {
    if log.starts_with("mariadb10.11") { "mariadb1011-keyfile" } else { "mariadb-redo-versions-keyfile" }
}

/// Corrects the checksums of a log that was encrypted again in another mode: they cover the bytes on disk.
fn reframed(mut log: Vec<u8>) -> Vec<u8> {
    let mut at = 0;
    while let Framing::Records(records) = frame(&log[at..]) {
        let (nonce, end) = (at + records + 1, at + records + 13);
        if end > log.len() {
            break;
        }
        let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
        digest.update(&log[at..at + records]);
        digest.update(&log[nonce..nonce + 8]);
        log[end - 4..end].copy_from_slice(&(digest.finalize() as u32).to_be_bytes());
        at = end;
    }
    log
}

fn binary_logs() -> Result<Vec<Case>, Failure> {
    let mut all = Vec::new();
    let log = sample("binlog/mysql97-encrypted-83-events")?;
    let stream = StreamKey::from_log(&log, &mysql()?).ok_or("no key opens it")?.stream()?;
    let mut body = tiled(b"\xfebin", b"all work and no play makes Jack a dull boy. ");
    body.truncate(FILE_BYTES - MYSQL_HEADER_BYTES);
    stream.apply(0, &mut body)?;
    all.push(("mysql97 binary log".to_owned(), tiled(&log[..MYSQL_HEADER_BYTES], &body), mysql()?));
    for mode in [EventMode::Cbc, EventMode::Ctr] {
        for event_bytes in [8192, 1024, 200, 60] {
            let (log, keys) = (sample("binlog/mariadb1011-encrypted-84-events")?, mariadb("mariadb1011-keyfile")?);
            let end_of =
                |at: usize| at + u32::from_le_bytes([log[at + 9], log[at + 10], log[at + 11], log[at + 12]]) as usize;
            let head = &log[..end_of(end_of(4))];
            let mut file = head.to_vec();
            while file.len() + event_bytes < FILE_BYTES {
                let mut event = vec![b'a'; event_bytes];
                let end = (file.len() + event_bytes) as u32;
                event[..4].copy_from_slice(&1_700_000_000_u32.to_le_bytes());
                event[4] = 2;
                event[9..13].copy_from_slice(&(event_bytes as u32).to_le_bytes());
                event[13..17].copy_from_slice(&end.to_le_bytes());
                event[17..19].fill(0);
                file.extend(event);
            }
            let key = EventsKey::from_log(head, &keys).ok_or("no key")?;
            let (_, events) = file.split_at_mut(head.len());
            key.events(mode)?.encrypt_run(head.len() as u64, events);
            file.resize(FILE_BYTES, 0);
            all.push((format!("mariadb1011 binary log, {mode:?}, events of {event_bytes}"), file, keys));
        }
    }
    Ok(all)
}
