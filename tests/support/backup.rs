//! A repository, keys for backups, and runs of `sealant backup` and `sealant restore`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use harness::s3::{S3Server, S3User};
use harness::{Kind, Server, require};
use serde_json::Value;

use super::moving::tree;
use super::rotation::{TABLES, encrypting};
use super::schema::has_its_schema;
use super::sealant;

/// Schemas of the reports of `sealant backup` and `sealant restore`.
const SCHEMAS: [&str; 8] = [
    "backup-1",
    "backup-binlogs-1",
    "backup-binlogs-list-1",
    "backup-check-1",
    "backup-list-1",
    "backup-prune-1",
    "backup-report-1",
    "restore-1",
];

/// Repository and keys of backups.
pub(crate) struct Backups {
    directory: tempfile::TempDir,
    repository: Place,
}

/// Location of a repository, and the options that belong to it.
#[derive(Clone)]
struct Place {
    /// The directory, or the URL of the bucket.
    url: PathBuf,
    /// Further lines of the configuration.
    lines: String,
    /// Further options of a restore.
    options: Vec<OsString>,
}

impl Place {
    fn bucket(server: &S3Server, user: &S3User, url: &str) -> Self {
        Self::store(&server.endpoint(), server.ca(), &user.file, url)
    }

    fn store(endpoint: &str, ca: Option<PathBuf>, credentials: &Path, url: &str) -> Self {
        let lines = format!("endpoint = {endpoint:?}\ncredentials = {credentials:?}\ntimeout = \"10s\"\n");
        let lines = lines + &ca.as_ref().map(|ca| format!("ca = {ca:?}\n")).unwrap_or_default();
        let options = [OsString::from("--endpoint"), endpoint.into(), "--credentials".into(), credentials.into()];
        let of_ca = ca.into_iter().flat_map(|ca| [OsString::from("--ca"), ca.into()]);
        Self { url: PathBuf::from(url), lines, options: options.into_iter().chain(of_ca).collect() }
    }
}

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stderr: String,
    pub(crate) json: Value,
}

impl Ran {
    #[track_caller]
    pub(crate) fn is(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.stderr, self.json);
        self
    }

    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "no '{text}' in: {}", self.stderr);
        self
    }

    /// A number in the report, at this JSON pointer.
    #[track_caller]
    pub(crate) fn number(&self, pointer: &str) -> u64 {
        self.json.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {pointer} in {}", self.json))
    }
}

impl Backups {
    /// Creates a repository for a data directory. `keys` are the configuration lines that name its keys.
    pub(crate) fn new(datadir: &Path, keys: &str) -> Self {
        Self::within(Path::new(env!("CARGO_TARGET_TMPDIR")), datadir, keys)
    }

    /// Like [`Self::new`], with everything in a directory below `parent`.
    pub(crate) fn within(parent: &Path, datadir: &Path, keys: &str) -> Self {
        let directory = tempfile::tempdir_in(parent).expect("a directory");
        let repository = Place { url: directory.path().join("repository"), lines: String::new(), options: Vec::new() };
        Self::at(directory, repository, datadir, keys)
    }

    /// Like [`Self::new`], in a bucket.
    pub(crate) fn in_bucket(datadir: &Path, keys: &str, server: &S3Server, user: &S3User, url: &str) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        Self::at(directory, Place::bucket(server, user, url), datadir, keys)
    }

    /// Like [`Self::new`], in a store of a cloud.
    #[cfg(feature = "clouds")]
    pub(crate) fn at_store(
        datadir: &Path,
        keys: &str,
        endpoint: &str,
        ca: Option<PathBuf>,
        credentials: &Path,
        url: &str,
    ) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        Self::at(directory, Place::store(endpoint, ca, credentials, url), datadir, keys)
    }

    fn at(directory: tempfile::TempDir, repository: Place, datadir: &Path, keys: &str) -> Self {
        let identity = agefile::Identity::generate().expect("an identity");
        let at = |name: &str| directory.path().join(name);
        fs::write(at("identity"), format!("{}\n", identity.to_secret_text().as_str())).expect("written");
        let config = format!(
            "[repository]\nurl = {:?}\n{}[host]\nname = \"db1\"\nsigning_key = {:?}\n[server]\ndatadir = {datadir:?}\n{keys}\n\
             [data]\nrecipients = [\"{}\"]\n[state]\ndirectory = {:?}\n",
            repository.url,
            repository.lines,
            at("signing.key"),
            identity.recipient(),
            at("state"),
        );
        fs::write(at("backup.toml"), config).expect("written");
        let backups = Self { directory, repository };
        let made = sealant()
            .args(["backup", "init", "--unproven-recipient", "--config"])
            .arg(backups.path("backup.toml"))
            .output();
        let made = made.expect("the binary starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::write(backups.path("signers"), made.stdout).expect("written");
        backups
    }

    /// Writes a configuration for another user of the same bucket, who has no state.
    pub(crate) fn configure_user(&self, name: &str, server: &S3Server, user: &S3User) -> PathBuf {
        let other = Place::bucket(server, user, self.repository.url.to_str().expect("a URL"));
        let text = fs::read_to_string(self.path("backup.toml")).expect("a configuration");
        let text = text.replace(&self.repository.lines, &other.lines);
        let text = text.replace(&format!("{:?}", self.path("state")), &format!("{:?}", self.path(name)));
        let path = self.path(&format!("{name}.toml"));
        fs::write(&path, text).expect("written");
        path
    }

    /// Restores as another user of the same bucket.
    pub(crate) fn restore_as(&self, server: &S3Server, user: &S3User, number: &str, into: &Path, more: &[&str]) -> Ran {
        let mut command = sealant();
        let place = Place::bucket(server, user, "");
        command.args(["restore", number, "--json", "--repository"]).arg(&self.repository.url).args(place.options);
        command.arg("--identity").arg(self.path("identity")).arg("--allowed-signers").arg(self.path("signers"));
        ended(command.arg("--into").arg(into).args(more))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// An object of the repository.
    pub(crate) fn object(&self, name: &str) -> PathBuf {
        self.path("repository").join(name)
    }

    /// Names and lengths of all objects.
    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        files_below(&self.path("repository"))
    }

    /// Replaces text in the configuration.
    pub(crate) fn configure(&self, from: &str, to: &str) {
        let path = self.path("backup.toml");
        let text = fs::read_to_string(&path).expect("a configuration");
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replacen(from, to, 1)).expect("written");
    }

    pub(crate) fn command(&self, verb: &[&str]) -> Command {
        let mut command = sealant();
        command.arg("backup").args(verb).arg("--config").arg(self.path("backup.toml"));
        command
    }

    /// What a full run writes to a terminal of this kind.
    pub(crate) fn run_on_terminal(&self, kind: &str) -> String {
        let output = on_terminal(&self.command(&["run", "--full"]), kind).output().expect("script starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}");
        said
    }

    pub(crate) fn backup(&self, verb: &[&str]) -> Ran {
        ended(self.command(verb).arg("--json"))
    }

    /// Makes restores reach the store at another address.
    pub(crate) fn restore_from(&mut self, endpoint: &str) {
        let at = self.repository.options.iter().position(|option| option == "--endpoint").expect("a bucket");
        self.repository.options[at + 1] = endpoint.into();
    }

    /// A restore command that knows the signers.
    pub(crate) fn restore_command(&self, number: &str, into: &Path, more: &[&str]) -> Command {
        let mut command = sealant();
        command.args(["restore", number, "--json", "--repository"]).arg(&self.repository.url);
        command.args(&self.repository.options);
        command.arg("--identity").arg(self.path("identity")).arg("--allowed-signers").arg(self.path("signers"));
        command.arg("--into").arg(into).args(more);
        command
    }

    pub(crate) fn restore(&self, number: &str, into: &Path, more: &[&str]) -> Ran {
        ended(&mut self.restore_command(number, into, more))
    }
}

/// Runs a command on a terminal of 80 columns, of this kind (`TERM`), without colours.
fn on_terminal(command: &Command, kind: &str) -> Command {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.to_str().expect("ASCII"))).collect();
    // script(1) of util-linux gives the command a pseudo terminal.
    let mut script = Command::new("script");
    script.args(["-qec", &format!("stty cols 80; exec {}", words.join(" ")), "/dev/null"]);
    script.env("NO_COLOR", "1").env("TERM", kind).stdin(Stdio::null());
    script
}

/// What a command writes to a terminal. Calls `then` once, when `is_shown` is true of what it has written so far.
pub(crate) fn shown_on_terminal(command: &Command, is_shown: impl Fn(&str) -> bool, then: impl FnOnce()) -> String {
    let mut running = on_terminal(command, "xterm").stdout(Stdio::piped()).spawn().expect("script starts");
    let mut output = running.stdout.take().expect("a pipe");
    let (mut said, mut then) = (String::new(), Some(then));
    let mut piece = [0; 4096];
    while let Some(read) = output.read(&mut piece).ok().filter(|read| *read > 0) {
        said += &String::from_utf8_lossy(&piece[..read]);
        if is_shown(&said) {
            then.take().into_iter().for_each(|then| then());
        }
    }
    assert!(running.wait().expect("it ends").success() && then.is_none(), "{said:?}");
    said
}

/// The status lines on a terminal of 80 columns that begin with a word. Each fits into its line.
#[track_caller]
pub(crate) fn status_lines<'s>(said: &'s str, word: &str) -> Vec<&'s str> {
    let lines = said.split("\r\x1b[K").skip(1).filter_map(|line| line.lines().next());
    let lines: Vec<&str> = lines.filter(|line| line.starts_with(word)).collect();
    assert!(lines.iter().all(|line| line.chars().count() < 80), "{said:?}");
    lines
}

/// Paths of all files below a directory.
pub(crate) fn files_below(directory: &Path) -> Vec<PathBuf> {
    let (mut found, mut directories) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = directories.pop() {
        for item in fs::read_dir(directory).expect("a directory") {
            let path = item.expect("an item").path();
            if path.is_dir() { directories.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// The document in the last line of an output, after the events of a long run; null if there is none.
pub(crate) fn last_json(output: &[u8]) -> Value {
    let last = output.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice(last).unwrap_or(Value::Null)
}

pub(crate) fn ended(command: &mut Command) -> Ran {
    ran(&command.output().expect("the binary starts"))
}

/// What a run that has ended says.
pub(crate) fn ran(output: &Output) -> Ran {
    let json = last_json(&output.stdout);
    if let Some(id) = json["schema"].as_str() {
        let name = id.trim_start_matches("sealant.").replace('/', "-");
        assert!(SCHEMAS.contains(&name.as_str()), "{name}");
        has_its_schema(&json, &name);
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Ran { code: output.status.code().unwrap_or(-1), stderr, json }
}

/// Files that restores create or backups omit, which comparisons ignore.
const NOT_COMPARED: [&str; 5] = ["sealant-manifest", "auto.cnf", "#innodb_temp", "ibtmp1", "mysqld.pid"];

fn is_compared(path: &Path) -> bool {
    let first = path.iter().next().unwrap_or_default();
    let ending = path.extension().unwrap_or_default();
    !NOT_COMPARED.iter().any(|name| first == *name)
        && !["pem", "pid", "err", "sock", "lock"].iter().any(|end| ending == *end)
}

/// Content of all files of a directory.
pub(crate) fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let compared = tree(root).into_iter().filter(|(path, _)| is_compared(path));
    compared.map(|(path, item)| (path, item.bytes().to_vec())).collect()
}

#[track_caller]
pub(crate) fn is_same(restored: &Path, expected: &BTreeMap<PathBuf, Vec<u8>>) {
    let found = files(restored);
    let names = |of: &BTreeMap<PathBuf, Vec<u8>>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(expected));
    for (path, bytes) in expected {
        assert!(found[path] == *bytes, "{} is another", path.display());
    }
}

/// A stopped MySQL server with all encryption switched on, and its keyring.
pub(crate) fn stopped_mysql() -> Option<(Server, PathBuf)> {
    require(Kind::MySql97)?;
    let mut server = encrypting().start().expect("MySQL starts");
    server.sql(TABLES).expect("tables are made");
    server.stop().expect("it stops");
    let keyring = server.dir().join("keyring");
    Some((server, keyring))
}

pub(crate) fn with_keyring(server: &Server, keyring: &Path) -> Backups {
    Backups::new(server.datadir(), &format!("keyring = {keyring:?}"))
}

/// Writes a file that does not compress.
pub(crate) fn write_incompressible(path: &Path, bytes: u64) {
    let mut source = fs::File::open("/dev/urandom").expect("random bytes").take(bytes);
    let mut file = fs::File::create(path).expect("a file");
    std::io::copy(&mut source, &mut file).expect("written");
}

/// Creates keys for a keeper, who may prune, and adds the keeper's sections to the configuration.
pub(crate) fn with_keeper(backups: &Backups, retention: &str) {
    let key = archive::sshsig::SigningKey::generate().expect("a key");
    fs::write(backups.path("keeper.key"), key.to_secret_text("keeper").expect("text").as_bytes()).expect("written");
    let signers = fs::read_to_string(backups.path("signers")).expect("signers");
    let line = format!("keeper namespaces=\"sealant-prune\" {}\n", key.public());
    fs::write(backups.path("signers"), signers + &line).expect("written");
    let keeper = format!(
        "[keeper]\nsigning_key = {:?}\nallowed_signers = {:?}\n[retention]\n{retention}\n[data]\n",
        backups.path("keeper.key"),
        backups.path("signers")
    );
    backups.configure("[data]\n", &keeper);
}

/// Sets the times of an object as if it had been stored `days` ago.
pub(crate) fn age(path: &Path, days: u32) {
    let file = fs::File::options().write(true).open(path).expect("an object");
    file.set_modified(SystemTime::now() - Duration::from_secs(24 * 3600) * days).expect("its time is set");
}
