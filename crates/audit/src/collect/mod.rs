//! Collects facts: the only I/O of this crate.
//!
//! [`live`] queries a server and examines its files, host and ports, as far as permitted; [`offline`] examines the
//! files of a directory. Neither judges, and neither keeps a secret. What could not be examined becomes a gap, which
//! checks turn into UNKNOWN.
//!
//! It uses one connection and read-only statements, each once; it opens files without following links or blocking, and
//! without changing their access time where the kernel permits.

mod content;
mod disks;
mod file_proofs;
mod files;
mod host;
mod luks;
mod modes;
mod options;
mod page_proofs;
pub mod placement;
mod process;
mod proofs;
mod register;
mod roots;
mod secret;
mod sql;
mod stores;
mod unit;
mod unlinked;
mod view;
mod wire;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use innodb::file_suffix;
use innodb::server_file::is_table_file;
use jiff::Timestamp;
use server::dialect::variable;
use server::probe::ProbeLimits;
use server::{Endpoint, Target};

use crate::Error;
use crate::access;
use crate::facts::files::{Content, FileFact, FileFacts, KeyProof};
use crate::facts::host::{Process, Role};
use crate::facts::sql::SqlFacts;
use crate::facts::{Facts, Scope, Unavailable};
use file_proofs::FileProofRun;
use files::{Found, Walk};
pub use stores::KeyCopies;
use stores::LoadedStores;
use view::{Host, View};

/// Progress, for a status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The current step.
    pub step: &'static str,
    /// Number of files read, or statements answered.
    pub files: usize,
    /// Number of bytes read.
    pub bytes: u64,
}

impl fmt::Display for Progress {
    /// One human-readable line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.bytes >> 20;
        match (self.files, mib) {
            (0, _) => f.write_str(self.step),
            (files, 0) => write!(f, "{}: {files}", self.step),
            (files, mib) => write!(f, "{}: {files}, {mib} MiB read", self.step),
        }
    }
}

/// Limits of a collection.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Maximum bytes of undo, redo, doublewrite and temporary files that are read completely without `--deep`.
    pub special_bytes: u64,
    /// Maximum number of files.
    pub files: usize,
    /// Number of reading threads.
    pub readers: usize,
    /// How long to wait for the first pages of new tablespaces.
    pub settle_time: Duration,
    /// Limits of a probe of a listener.
    pub probe: ProbeLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            special_bytes: 1 << 30,
            files: 2_000_000,
            readers: 2,
            settle_time: Duration::from_millis(1500),
            probe: ProbeLimits::default(),
        }
    }
}

/// Options of a live audit.
#[derive(Clone)]
pub struct LiveOptions<'a> {
    /// Endpoint and account of the server.
    pub target: Target,
    /// Password, TLS and timeouts.
    pub connect: server::Options,
    /// The data directory, if its path here differs from the server's.
    pub datadir: Option<PathBuf>,
    /// Directories with backups.
    pub backup_dirs: Vec<PathBuf>,
    /// Names that clients use for this server.
    pub client_names: Vec<String>,
    /// Additional option files.
    pub option_files: Vec<PathBuf>,
    /// Copies of the key stores, to be proven.
    pub key_copies: KeyCopies,
    /// The directory of the register of keys; `None` to omit it.
    pub state_dir: Option<PathBuf>,
    /// Read every page.
    pub deep: bool,
    /// Read files.
    pub files: bool,
    /// Collect host facts.
    pub host: bool,
    /// Probe the ports.
    pub wire: bool,
    /// Try to log in without TLS, only on this host.
    pub plaintext_probe: bool,
    /// Limits.
    pub limits: Limits,
    /// Receives progress, on the calling thread.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

impl LiveOptions<'_> {
    /// Everything except the clear-text login and reading every page.
    #[must_use]
    pub fn new(target: Target, connect: server::Options) -> Self {
        Self {
            target,
            connect,
            datadir: None,
            backup_dirs: Vec::new(),
            client_names: Vec::new(),
            option_files: Vec::new(),
            key_copies: KeyCopies::default(),
            state_dir: None,
            deep: false,
            files: true,
            host: true,
            wire: true,
            plaintext_probe: false,
            limits: Limits::default(),
            progress: None,
        }
    }
}

/// Options of an offline audit.
#[derive(Clone, Default)]
pub struct OfflineOptions<'a> {
    /// Read every page.
    pub deep: bool,
    /// Whether it is a backup rather than a data directory.
    pub backup: bool,
    /// Directories with backups.
    pub backup_dirs: Vec<PathBuf>,
    /// Names that clients use for the server.
    pub client_names: Vec<String>,
    /// Copies of the key stores, to be proven.
    pub key_copies: KeyCopies,
    /// Limits.
    pub limits: Limits,
    /// Receives progress, on the calling thread.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

/// Collects the facts about a running server.
///
/// # Errors
/// [`Error::Server`] if it cannot be connected to; [`Error::KeyStore`] if a given copy is not a key store. Other errors
/// become gaps in the facts.
pub fn live(options: &LiveOptions<'_>) -> Result<Facts, Error> {
    let copies = copies(&options.key_copies)?;
    let mut facts = Facts::empty(&options.target.to_string(), Timestamp::now());
    facts.client_names.clone_from(&options.client_names);
    let answers = sql::query_server(options)?;
    facts.scope = Scope { sql: true, deep: options.deep, ..Scope::default() };
    let host = Host::this();
    let seen = locate(&host, options, &answers);
    let scan_roots = seen.as_ref().map(|seen| scan_roots(&host, options, &answers.sql, seen)).unwrap_or_default();
    let found = match &seen {
        Ok(seen) if options.files => Some(read_files(&host, options, &answers.sql, seen, &scan_roots, copies)),
        _ => None,
    };
    facts.register = options.state_dir.as_deref().map(|state_dir| {
        let seen = seen.as_ref().ok();
        register::read(register::Query {
            state_dir,
            server_name: ::register::server_name(&answers.identity),
            datadir: seen.map(|seen| seen.view.reach(&seen.datadir)),
            held: keys_held(&answers.sql, seen.zip(found.as_ref().map(|(facts, _)| facts))),
        })
    });
    if options.host {
        match &seen {
            Ok(seen) => {
                let (read, found) =
                    found.as_ref().map_or((&[][..], None), |(facts, found)| (facts.files.as_slice(), Some(found)));
                facts.host = Some(host::collect(host::HostSources {
                    host: &host,
                    view: &seen.view,
                    process: seen.process.clone(),
                    sql: Some(&answers.sql),
                    datadir: &seen.datadir,
                    scan_roots: &scan_roots,
                    files: read,
                    mounts: found.map_or(&[], |found| &found.mounts),
                    option_files: &options.option_files,
                }));
                facts.scope.host = true;
            }
            Err(gap) => facts.gaps.push(Unavailable { what: "host".to_owned(), ..gap.clone() }),
        }
    }
    if options.files {
        match (found, &seen) {
            (Some((read, found)), _) => {
                facts.gaps.extend(gaps_of(&read, &found));
                facts.files = Some(read);
                facts.scope.files = true;
            }
            (None, Err(gap)) => {
                facts.gaps.push(Unavailable { what: "files".to_owned(), ..gap.clone() });
                if !options.key_copies.is_empty() {
                    facts
                        .gaps
                        .push(Unavailable { what: "whether the copy of the keys suffices".to_owned(), ..gap.clone() });
                }
            }
            (None, Ok(_)) => {}
        }
    }
    if options.wire {
        let ca_file = ca_file(&answers.sql, seen.as_ref().ok().filter(|_| options.files));
        match wire::probe(options, &answers.sql, ca_file) {
            Ok(wire) => {
                facts.wire = Some(wire);
                facts.scope.wire = true;
            }
            Err(gap) => facts.gaps.push(gap),
        }
    }
    facts.sql = Some(answers.sql);
    Ok(facts)
}

/// Collects the facts from the files of a directory.
///
/// # Errors
/// [`Error::NotADataDirectory`] if it cannot be read, or has no file of a server; [`Error::KeyStore`] if a given copy
/// is not a key store.
pub fn offline(dir: &Path, options: &OfflineOptions<'_>) -> Result<Facts, Error> {
    let not = |why: String| Error::NotADataDirectory { path: dir.to_owned(), why };
    let copies = copies(&options.key_copies)?;
    let absolute = std::fs::canonicalize(dir).map_err(|error| not(error.to_string()))?;
    let view = View::ours();
    view.open_dir(&absolute).map_err(|error| not(error.to_string()))?;
    let mut facts = Facts::empty(&absolute.to_string_lossy(), Timestamp::now());
    facts.client_names.clone_from(&options.client_names);
    facts.scope = Scope { files: true, deep: options.deep, ..Scope::default() };
    let role = if options.backup { Role::Backup } else { Role::Data };
    let mut scan_roots = roots::of_directory(&absolute, role);
    scan_roots.extend(roots::of_backups(&options.backup_dirs));
    let found = files::walk(&Walk {
        view: &view,
        scan_roots: &scan_roots,
        deep: options.deep,
        server_uid: None,
        limits: &options.limits,
        progress: options.progress,
    });
    let named = |file: &&FileFact| Path::new(&file.path).starts_with(&absolute);
    if !found.files.iter().filter(named).any(|file| file.content.is_of_a_server()) {
        return Err(not("no file of a server here".to_owned()));
    }
    facts.gaps.push(Unavailable {
        what: "host".to_owned(),
        why: "the directory is audited without its server, whose host may be another".to_owned(),
        remedy: access::RUNNING.to_owned(),
    });
    let key_file = page_proofs::KeyFileSettings::default();
    let file_proofs = FileProofRun {
        view: &view,
        files: &found.files,
        found: &stores::found(&view, &found.files, &[], &key_file),
        live: false,
        limits: &options.limits,
        progress: options.progress,
    };
    let (proof, copy_proof) = file_proofs.proofs(options.deep, copies, &absolute);
    let read = FileFacts {
        server_uuid: process::server_uuid(&view, &absolute),
        unlinked_unseen: Some("no server was running on these files".to_owned()),
        key_proofs: key_proofs(&view, &found.files, &[], &key_file),
        proof,
        copy_proof,
        roots: found.roots.clone(),
        files: found.files.clone(),
        directories: found.directories.clone(),
        bytes_read: found.bytes_read,
        unlinked: Vec::new(),
    };
    facts.gaps.extend(gaps_of(&read, &found));
    facts.files = Some(read);
    Ok(facts)
}

/// The given copies of key stores; `None` without any.
fn copies(named: &KeyCopies) -> Result<Option<LoadedStores>, Error> {
    if named.is_empty() { Ok(None) } else { named.open().map(Some) }
}

/// Reports progress.
fn report(progress: Option<&dyn Fn(Progress)>, step: &'static str, files: usize, bytes: u64) {
    if let Some(tell) = progress {
        tell(Progress { step, files, bytes });
    }
}

/// A server that is proven to be on this host.
struct ServerLocation {
    view: View,
    /// The data directory, by the path under which its files are reported.
    datadir: PathBuf,
    process: Option<Process>,
    /// Why the process is unknown; `None` if it is known.
    no_process: Option<String>,
}

/// Finds the server's process and files on this host.
fn locate(host: &Host, options: &LiveOptions<'_>, answers: &sql::ServerAnswers) -> Result<ServerLocation, Unavailable> {
    let datadir = roots::normal(Path::new(&answers.sql.identity.datadir));
    let wanted = process::ServerTraits {
        peer_pid: answers.peer_pid,
        local_address: match &options.target.endpoint {
            Endpoint::Tcp { host, port } => process::local_address(host, *port),
            Endpoint::Socket(_) => None,
        },
        pid_file: answers.identity.pid_file.as_ref().map(|path| datadir.join(path)),
        server_uuid: answers.identity.server_uuid.as_ref().map(|uuid| uuid.to_ascii_lowercase()),
        datadir: datadir.clone(),
    };
    let process = process::find(host, &wanted);
    if let Some(given) = &options.datadir {
        return given_datadir(given, &wanted, process);
    }
    match process {
        Ok(process) => {
            let view = View::of_process(host, process.pid);
            Ok(ServerLocation { view, datadir, process: Some(process), no_process: None })
        }
        // Files with the server's own UUID are its files, whoever runs it.
        Err(why)
            if wanted.server_uuid.is_some() && process::server_uuid(&View::ours(), &datadir) == wanted.server_uuid =>
        {
            Ok(ServerLocation { view: View::ours(), datadir, process: None, no_process: Some(why) })
        }
        Err(why) => Err(Unavailable {
            what: "files".to_owned(),
            why,
            remedy:
                "run on the server's host as root or as the server's user, or name its data directory with --datadir"
                    .to_owned(),
        }),
    }
}

/// The operator gave the data directory; its UUID must not contradict.
fn given_datadir(
    given: &Path,
    wanted: &process::ServerTraits,
    process: Result<Process, String>,
) -> Result<ServerLocation, Unavailable> {
    let remedy = "name the data directory of this server with --datadir".to_owned();
    let unseen = |why: String| Unavailable {
        what: "files".to_owned(),
        why: format!("{}: {why}", given.display()),
        remedy: remedy.clone(),
    };
    let absolute = std::path::absolute(given).map_err(|error| unseen(error.to_string()))?;
    let view = View::ours();
    view.open_dir(&absolute).map_err(|error| unseen(error.to_string()))?;
    let found = process::server_uuid(&view, &absolute);
    if let (Some(found), Some(wanted)) = (&found, &wanted.server_uuid)
        && found != wanted
    {
        return Err(unseen(format!("belongs to server {found}, not to {wanted}")));
    }
    let (process, no_process) = match process {
        Ok(process) => (Some(process), None),
        Err(why) => (None, Some(why)),
    };
    Ok(ServerLocation { view, datadir: absolute, process, no_process })
}

/// The directories and files of the server: named by its variables, and next to its program.
fn scan_roots(host: &Host, options: &LiveOptions<'_>, sql: &SqlFacts, seen: &ServerLocation) -> Vec<roots::ScanRoot> {
    let program =
        seen.process.as_ref().and_then(|process| std::fs::read_link(host.of_process(process.pid, "exe")).ok());
    let mut scan_roots = roots::of_server(sql, &seen.datadir, &options.backup_dirs);
    scan_roots.extend(
        roots::key_configurations(sql, &seen.datadir, program.as_deref())
            .into_iter()
            .filter(|scan_root| seen.view.stat(&scan_root.path).is_ok()),
    );
    scan_roots
}

fn read_files(
    host: &Host,
    options: &LiveOptions<'_>,
    sql: &SqlFacts,
    seen: &ServerLocation,
    scan_roots: &[roots::ScanRoot],
    copies: Option<LoadedStores>,
) -> (FileFacts, Found) {
    let server_uid = seen.process.as_ref().map(|process| process.uid);
    let owner = || seen.view.stat(&seen.datadir).ok().map(|stat| stat.st_uid);
    let walk = Walk {
        view: &seen.view,
        scan_roots,
        deep: options.deep,
        server_uid: server_uid.or_else(owner),
        limits: &options.limits,
        progress: options.progress,
    };
    let mut found = files::walk(&walk);
    let external = files::named(&walk, &external_files(sql, seen, &found.files));
    found.files.extend(external);
    files::settle(&walk, &mut found, Timestamp::now().as_second(), options.limits.settle_time);
    found.files.sort_by(|a, b| a.path.cmp(&b.path));
    let key_file = page_proofs::KeyFileSettings::by(sql, &seen.view, &seen.datadir);
    let live_stores = roots::keyring_files(sql, &seen.datadir);
    let key_proofs = key_proofs(&seen.view, &found.files, &live_stores, &key_file);
    let file_proofs = FileProofRun {
        view: &seen.view,
        files: &found.files,
        found: &stores::found(&seen.view, &found.files, &live_stores, &key_file),
        live: true,
        limits: &options.limits,
        progress: options.progress,
    };
    let (proof, copy_proof) = file_proofs.proofs(options.deep, copies, &seen.view.reach(&seen.datadir));
    let unlinked = match (&seen.process, &seen.no_process) {
        (Some(process), _) => unlinked::of_process(host, process.pid),
        (None, why) => Err(why.clone().unwrap_or_default()),
    };
    let facts = FileFacts {
        roots: found.roots.clone(),
        files: std::mem::take(&mut found.files),
        unlinked_unseen: unlinked.as_ref().err().cloned(),
        unlinked: unlinked.unwrap_or_default(),
        server_uuid: process::server_uuid(&seen.view, &seen.datadir),
        directories: std::mem::take(&mut found.directories),
        bytes_read: found.bytes_read,
        key_proofs,
        proof,
        copy_proof,
    };
    (facts, found)
}

/// Tests MySQL's and MariaDB's key files on the tablespaces.
fn key_proofs(
    view: &View,
    files: &[FileFact],
    stores: &[PathBuf],
    key_file: &page_proofs::KeyFileSettings,
) -> Vec<KeyProof> {
    let mut proofs = proofs::collect(view, files, stores);
    proofs.extend(page_proofs::collect(view, files, key_file));
    proofs
}

/// The keys in the key files that the server uses.
fn keys_held(
    sql: &SqlFacts,
    read: Option<(&ServerLocation, &FileFacts)>,
) -> crate::facts::Observed<::register::Fingerprints> {
    let (seen, facts) = read.ok_or_else(|| Unavailable {
        what: "the keys that the server holds".to_owned(),
        why: "its files were not read".to_owned(),
        remedy: access::AS_SERVER_USER.to_owned(),
    })?;
    let key_file = page_proofs::KeyFileSettings::by(sql, &seen.view, &seen.datadir);
    register::held(&seen.view, &facts.files, &roots::keyring_files(sql, &seen.datadir), &key_file)
}

/// Data files outside the roots: those that the server lists, and the targets of links and `.isl`/`.link` files in the
/// data directory.
fn external_files(sql: &SqlFacts, seen: &ServerLocation, files: &[FileFact]) -> Vec<(PathBuf, String)> {
    let known: std::collections::BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut wanted = roots::datafiles(sql, &seen.datadir);
    for file in files.iter().filter(|file| file.role == Role::Data) {
        let base = Path::new(&file.path).parent().unwrap_or(&seen.datadir);
        match &file.content {
            Content::Link { target } if is_table_file(&file.name) => wanted.push(roots::normal(&base.join(target))),
            Content::Structure if file_suffix::has(&file.name, file_suffix::LINK) || file.name.ends_with(".link") => {
                let text = seen.view.read(Path::new(&file.path), 4096).unwrap_or_default();
                let path = String::from_utf8_lossy(&text).trim().to_owned();
                if !path.is_empty() && !path.contains('\0') {
                    wanted.push(roots::normal(&base.join(path)));
                }
            }
            _ => {}
        }
    }
    wanted.sort();
    wanted.dedup();
    let new = |path: &PathBuf| !known.contains(path.to_string_lossy().as_ref());
    wanted.into_iter().filter(new).map(|path| (path.clone(), path.to_string_lossy().into_owned())).collect()
}

/// The path on this host of the file that `ssl_ca` names.
fn ca_file(sql: &SqlFacts, seen: Option<&ServerLocation>) -> Option<PathBuf> {
    let value = sql.variable_or_none(variable::SSL_CA).filter(|value| !value.is_empty())?;
    let seen = seen?;
    let path = seen.view.reach(&roots::normal(&seen.datadir.join(value)));
    path.is_file().then_some(path)
}

/// Directories and files that exist but could not be read.
fn gaps_of(read: &FileFacts, found: &Found) -> Vec<Unavailable> {
    const MOST: usize = 100;
    let remedy = access::AS_SERVER_USER;
    let gap =
        |what: &str, why: &str| Unavailable { what: what.to_owned(), why: why.to_owned(), remedy: remedy.to_owned() };
    let roots = read.unseen_roots().map(|root| gap(&root.path, root.error.as_deref().unwrap_or_default()));
    let unreadable = |file: &FileFact| match &file.content {
        Content::Unreadable { why } => Some(gap(&file.path, why)),
        _ => None,
    };
    let limits = found.left_out.iter().map(|what| Unavailable {
        what: what.clone(),
        why: "left out".to_owned(),
        remedy: "audit a smaller directory".to_owned(),
    });
    roots.chain(read.files.iter().filter_map(unreadable)).chain(limits).take(MOST).collect()
}

impl fmt::Debug for LiveOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveOptions").field("target", &self.target).field("deep", &self.deep).finish_non_exhaustive()
    }
}
