//! A repository whose receipts are files, and whose other objects exist only in its listings.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{Read, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::SystemTime,
};

use archive::{
    Digest, Receipt, RepositoryDescription,
    binlog::{BinlogReceipt, Segment},
    names,
    receipt::{Bytes, NAMESPACE, Object, Pack, Pages},
    sshsig::{self, SigningKey},
};
use jiff::{SignedDuration, Timestamp};
use store::{Body, Deletion, Directory, Error, Listed, Name, Put, Store};

/// Backups of each host, one a day.
pub(crate) const DAYS: u32 = 40;
/// Parts in a receipt of binary logs.
pub(crate) const LOG_PARTS: u64 = 4;
/// Days before the first backup from which binary logs are archived.
const DAYS_BEFORE: u32 = 10;
/// Length of every object.
const OBJECT_BYTES: u64 = 1 << 20;
const SERVER: &str = "7";
const REPO: [u8; 16] = [7; 16];

/// Numbers of a host's objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Packs of the first backup.
    pub(crate) first: u64,
    /// New packs of each later one, which takes as many fewer of the oldest.
    pub(crate) daily: u64,
    /// Packs that no backup names.
    pub(crate) orphans: u64,
    /// Binary logs, each with a receipt.
    pub(crate) logs: u64,
}

impl Shape {
    /// For about this many objects: one half packs, the other binary logs.
    pub(crate) fn new(objects: u64) -> Self {
        Self {
            first: objects * 4 / 10,
            daily: (objects / 10 / u64::from(DAYS)).max(1),
            orphans: objects / 100,
            logs: objects * 48 / 100 / (LOG_PARTS + 2),
        }
    }

    /// Packs that backups name.
    pub(crate) fn packs(self) -> u64 {
        self.first + self.daily * u64::from(DAYS - 1)
    }
}

/// The beginning of a day.
pub(crate) fn day(number: u32) -> Timestamp {
    let first: Timestamp = "2026-01-15T00:00:00Z".parse().unwrap();
    first + SignedDuration::from_hours(24 * i64::from(number))
}

#[derive(Clone, Debug)]
pub(crate) struct SimulatedStore {
    documents: Directory,
    hosts: u64,
    shape: Shape,
    signers: String,
    lost: Arc<Mutex<BTreeSet<String>>>,
}

impl SimulatedStore {
    pub(crate) fn make(directory: &Path, hosts: u64, shape: Shape) -> Self {
        let root = directory.join("documents");
        let documents = Directory::make(&root).unwrap();
        let mut description = RepositoryDescription::new(REPO, day(0));
        description.id = repo();
        write(&root, names::REPOSITORY, &description.encode().unwrap(), day(0));
        let mut signers = String::new();
        for host in (1..=hosts).map(host_name) {
            let key = SigningKey::generate().unwrap();
            signers.push_str(&format!("{host} namespaces=\"{NAMESPACE}\" {}\n", key.public()));
            write_receipts(&root, &host, shape, &key);
            write_log_receipts(&root, &host, shape, &key);
        }
        Self { documents, hosts, shape, signers, lost: Arc::default() }
    }

    /// The lines of the hosts in a file of allowed signers.
    pub(crate) fn signers(&self) -> String {
        self.signers.clone()
    }

    pub(crate) fn lose_newest_pack(&self, host: &str) {
        self.lost.lock().unwrap().insert(names::pack(host, &pack(host, self.shape.packs() - 1)));
    }

    fn visit_simulated(&self, host: &str, visit: &mut dyn FnMut(String, Timestamp)) {
        for number in 0..self.shape.packs() + self.shape.orphans {
            visit(names::pack(host, &pack(host, number)), day(0));
        }
        for number in 1..=DAYS {
            visit(names::manifest(host, number.into()), day(number));
        }
        for log in 1..=self.shape.logs {
            let put = log_time(log, self.shape);
            segments(host, log, self.shape).iter().for_each(|part| visit(part.name(host, SERVER), put));
        }
    }
}

fn repo() -> String {
    "07".repeat(REPO.len())
}

fn host_name(number: u64) -> String {
    format!("db{number:03}")
}

fn pack(host: &str, number: u64) -> Digest {
    Digest::compute(format!("{host} {number}").as_bytes())
}

fn write(root: &Path, object: &str, bytes: &[u8], put: Timestamp) {
    let path: PathBuf = root.join(object);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = File::create(&path).unwrap();
    file.write_all(bytes).unwrap();
    file.set_modified(SystemTime::from(put)).unwrap();
}

fn write_receipts(root: &Path, host: &str, shape: Shape, key: &SigningKey) {
    let mut previous = None;
    for number in 1..=DAYS {
        let first = shape.daily * u64::from(number - 1);
        let needed = first..first + shape.first;
        let new = |of: u64| number == 1 || of >= needed.end - shape.daily;
        let of = |of: u64| Pack { sha256: pack(host, of), bytes: OBJECT_BYTES, live_bytes: OBJECT_BYTES, new: new(of) };
        let receipt = Receipt {
            schema: archive::receipt::SCHEMA.to_owned(),
            repo: repo(),
            host: host.to_owned(),
            number: number.into(),
            kind: archive::receipt::Kind::Backup,
            previous,
            began: day(number),
            ended: day(number) + SignedDuration::from_hours(1),
            phases: None,
            full: number == 1,
            server_uuid: None,
            provider: "stopped".to_owned(),
            manifest: Object { sha256: Digest::compute(host.as_bytes()), bytes: OBJECT_BYTES },
            keys: None,
            packs: needed.clone().map(of).collect(),
            bytes: Bytes { data: OBJECT_BYTES * shape.first, ..Bytes::default() },
            pages: Pages::default(),
            recipients: Vec::new(),
            key_recipients: Vec::new(),
            unproven_recipients: Vec::new(),
            findings: Vec::new(),
            tool: "sealant".to_owned(),
        };
        let bytes = receipt.encode().unwrap();
        let signature = sshsig::sign(key, NAMESPACE, &bytes);
        write(root, &names::signature(host, number.into()), signature.as_bytes(), receipt.ended);
        write(root, &names::receipt(host, number.into()), &bytes, receipt.ended);
        previous = Some(Digest::compute(&bytes));
    }
}

/// When a log begins.
fn log_time(log: u64, shape: Shape) -> Timestamp {
    let all = 86_400 * u64::from(DAYS + DAYS_BEFORE);
    let before = SignedDuration::from_hours(24 * i64::from(DAYS_BEFORE));
    day(0) - before + SignedDuration::from_secs(i64::try_from(all * log / shape.logs).unwrap())
}

fn segments(host: &str, log: u64, shape: Shape) -> Vec<Segment> {
    let time = u32::try_from(log_time(log, shape).as_second()).unwrap();
    let of = |number: u64| Segment {
        file: format!("binlog.{log:06}"),
        start: 4 + 1000 * number,
        end: 1004 + 1000 * number,
        object: Object { sha256: pack(host, u64::MAX - log * LOG_PARTS - number), bytes: OBJECT_BYTES },
        event_bytes: 1000,
        events: 3,
        first: time,
        last: time,
    };
    (0..LOG_PARTS).map(of).collect()
}

fn write_log_receipts(root: &Path, host: &str, shape: Shape, key: &SigningKey) {
    let mut previous = None;
    for number in 1..=shape.logs {
        let segments = segments(host, number, shape);
        let receipt = BinlogReceipt {
            schema: archive::binlog::SCHEMA.to_owned(),
            repo: repo(),
            host: host.to_owned(),
            server: SERVER.to_owned(),
            version: "10.11".to_owned(),
            number,
            previous,
            written: log_time(number, shape),
            predecessor: None,
            gap: None,
            end: segments.last().unwrap().end(),
            segments,
            gtid: String::new(),
            recipients: Vec::new(),
            tool: "sealant".to_owned(),
        };
        let bytes = receipt.encode().unwrap();
        let signature = sshsig::sign(key, NAMESPACE, &bytes);
        write(root, &names::binlog_signature(host, SERVER, number), signature.as_bytes(), receipt.written);
        write(root, &names::binlog_receipt(host, SERVER, number), &bytes, receipt.written);
        previous = Some(Digest::compute(&bytes));
    }
}

impl Store for SimulatedStore {
    fn put_new(&self, _: &Name, _: &mut dyn Body, _: u64) -> Result<Put, Error> {
        unreachable!("nothing is put")
    }

    fn get(&self, name: &Name, range: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, Error> {
        self.documents.get(name, range)
    }

    fn head(&self, name: &Name) -> Result<Option<u64>, Error> {
        self.documents.head(name)
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error> {
        let mut found = Vec::new();
        self.visit(prefix, &mut |listed| found.push(listed))?;
        found.sort_by(|one: &Listed, other: &Listed| one.name.cmp(&other.name));
        Ok(found)
    }

    fn visit(&self, prefix: &str, visit: &mut dyn FnMut(Listed)) -> Result<(), Error> {
        self.documents.visit(prefix, visit)?;
        let hosts = (1..=self.hosts).map(host_name);
        let lost = self.lost.lock().unwrap().clone();
        for host in hosts.filter(|host| prefix.starts_with(&names::of_host(host))) {
            self.visit_simulated(&host, &mut |object, modified| {
                if object.starts_with(prefix) && !lost.contains(&object) {
                    visit(Listed { name: object.parse().unwrap(), bytes: OBJECT_BYTES, modified, etag: None });
                }
            });
        }
        Ok(())
    }

    fn children(&self, prefix: &str) -> Result<Vec<String>, Error> {
        self.documents.children(prefix)
    }

    fn delete(&self, _: &Name) -> Result<Deletion, Error> {
        unreachable!("nothing is deleted")
    }

    fn location(&self) -> String {
        "simulated".to_owned()
    }
}
