//! Measures how fast `sealant verify` is: encrypted and unencrypted tables of real servers, from the page cache and
//! from disk, compared with plain reads, `fio`, `innochecksum` and `inno`; also memory, growth and sealing.
//!
//! `cargo bench --package sealant --bench verify [-- PART…]`; `docs/benchmarks.md` has results and machine. The tables
//! are created once and kept in the cache of the test harness.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEALANT_BENCH_MIB` | size of each of the four tables [1024] |
//! | `SEALANT_BENCH_SECONDS` | time for each experiment [60] |
//! | `SEALANT_BENCH_RAW` | file for every sample, as JSON lines |
//! | `SEALANT_BENCH_JSON` | file for the result, as `sealant bench verify --format json` writes it |

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its figures")]

#[path = "verify/data.rs"]
mod data;

use std::cell::RefCell;
use std::env;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bench::{
    Arm, Environment, Error, Experiment, ExperimentRecord, Peer, PeerKind, PeerVerdicts, Record, SCHEMA, Sample,
    Settings, Subject, arms,
};
use files::quantity::size;
use harness::Kind;
use innodb::crypt::mysql::{DecryptedPage, PageEncryption, WrappedKey};
use report::{write_bench_json, write_bench_samples, write_bench_table};
use verify::{Keys, Plan};

use data::Tables;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(tables) = data::tables(number("SEALANT_BENCH_MIB", 1024)) else { return Ok(()) };
    let wanted: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let mut bench = Bench::new(tables);
    for (name, part) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            part(&mut bench)?;
        }
    }
    bench.finish()
}

/// A part of the benchmark.
type Part = fn(&mut Bench) -> Result<(), Error>;

const PARTS: [(&str, Part); 9] = [
    ("encrypted-mysql", Bench::encrypted_mysql),
    ("clear-mysql", Bench::clear_mysql),
    ("clear-mariadb", Bench::clear_mariadb),
    ("keyless-mariadb", Bench::keyless_mariadb),
    ("encrypted-mariadb", Bench::encrypted_mariadb),
    ("cold", Bench::cold),
    ("memory", Bench::memory),
    ("growth", Bench::growth),
    ("seal", Bench::seal),
];

struct Bench {
    tables: Tables,
    environment: Environment,
    settings: Settings<'static>,
    mysql: Option<Peer>,
    mariadb: Option<Peer>,
    inno: Option<Peer>,
    experiments: Vec<ExperimentRecord>,
    opinions: Vec<PeerVerdicts>,
    notes: Vec<String>,
    samples: Vec<Sample>,
}

impl Bench {
    fn new(tables: Tables) -> Self {
        let environment = Environment::now(&tables.directory);
        let innochecksum = |kind: Kind| {
            let program = kind.locate().ok()?.tool("innochecksum")?;
            Peer::find(PeerKind::Innochecksum, program.as_os_str())
        };
        let inno = harness::cache().join("tools/bin/inno");
        let budget = Duration::from_secs(number("SEALANT_BENCH_SECONDS", 60));
        Self {
            environment,
            settings: Settings { budget, ..Settings::default() },
            mysql: innochecksum(Kind::MySql97),
            mariadb: innochecksum(Kind::MariaDb1011),
            inno: Peer::find(PeerKind::Inno, inno.as_os_str()),
            experiments: Vec::new(),
            opinions: Vec::new(),
            notes: Vec::new(),
            samples: Vec::new(),
            tables,
        }
    }

    fn encrypted_mysql(&mut self) -> Result<(), Error> {
        let keys = self.tables.keys();
        let table = self.tables.mysql_encrypted.clone();
        self.ask("encrypted MySQL", &table, &[self.mysql.clone(), self.mariadb.clone()])?;
        let inno = [self.inno.clone()];
        self.against("encrypted MySQL", &table, &keys, &inno)
    }

    fn clear_mysql(&mut self) -> Result<(), Error> {
        let table = self.tables.mysql_clear.clone();
        let peers = [self.mariadb.clone(), self.mysql.clone(), self.inno.clone()];
        self.against("clear MySQL", &table, &Keys::default(), &peers)
    }

    fn clear_mariadb(&mut self) -> Result<(), Error> {
        let table = self.tables.mariadb_clear.clone();
        let mysql = [self.mysql.clone()];
        self.ask("clear MariaDB", &table, &mysql)?;
        self.against("clear MariaDB", &table, &Keys::default(), &[self.mariadb.clone(), self.inno.clone()])
    }

    fn keyless_mariadb(&mut self) -> Result<(), Error> {
        let table = self.tables.mariadb_encrypted.clone();
        let peers = [self.mariadb.clone(), self.inno.clone()];
        self.against("encrypted MariaDB, no key", &table, &Keys::default(), &peers)
    }

    fn encrypted_mariadb(&mut self) -> Result<(), Error> {
        let keys = self.tables.keys();
        let table = self.tables.mariadb_encrypted.clone();
        let mariadb = [self.mariadb.clone()];
        self.against("encrypted MariaDB", &table, &keys, &mariadb)
    }

    /// Measures one thread and all processors against plain reads and against peers, from the page cache.
    fn against(&mut self, name: &str, table: &Path, keys: &Keys, peers: &[Option<Peer>]) -> Result<(), Error> {
        self.ask(name, table, peers)?;
        let files = [table.to_path_buf()];
        bench::warm(&files)?;
        let plan = Plan::scan(&files);
        let [alone, together] = threads();
        let mut experiment = Experiment::new(name)
            .arm(arms::verify("sealant, 1 core", &plan, keys, alone))
            .arm(arms::verify("sealant, all cores", &plan, keys, together))
            .arm(arms::read_cached("read only, 1 core", &files, alone))
            .arm(arms::read_cached("read only, all cores", &files, together));
        let mut pairs = pairs(&[
            ("sealant, all cores", "sealant, 1 core"),
            ("sealant, 1 core", "read only, 1 core"),
            ("sealant, all cores", "read only, all cores"),
        ]);
        for peer in peers.iter().flatten() {
            for (threads, message) in [(alone, "1 core"), (together, "all cores")] {
                let ours = format!("sealant, {message}");
                if threads == alone || peer.has_threads() {
                    let theirs = format!("{}, {message}", peer.name());
                    experiment = experiment.arm(arms::peer(&theirs, peer, &files, threads));
                }
                let theirs = if peer.has_threads() { message } else { "1 core" };
                pairs.push((ours, format!("{}, {theirs}", peer.name())));
            }
        }
        self.measure(experiment, &pairs)
    }

    /// Measures reads from disk; the files are evicted from the page cache before every run.
    fn cold(&mut self) -> Result<(), Error> {
        let keys = self.tables.keys();
        let files = [self.tables.mysql_encrypted.clone(), self.tables.mariadb_clear.clone()];
        let plan = Plan::scan(&files);
        let fio = process::find(harness::cache().join("servers/fio/root/usr/bin/fio"));
        let [alone, together] = threads();
        let mut experiment = Experiment::new("from disk")
            .arm(arms::verify("sealant, 1 core", &plan, &keys, alone))
            .arm(arms::verify("sealant, all cores", &plan, &keys, together))
            .arm(arms::read_direct("direct reads, 1 MiB", &files))
            .before_each(|| bench::drop_cache(&files));
        let mut pairs = pairs(&[
            ("sealant, 1 core", "direct reads, 1 MiB"),
            ("sealant, all cores", "direct reads, 1 MiB"),
            ("sealant, all cores", "sealant, 1 core"),
        ]);
        for depth in [1, 8] {
            let Some(program) = &fio else { break };
            let theirs = format!("fio, {depth} at a time");
            experiment = experiment.arm(arms::fio(&theirs, program, &files, depth));
            pairs.push(("sealant, 1 core".to_owned(), theirs.clone()));
            pairs.push(("sealant, all cores".to_owned(), theirs));
        }
        self.measure(experiment, &pairs)
    }

    /// Measures the maximum memory of the binary.
    fn memory(&mut self) -> Result<(), Error> {
        let files = self.tables.all();
        bench::warm(&files)?;
        for (state, cold) in [("page cache", false), ("disk", true)] {
            if cold {
                bench::drop_cache(&files)?;
            }
            let mut command = Command::new(env!("CARGO_BIN_EXE_sealant"));
            command.arg("verify").args(&files).args(self.tables.key_options());
            let peak = bench::peak_memory(&mut command)?;
            let (resident, total) = (size(peak.resident_bytes), size(self.tables.bytes()));
            self.notes.push(format!("memory: {resident} at most for {total} from {state}, exit code {}", peak.code));
        }
        Ok(())
    }

    /// Measures whether a gigabyte takes the same time for any number of gigabytes: reads copies of one table from
    /// disk, since they may not fit into memory.
    fn growth(&mut self) -> Result<(), Error> {
        let keys = self.tables.keys();
        let unit = fs::metadata(&self.tables.mysql_encrypted).map_or(0, |metadata| metadata.len());
        let steps = self.steps(unit);
        let copies = data::Copies::make(&self.tables.mysql_encrypted, steps.last().copied().unwrap_or(1));
        let sets: Vec<Vec<PathBuf>> = steps.iter().map(|count| copies.files[..*count].to_vec()).collect();
        let plans: Vec<Plan> = sets.iter().map(|files| Plan::scan(files)).collect();
        let mut names = Vec::new();
        let mut experiment = Experiment::new("growth, from disk");
        for (plan, count) in plans.iter().zip(&steps) {
            let name = format!("sealant, all cores, {count} x {}", size(unit));
            experiment = experiment.arm(arms::verify(&name, plan, &keys, threads()[1]));
            names.push(name);
        }
        let experiment = experiment.before_each(|| bench::drop_cache(&copies.files));
        let first = names.first().cloned().unwrap_or_default();
        let pairs: Vec<(String, String)> = names.iter().skip(1).map(|name| (name.clone(), first.clone())).collect();
        self.measure(experiment, &pairs)
    }

    /// 1, 5 and 20 copies, or as many as fit on the disk.
    fn steps(&mut self, unit: u64) -> Vec<usize> {
        const SPARE: u64 = 2 << 30;
        let free = rustix::fs::statvfs(&self.tables.directory).map_or(0, |fs| fs.f_bavail.saturating_mul(fs.f_frsize));
        let room = usize::try_from(free.saturating_sub(SPARE) / unit.max(1)).unwrap_or(0);
        match room {
            20.. => vec![1, 5, 20],
            10.. => vec![1, 4, 10],
            2.. => vec![1, room.min(4)],
            _ => {
                self.notes.push("growth: the disk has no room for copies".to_owned());
                vec![1]
            }
        }
    }

    /// Measures sealing of decrypted pages: one by one, and many in lockstep.
    fn seal(&mut self) -> Result<(), Error> {
        const PAGE: usize = 16384;
        const PAGES: usize = 4096;
        let path = self.tables.mysql_encrypted.clone();
        let bytes = data::head(&path, PAGE * (PAGES + 1));
        let info = bytes.windows(3).position(|magic| magic == b"lCC").expect("page 0 holds a key");
        let wrapped = WrappedKey::parse(&bytes[info..]).expect("a wrapped key");
        let key = wrapped.unwrap(&self.tables.keys()).expect("the keyring opens it");
        let (cipher, encryptor) = (key.cipher().expect("a key"), key.encryptor().expect("a key"));
        let mut pages: Vec<(Vec<u8>, PageEncryption)> = Vec::new();
        for page in bytes[PAGE..].chunks_exact(PAGE) {
            let mut page = page.to_vec();
            pages.extend(cipher.decrypt(&mut page).ok().map(|sealed| (page, sealed)));
        }
        let total = (pages.len() * PAGE) as u64;
        // Both arms write to the same pages; their content does not affect the time.
        let pages = RefCell::new(pages);
        let one_by_one = Arm::new("one by one", || {
            for (page, sealed) in pages.borrow_mut().iter_mut() {
                cipher.encrypt(page, *sealed).map_err(|e| fault("one by one", &e))?;
            }
            Ok(total)
        });
        let lockstep = |lanes: usize| {
            let name = format!("{lanes} in lockstep");
            let (pages, encryptor) = (&pages, &encryptor);
            Arm::new(name.clone(), move || {
                for pages in pages.borrow_mut().chunks_mut(lanes) {
                    let mut opened: Vec<DecryptedPage<'_>> =
                        pages.iter_mut().map(|(page, sealed)| DecryptedPage { page, encryption: *sealed }).collect();
                    encryptor.encrypt(&mut opened).map_err(|e| fault(&name, &e))?;
                }
                Ok(total)
            })
        };
        let experiment =
            Experiment::new("sealing, 1 core").arm(one_by_one).arms([8, 16, 32, 64].into_iter().map(lockstep));
        let names = [8, 16, 32, 64].map(|lanes| format!("{lanes} in lockstep"));
        let pairs: Vec<(String, String)> = names.into_iter().map(|name| (name, "one by one".to_owned())).collect();
        self.measure(experiment, &pairs)
    }

    fn ask(&mut self, group: &str, table: &Path, peers: &[Option<Peer>]) -> Result<(), Error> {
        let group: &'static str = match group {
            "encrypted MySQL" => "encrypted MySQL",
            "clear MySQL" => "clear MySQL",
            "clear MariaDB" => "clear MariaDB",
            _ => "encrypted MariaDB",
        };
        for peer in peers.iter().flatten() {
            let (opinion, _) = peer.opinion(group, &[table.to_path_buf()])?;
            if !self.opinions.contains(&opinion) {
                self.opinions.push(opinion);
            }
        }
        Ok(())
    }

    fn measure(&mut self, experiment: Experiment<'_>, pairs: &[(String, String)]) -> Result<(), Error> {
        let samples = experiment.run(&self.settings, &|_| {})?;
        self.samples.extend_from_slice(samples.all());
        let record = samples.compare(pairs.to_vec()).record();
        eprintln!("{}: {} rounds", record.name, record.rounds);
        self.experiments.push(record);
        Ok(())
    }

    fn finish(self) -> Result<(), Box<dyn std::error::Error>> {
        let (files, bytes) = (self.tables.all().len() as u64, self.tables.bytes());
        let mut notes = self.notes;
        if self.environment.is_busy() {
            notes.push("other programs kept the processors busy; trust the ratios, not the rates".to_owned());
        }
        let record = Record {
            schema: SCHEMA.into(),
            environment: self.environment,
            subject: Subject {
                files,
                bytes,
                opened_bytes: self.tables.encrypted_bytes(),
                clear_bytes: bytes - self.tables.encrypted_bytes(),
                unsound: 0,
            },
            programs: Vec::new(),
            missing: Vec::new(),
            experiments: self.experiments,
            opinions: self.opinions,
            notes,
        };
        write_bench_table(&record, &mut std::io::stdout().lock())?;
        if let Some(path) = env::var_os("SEALANT_BENCH_RAW") {
            write_bench_samples(&record.environment, &self.samples, &mut fs::File::create(path)?)?;
        }
        if let Some(path) = env::var_os("SEALANT_BENCH_JSON") {
            write_bench_json(&record, &mut fs::File::create(path)?)?;
        }
        Ok(())
    }
}

fn fault(arm: &str, error: &dyn std::error::Error) -> Error {
    Error::Work { arm: arm.to_owned(), reason: error.to_string() }
}

fn pairs(names: &[(&str, &str)]) -> Vec<(String, String)> {
    names.iter().map(|(of, to)| ((*of).to_owned(), (*to).to_owned())).collect()
}

/// One thread, and one per processor.
fn threads() -> [NonZeroUsize; 2] {
    [NonZeroUsize::MIN, std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)]
}

fn number(variable: &str, default: u64) -> u64 {
    env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
