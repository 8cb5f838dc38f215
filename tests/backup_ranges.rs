//! Packs of which little is still needed: a restore reads only ranges of them, and the next run stores again what is
//! needed.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use archive::pack::{Compression, Packer};
use archive::{Description, PackReader, PackWriter, Receipt};
use codec::hash::Hash;
use harness::Server;
use harness::faulty::{Fault, FaultyStore, Seen};
use harness::s3::s3_server;

use crate::support::backup::{Backups, age, files, files_below, is_same, stopped_mysql, with_keeper, with_keyring};
use crate::support::chance::Random;
use crate::support::disk::text;

const MIB: u64 = 1 << 20;
/// Length of the file, which fills a pack.
const FILE_BYTES: u64 = 31 * MIB;
/// The parts of it that do not change.
const KEPT: [(u64, u64); 3] = [(3 * MIB, MIB), (12 * MIB, 16 << 10), (20 * MIB, MIB)];

/// A stopped server, with a file of noise in its data directory.
struct Noise {
    server: Server,
    keyring: PathBuf,
    random: Random,
}

impl Noise {
    fn new() -> Option<Self> {
        let (server, keyring) = stopped_mysql()?;
        let mut noise = Self { server, keyring, random: Random::new(0xbad0) };
        fs::write(noise.file(), noise.bytes()).expect("written");
        Some(noise)
    }

    fn file(&self) -> PathBuf {
        self.server.datadir().join("demo/noise.MYD")
    }

    fn keys(&self) -> [&str; 2] {
        ["--keyring", text(&self.keyring)]
    }

    fn bytes(&mut self) -> Vec<u8> {
        self.random.fill(usize::try_from(FILE_BYTES).expect("it fits"))
    }

    /// Changes everything but [`KEPT`].
    fn change(&mut self) {
        let old = fs::read(self.file()).expect("it is there");
        let mut new = self.bytes();
        for (at, bytes) in KEPT.map(|(at, bytes)| (at as usize, bytes as usize)) {
            new[at..at + bytes].copy_from_slice(&old[at..at + bytes]);
        }
        fs::write(self.file(), new).expect("written");
    }

    /// Makes two backups; the second needs little of the pack that has the noise. Returns that pack.
    fn back_up_twice(&mut self, backups: &Backups, objects: &Path) -> PathBuf {
        backups.backup(&["run"]).is(0);
        let length = |path: &PathBuf| fs::metadata(path).expect("a pack").len();
        let first = packs(objects).into_iter().max_by_key(length).expect("a pack");
        assert!(length(&first) > FILE_BYTES, "{}", length(&first));
        self.change();
        let second = backups.backup(&["run"]).is(0).says("continues from 1");
        assert_eq!(second.number("/bytes/changed"), FILE_BYTES - kept_bytes(), "{}", second.json);
        first
    }
}

fn kept_bytes() -> u64 {
    KEPT.iter().map(|(_, bytes)| bytes).sum()
}

/// Bytes of all packs that a backup needs.
fn pack_bytes(receipt: &Path) -> u64 {
    let receipt = Receipt::parse(&fs::read(receipt).expect("a receipt")).expect("a receipt");
    receipt.packs.iter().map(|pack| pack.bytes).sum()
}

/// The packs below a directory.
fn packs(objects: &Path) -> Vec<PathBuf> {
    files_below(objects).into_iter().filter(|path| path.to_string_lossy().contains("/packs/")).collect()
}

fn flip(path: &Path, at: u64) {
    let file = File::options().read(true).write(true).open(path).expect("an object");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("it is long enough");
    file.write_all_at(&[byte[0] ^ 1], at).expect("written");
}

/// Replaces a pack by another one for the same recipient, with the same frames at the same places, but with other data.
fn forge(pack: &Path, identity: &str) {
    let (bytes, identities) = (fs::read(pack).expect("a pack"), agefile::Identity::parse_file(identity));
    let identities = identities.expect("an identity");
    let recipients = [identities[0].recipient()];
    let mut reader = PackReader::decrypt(bytes.as_slice(), &identities).expect("a pack");
    let mut writer = PackWriter::new(Vec::new(), &recipients).expect("begun");
    let mut packer = Packer::new(Compression::Fast).expect("memory");
    while let Some(frame) = reader.next_frame().expect("a frame") {
        let data: Vec<u8> = frame.data.iter().map(|byte| !byte).collect();
        let description = Description { hash: Hash::compute(&data), ..frame.description };
        writer.add(&mut packer, &description, &data).expect("added");
    }
    let forged = writer.finish().expect("finished");
    assert_eq!(forged.len(), bytes.len());
    fs::write(pack, forged).expect("written");
}

#[test]
fn a_restore_reads_only_ranges_of_packs_of_which_little_is_needed() {
    let Some(mut noise) = Noise::new() else { return };
    let backups = with_keyring(&noise.server, &noise.keyring);
    let pack = noise.back_up_twice(&backups, &backups.path("repository"));
    let expected = files(noise.server.datadir());
    let restore = |name: &str| backups.restore("2", &backups.path(name), &noise.keys());
    let done = restore("into").is(0).says("only the needed ranges were read");
    is_same(&backups.path("into"), &expected);
    assert_eq!(done.number("/partial_packs"), 1, "{}", done.json);
    let receipt = |number: u32| backups.object(&format!("hosts/db1/receipts/{number:06}.json"));
    let saved = pack_bytes(&receipt(2)) - done.number("/bytes/fetched");
    assert!(saved > FILE_BYTES - 4 * MIB, "{saved}, {}", done.json);

    // The first backup needs all of the pack.
    let first = backups.restore("1", &backups.path("first"), &noise.keys()).is(0);
    assert_eq!((first.number("/partial_packs"), first.number("/bytes/fetched")), (0, pack_bytes(&receipt(1))));

    // Damage where nothing is needed is found by a check.
    let sound = fs::read(&pack).expect("a pack");
    flip(&pack, 8 * MIB);
    restore("damaged-elsewhere").is(0);
    is_same(&backups.path("damaged-elsewhere"), &expected);
    backups.backup(&["check", "all", "--objects"]).is(3);
    // Damage in a range that is needed, in the header, and a truncated pack: the hash of the whole pack shows it.
    fs::write(&pack, &sound).expect("written");
    for (name, damaged) in [("flipped", 3 * MIB + (MIB / 2)), ("header", 100)] {
        flip(&pack, damaged);
        restore(name).is(1).says("SHA-256");
        assert!(!backups.path(name).join("demo").exists());
        fs::write(&pack, &sound).expect("written");
    }
    fs::write(&pack, &sound[..15 << 20]).expect("written");
    restore("truncated").is(1).says("SHA-256");
    // Every chunk of a forged pack is authentic for its own header. What was written is compared with the signed
    // manifest, and then the pack with its hash.
    fs::write(&pack, &sound).expect("written");
    forge(&pack, &fs::read_to_string(backups.path("identity")).expect("an identity"));
    restore("forged").is(1).says("SHA-256");
    assert!(!backups.path("forged").join("demo").exists());
    // The same command completes the restore once the pack is sound again.
    fs::write(&pack, &sound).expect("written");
    restore("forged").is(0);
    is_same(&backups.path("forged"), &expected);
}

/// From a bucket, and through a store that fails when ranges are read, or that knows no ranges.
#[test]
fn ranges_are_read_from_a_bucket() {
    let Some(s3) = s3_server(false) else { return };
    s3.create_bucket("backups", false).expect("a bucket");
    let Some(mut noise) = Noise::new() else { return };
    let (root, lines) = (s3.root().expect("root"), format!("keyring = {:?}", noise.keyring));
    let mut backups = Backups::in_bucket(noise.server.datadir(), &lines, &s3, &root, "s3://backups/mysql");
    let objects = s3.path("data/backups/mysql");
    let pack = noise.back_up_twice(&backups, &objects);
    let expected = files(noise.server.datadir());
    let before = s3.access_log().len();
    let done = backups.restore("2", &backups.path("into"), &noise.keys()).is(0);
    is_same(&backups.path("into"), &expected);
    assert_eq!(done.number("/partial_packs"), 1, "{}", done.json);
    let saved = pack_bytes(&objects.join("hosts/db1/receipts/000002.json")) - done.number("/bytes/fetched");
    assert!(saved > FILE_BYTES - 4 * MIB, "{saved}, {}", done.json);
    let (asked, name) = (s3.access_log().split_off(before), pack.file_name().expect("a name").to_string_lossy());
    let parts = asked.iter().filter(|line| line.contains(" s3_GetObject ") && line.contains(&*name)).count();
    assert_eq!(parts, 1 + KEPT.len(), "the header, and each kept part: {asked:#?}");

    let (faults, knows_ranges) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(true)));
    let (count, known) = (Arc::clone(&faults), Arc::clone(&knows_ranges));
    let proxy = FaultyStore::start(s3.port(), move |seen: &Seen| {
        if !seen.has_range {
            return Fault::None;
        }
        if !known.load(Ordering::SeqCst) {
            return Fault::Answer(200, "all of it");
        }
        // Each part once.
        match count.fetch_add(1, Ordering::SeqCst) {
            0 => Fault::Answer(503, "SlowDown"),
            2 | 4 => Fault::Truncated,
            6 => Fault::LostBefore,
            _ => Fault::None,
        }
    });
    backups.restore_from(&proxy.expect("a proxy").endpoint());
    let done = backups.restore("2", &backups.path("faults"), &noise.keys()).is(0);
    is_same(&backups.path("faults"), &expected);
    assert_eq!(done.number("/partial_packs"), 1, "{}", done.json);
    assert_eq!(faults.load(Ordering::SeqCst), 2 * (1 + KEPT.len()), "each part was asked for again");

    knows_ranges.store(false, Ordering::SeqCst);
    let done = backups.restore("2", &backups.path("whole"), &noise.keys()).is(0);
    is_same(&backups.path("whole"), &expected);
    assert_eq!(done.number("/partial_packs"), 0, "{}", done.json);
}

/// What is needed of a nearly empty pack is stored again, once; then nothing but older backups needs the pack.
#[test]
fn a_nearly_empty_pack_is_stored_again_and_pruned() {
    let Some(mut noise) = Noise::new() else { return };
    let backups = with_keyring(&noise.server, &noise.keyring);
    let pack = noise.back_up_twice(&backups, &backups.path("repository"));
    let expected = files(noise.server.datadir());
    let before = backups.objects();
    backups.backup(&["run", "--dry-run"]).is(0).says("1 pack of which little is needed").says("would be stored again");
    assert_eq!(backups.objects(), before);
    let again = backups.backup(&["run"]).is(0).says("1 pack of which little is needed: 2.0 MiB is stored again");
    let stored = (again.number("/packs/repacked"), again.number("/bytes/changed"));
    assert_eq!(stored, (1, kept_bytes()), "{}", again.json);
    let unchanged = backups.backup(&["run"]).is(0);
    assert_eq!((unchanged.number("/packs/repacked"), unchanged.number("/packs/new")), (0, 0), "{}", unchanged.json);
    backups.restore("2", &backups.path("second"), &noise.keys()).is(0);
    is_same(&backups.path("second"), &expected);

    with_keeper(&backups, "keep_last = 1\ndaily = 0\nweekly = 0\nmonthly = 0\nmin_good = 1");
    backups.objects().iter().for_each(|object| age(object, 60));
    assert!(pack.exists());
    backups.backup(&["prune", "--yes"]).is(0);
    assert!(!pack.exists());
    let signers = backups.path("signers");
    let check = ["check", "all", "--objects", "--allowed-signers", signers.to_str().expect("ASCII")];
    backups.backup(&check).is(0);
    let done = backups.restore("4", &backups.path("fourth"), &noise.keys()).is(0);
    is_same(&backups.path("fourth"), &expected);
    assert_eq!(done.number("/partial_packs"), 0, "{}", done.json);
}
