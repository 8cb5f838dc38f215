//! Regenerates the committed corpus from testdata/: `cargo run --manifest-path fuzz/Cargo.toml --example seeds`
//!
//! Seeds are the first pages, blocks or events of the samples. Those called `opened-` are decrypted, and have a control
//! byte that makes the target encrypt them again, so that a fuzzer can change the plain text. Seeds of the targets
//! without a control byte were cut by hand.

use std::{fs, path::PathBuf};

use fuzz::innodb::{keys::set, repair};
use innodb::{
    KeyVersion, Lsn,
    aria::{layout::PageLayout, recognise_table},
    crypt::{
        aria::{AriaPages, CryptRecord},
        binlog::{EventMode, MariaDbEvents, MySqlHeader},
        mariadb::Mode,
        redo::mysql::MySqlBlockCipher,
    },
    keys::KeySource,
    redo::blocks::is_encrypted,
    tablespace::Page0,
    verify::{
        redo,
        tablespace::{Options, PageBuffers, Part, TablespaceVerifier},
    },
};

fn main() {
    page0();
    page();
    tablespace();
    copies();
    decompress();
    redo_logs();
    binary_logs();
    aria();
    key_files();
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sample(name: &str) -> Vec<u8> {
    let path = root().join("../testdata").join(name);
    if let Ok(bytes) = fs::read(&path) {
        return bytes;
    }
    let packed = fs::File::open(path.with_file_name(format!("{}.zst", path.file_name().unwrap().to_str().unwrap())));
    zstd::stream::decode_all(packed.unwrap()).unwrap()
}

fn ibd(name: &str) -> Vec<u8> {
    sample(&format!("tablespace/{name}.ibd"))
}

fn write(target: &str, name: &str, bytes: &[u8], control: &[u8]) {
    let directory = root().join("corpus").join(format!("innodb_{target}"));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(name), [bytes, control].concat()).unwrap();
}

/// The result of the verifier: every page decrypted.
fn decrypted_file(file: &[u8], keys: &dyn KeySource) -> Vec<u8> {
    let mut pages = file.to_vec();
    let options = Options::new(keys);
    let verifier = TablespaceVerifier::begin(file, &options).unwrap();
    verifier.verify(file, 0, &mut pages, &mut PageBuffers::default(), &mut Part::default());
    pages
}

/// The listed pages, in a tablespace without other pages.
fn cut(file: &[u8], pages: &[usize]) -> Vec<u8> {
    let page_bytes = Page0::parse(file).unwrap().physical_page_bytes as usize;
    let mut cut = Vec::new();
    for page in pages {
        cut.extend_from_slice(&file[page * page_bytes..(page + 1) * page_bytes]);
    }
    repair::put32(&mut cut, 46, pages.len() as u32);
    cut
}

/// Gives the pages of a decrypted tablespace the numbers of their positions.
fn renumbered(mut file: Vec<u8>) -> Vec<u8> {
    let page_bytes = Page0::parse(&file).unwrap().physical_page_bytes as usize;
    for (number, page) in (0..).zip(file.chunks_exact_mut(page_bytes)) {
        repair::put32(page, 4, number);
    }
    file
}

/// One page, decrypted.
fn inside(name: &str, keys: u8, page: usize) -> Vec<u8> {
    let file = ibd(name);
    let page_bytes = Page0::parse(&file).unwrap().physical_page_bytes as usize;
    decrypted_file(&file, set(keys))[page * page_bytes..(page + 1) * page_bytes].to_vec()
}

fn page0() {
    for (name, control) in [
        ("mysql97-4k-encrypted", 0),
        ("mysql97-4k-encrypted-kbs2", 0),
        ("mysql97-8k-encrypted-kbs4", 0),
        ("synthetic-lCA-serverid951", 0),
        ("synthetic-lCB-8byte-id", 0),
        ("mariadb1011-ctr-4k-encrypted", 4),
        ("mariadb1011-ctr-4k-legacy-encrypted-page-compressed", 4),
        ("mariadb1011-16k-legacy-encrypted-kbs8", 0),
    ] {
        write("page0", name, &cut(&ibd(name), &[0]), &[control]);
    }
}

fn page() {
    const CLEAR: u8 = 8;
    let page5 = ibd("mysql97-16k-encrypted")[5 * 16384..6 * 16384].to_vec();
    write("page", "mysql-16k", &page5, &[0]);
    let mut rows = inside("mysql97-4k-encrypted", 0, 4);
    write("page", "opened-mysql-4k", &rows, &[CLEAR]);
    rows[24..26].copy_from_slice(&17854_u16.to_be_bytes());
    write("page", "opened-mysql-4k-rtree", &rows, &[CLEAR]);
    write("page", "opened-mysql-8k-zlib", &inside("mysql97-8k-encrypted-zlib", 0, 4), &[CLEAR]);
    write("page", "opened-mysql-16k-lz4", &inside("mysql97-16k-encrypted-lz4", 0, 4), &[CLEAR]);
    let page3 = ibd("mariadb1011-16k-encrypted")[3 * 16384..4 * 16384].to_vec();
    write("page", "mariadb-full-16k", &page3, &[0x10]);
    write("page", "opened-mariadb-full-4k", &inside("mariadb1011-ctr-4k-encrypted", 1, 3), &[CLEAR | 0x50]);
    for (number, algorithm) in [(2, "-lz4"), (3, "-lzo"), (4, "-lzma"), (5, "-bzip2"), (6, "-snappy")] {
        let page = inside(&format!("mariadb1011-16k-encrypted-page-compressed{algorithm}"), 0, 3);
        write("page", &format!("opened-mariadb-full-16k{algorithm}"), &page, &[CLEAR | 0x10 | number]);
    }
    write("page", "opened-mariadb-older-4k", &inside("mariadb1011-ctr-4k-legacy-encrypted", 1, 3), &[CLEAR | 0x60]);
    let page = inside("mariadb1011-ctr-4k-legacy-encrypted-page-compressed", 1, 3);
    write("page", "opened-mariadb-older-4k-zlib", &page, &[CLEAR | 0x60]);
    write("page", "opened-mariadb-older-kbs8", &inside("mariadb1011-16k-legacy-encrypted-kbs8", 0, 3), &[CLEAR | 0x30]);
}

fn tablespace() {
    const ENCRYPTED_AGAIN: u8 = 7;
    let of_4k = [0, 1, 2, 3, 4];
    for (name, keys, mode, pages) in [
        ("mysql97-4k-encrypted", 0_u8, 0_u8, &of_4k[..]),
        ("mysql97-4k-encrypted-kbs2", 0, 0, &of_4k),
        ("mysql97-8k-encrypted-zlib", 0, 0, &[0, 4]),
        ("mariadb1011-ctr-4k-encrypted", 1, 8, &of_4k),
        ("mariadb1011-ctr-4k-legacy-encrypted", 1, 8, &of_4k),
        ("mariadb1011-ctr-4k-legacy-encrypted-page-compressed", 1, 8, &of_4k),
        ("mariadb1011-16k-legacy-encrypted-kbs8", 0, 0, &[0, 3]),
    ] {
        let file = ibd(name);
        let sums = if name.contains("zlib") || name.contains("compressed") { 0 } else { 2 };
        write("tablespace", name, &cut(&file, pages), &[keys << 4 | 1]);
        let control = (ENCRYPTED_AGAIN & !2) | sums | mode | keys << 4;
        write(
            "tablespace",
            &format!("opened-{name}"),
            &renumbered(cut(&decrypted_file(&file, set(keys)), pages)),
            &[control],
        );
    }
    let mut file = cut(&ibd("mysql97-4k-encrypted"), &of_4k[..4]);
    file[..4096].fill(0);
    write("unreadable_page0", "mysql97-4k-encrypted", &file, &[]);
    let mut file = cut(&ibd("mariadb1011-ctr-4k-legacy-encrypted-page-compressed"), &of_4k[..4]);
    file[..26].fill(0xff);
    write("unreadable_page0", "mariadb1011-ctr-4k-legacy-encrypted-page-compressed", &file, &[]);
}

fn copies() {
    const KEY_AND_ENCRYPTED: u8 = 0x20 | 0x40 | 0x80;
    let file = decrypted_file(&ibd("mysql97-4k-encrypted"), set(0));
    let slots = &file[3 * 4096..6 * 4096];
    write("doublewrite", "opened-4k", slots, &[KEY_AND_ENCRYPTED]);
    write("doublewrite", "clear-4k-by-trial", slots, &[0x47]);
    let page = inside("mysql97-4k-encrypted-kbs2", 0, 4);
    let slot = [page.as_slice(), &[0; 2048]].concat();
    write("doublewrite", "opened-kbs2-in-4k", &slot, &[KEY_AND_ENCRYPTED | 1 << 3]);
}

fn decompress() {
    for (number, algorithm) in [(0, ""), (1, "-lz4"), (2, "-lzo"), (3, "-lzma"), (4, "-bzip2"), (5, "-snappy")] {
        let page = inside(&format!("mariadb1011-16k-encrypted-page-compressed{algorithm}"), 0, 3);
        let stored = usize::from(u16::from_be_bytes([page[24] & 0x7f, page[25]])) * 256 - 4;
        let last = usize::from(page[stored - 1]);
        // Inputs whose end must be known have it in their last byte.
        let end = match algorithm {
            "-lz4" | "-lzo" | "-snappy" if last != 0 => stored - 1 - (256 - last),
            "-lz4" | "-lzo" | "-snappy" => stored - 1,
            _ => stored,
        };
        let name = if algorithm.is_empty() { "zlib" } else { &algorithm[1..] };
        write("decompress", name, &page[26..end], &[0x40 | number]);
    }
    let page = inside("mysql97-8k-encrypted-zlib", 0, 4);
    write("decompress", "mysql-zlib-8k", page.trim_ascii_end(), &[0x36]);
}

fn redo_logs() {
    let mut log = sample("redo/mysql97-mixed")[..2048 + 12 * 512].to_vec();
    let key = redo::key_info(&log[..2048]).unwrap().key.unwrap(set(0)).unwrap();
    let cipher = MySqlBlockCipher::new(&key).unwrap();
    write("redo_verify", "mysql-9.7", &log, &[0]);
    for block in log.chunks_exact_mut(512).skip(4) {
        if is_encrypted(block) {
            cipher.decrypt(block).unwrap();
        }
        block[4] |= 0x80;
    }
    write("redo_verify", "opened-mysql-9.7", &log, &[3]);
    let log = sample("redo/mariadb10.5.23-encrypted");
    write("redo_verify", "mariadb-10.5.23", &log[..2048 + 16 * 512], &[0x21]);
    for (name, keys) in
        [("mariadb10.11.19-encrypted", 0_u8), ("mariadb11.4.5-encrypted-phys", 2), ("mariadb11.8.6-encrypted", 2)]
    {
        let log = from_checkpoint(&sample(&format!("redo/{name}")));
        write("redo_verify", name, &log, &[keys << 4 | 5]);
        write("log_copy", name, &log, &[5]);
    }
}

/// A log of mini-transactions that starts at its newest checkpoint.
fn from_checkpoint(log: &[u8]) -> Vec<u8> {
    const HEADER_BYTES: usize = 12288;
    const TAKEN: usize = 3072;
    let number = |at: usize| u64::from_be_bytes(log[at..at + 8].try_into().unwrap());
    let newest = if number(4096) > number(8192) { 4096 } else { 8192 };
    let Lsn(checkpoint) = Lsn(number(newest));
    let capacity = (log.len() - HEADER_BYTES) as u64;
    let offset = HEADER_BYTES + ((checkpoint - number(8)) % capacity) as usize;
    let mut cut = log[..HEADER_BYTES].to_vec();
    cut[8..16].copy_from_slice(&checkpoint.to_be_bytes());
    cut[4096..4160].copy_from_slice(&log[newest..newest + 64]);
    cut[8192..8256].fill(0);
    cut.extend_from_slice(&log[offset..(offset + TAKEN).min(log.len())]);
    cut
}

fn binary_logs() {
    let clear = sample("binlog/mysql97-clear");
    write("binlog_verify", "mysql-clear", &clear[..events_end(&clear, 4000)], &[1]);
    let encrypted = sample("binlog/mysql97-encrypted-7-events");
    write("binlog_verify", "mysql-encrypted", &encrypted, &[0]);
    let header = MySqlHeader::parse(&encrypted).unwrap();
    let stream = header.unwrap(&set(0).mysql(&header.key_name).unwrap()).unwrap();
    let mut open = encrypted;
    stream.apply(0, &mut open[512..]).unwrap();
    write("binlog_verify", "opened-mysql", &open, &[4]);
    for (name, keys, mode) in
        [("mariadb1011-encrypted-14-events", 0_u8, EventMode::Cbc), ("mariadb1011-encrypted-ctr", 1, EventMode::Ctr)]
    {
        let log = sample(&format!("binlog/{name}"));
        write("binlog_verify", name, &log, &[keys << 4]);
        let control = 1 | u8::from(mode == EventMode::Ctr) << 1 | keys << 4;
        write("binlog_verify", &format!("opened-{name}"), &open_events(log, keys, mode), &[control]);
    }
}

fn event_bytes(log: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(log.get(at + 9..at + 13)?.try_into().ok()?) as usize)
}

fn events_end(log: &[u8], most: usize) -> usize {
    let mut at = 4;
    while let Some(bytes) = event_bytes(log, at).filter(|bytes| at + bytes <= most) {
        at += bytes;
    }
    at
}

fn open_events(mut log: Vec<u8>, keys: u8, mode: EventMode) -> Vec<u8> {
    let start = 4 + event_bytes(&log, 4).unwrap();
    let nonce = log[start + 24..start + 36].try_into().unwrap();
    let events = MariaDbEvents::new(&set(keys).mariadb(1, KeyVersion(1)).unwrap(), nonce, mode).unwrap();
    let mut at = start + event_bytes(&log, start).unwrap();
    while let Some(bytes) = event_bytes(&log, at) {
        events.decrypt(at as u64, &mut log[at..at + bytes]).unwrap();
        at += bytes;
    }
    log
}

fn aria() {
    let mut index = sample("aria/encrypted.MAI");
    let mut data = sample("aria/encrypted.MAD");
    let table = recognise_table(&index).unwrap();
    let (header_bytes, block_bytes) = (table.header_bytes as usize, table.block_bytes as usize);
    let first = header_bytes.div_ceil(block_bytes);
    index.truncate((first + 1) * block_bytes);
    data.truncate(2 * block_bytes);
    let units = |index: &[u8]| (index.len() as u16 / 128).to_be_bytes();
    let tail = |index: &[u8], control| [units(index).as_slice(), &[control]].concat();
    write("aria_verify", "encrypted", &[index.as_slice(), &data].concat(), &tail(&index, 0));
    let record = CryptRecord::parse(&index[header_bytes - CryptRecord::BYTES..header_bytes]).unwrap();
    let pages = AriaPages::new(&set(0).mariadb(1, KeyVersion(1)).unwrap(), &record).unwrap();
    let page = &mut index[first * block_bytes..];
    let layout = PageLayout::index(page, &table).unwrap();
    pages.decrypt(Mode::Cbc, &layout, first as u32, page).unwrap();
    let page = &mut data[block_bytes..];
    pages.decrypt(Mode::Cbc, &PageLayout::data(page, true), 1, page).unwrap();
    write("aria_verify", "opened", &[index.as_slice(), &data].concat(), &tail(&index, 1));
    let mut index = sample("aria/dynamic-clear.MAI");
    index.truncate(2 * block_bytes);
    let data = &sample("aria/dynamic-clear.MAD")[..4096];
    write("aria_verify", "dynamic", &[index.as_slice(), data].concat(), &tail(&index, 0));
}

fn key_files() {
    for name in ["mariadb1011-keyfile", "mariadb1011-keyfile.enc", "mariadb-redo-versions-keyfile"] {
        write("key_file", name, &sample(&format!("keyring/{name}")), &[]);
    }
    write("keyring", "mysql97-16k-encrypted.cfp", &sample("export/mysql97-16k-encrypted.cfp"), &[]);
}
