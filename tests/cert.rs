//! `sealant cert`: an authority that OpenSSL accepts; certificates are installed in running servers completely or not
//! at all.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::certs::{Authority, Profile};
use harness::{Kind, Server, TlsFiles, require};
use tempfile::TempDir;

use crate::support::rotation::{Ended, Rotating, encrypting, end, mode};
use crate::support::schema::has_its_schema;
use crate::support::sealant;

/// `sealant cert …`.
fn cert(args: &[&str]) -> Ended {
    let mut command = sealant();
    command.arg("cert").args(args);
    end(command)
}

#[track_caller]
fn fine(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
}

fn openssl(args: &[&str]) -> String {
    let output = Command::new("openssl").args(args).output().expect("openssl starts");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// An authority and certificates made by the binary.
struct Made(TempDir);

impl Made {
    fn new() -> Self {
        let made = Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory"));
        fine(&cert(&["init", "--dir", made.dir()]));
        made
    }

    fn dir(&self) -> &str {
        self.0.path().to_str().expect("ASCII")
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.dir())
    }

    fn issue(&self, name: &str, more: &[&str]) -> TlsFiles {
        let san = ["issue", "--dir", self.dir(), "--name", name, "--san", "localhost,127.0.0.1"];
        fine(&cert(&[&san[..], more].concat()));
        let path = |name: String| PathBuf::from(self.path(&name));
        TlsFiles { ca: path("ca.pem".into()), cert: path(format!("{name}.pem")), key: path(format!("{name}.key")) }
    }
}

#[test]
fn openssl_accepts_issued_certificates() {
    let made = Made::new();
    let files = made.issue("db1.example.org", &["--days", "100"]);
    let (ca, leaf, key) = (made.path("ca.pem"), made.path("db1.example.org.pem"), made.path("db1.example.org.key"));
    for purpose in ["sslserver", "sslclient"] {
        openssl(&["verify", "-x509_strict", "-purpose", purpose, "-CAfile", &ca, &leaf]);
    }
    openssl(&["verify", "-x509_strict", "-verify_hostname", "db1.example.org", "-CAfile", &ca, &leaf]);
    let text = openssl(&["x509", "-in", &leaf, "-noout", "-text"]);
    for part in ["DNS:db1.example.org, DNS:localhost, IP Address:127.0.0.1", "prime256v1", "CA:FALSE"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(
        openssl(&["pkey", "-in", &key, "-pubout"]),
        openssl(&["x509", "-in", &leaf, "-noout", "-pubkey"]),
        "the key is the certificate's"
    );
    assert_eq!((mode(&files.key), mode(Path::new(&made.path("ca.key")))), (0o600, 0o600));
    for (kind, name) in [("rsa2048", "2048 bit"), ("ecdsa-p384", "secp384r1")] {
        let files = made.issue(kind, &["--key-type", kind]);
        let leaf = files.cert.to_str().expect("ASCII");
        assert!(openssl(&["x509", "-in", leaf, "-noout", "-text"]).contains(name));
        openssl(&["verify", "-CAfile", &ca, leaf]);
    }
}

#[test]
fn nothing_is_overwritten_by_default() {
    let made = Made::new();
    let files = made.issue("db1", &[]);
    let key = fs::read(&files.key).expect("a key");
    cert(&["issue", "--dir", made.dir(), "--name", "db1"]).refused(1, "db1.key: already exists", "--replace");
    cert(&["init", "--dir", made.dir()]).refused(1, "ca.key: already exists", "--replace");
    assert_eq!(fs::read(&files.key).expect("a key"), key);
    // A renewal keeps the key by default.
    fine(&cert(&["renew", "--dir", made.dir(), "--name", "db1"]));
    assert_eq!(fs::read(&files.key).expect("a key"), key);
    fine(&cert(&["renew", "--dir", made.dir(), "--name", "db1", "--new-key"]));
    assert_ne!(fs::read(&files.key).expect("a key"), key);
    let (ca, leaf) = (made.path("ca.pem"), made.path("db1.pem"));
    openssl(&["verify", "-verify_hostname", "localhost", "-CAfile", &ca, &leaf]);
    // The authority is renewed, too; certificates that it issued remain valid.
    fine(&cert(&["renew", "--dir", made.dir(), "--ca", "--days", "9000"]));
    openssl(&["verify", "-CAfile", &ca, &leaf]);
    cert(&["renew", "--dir", made.dir(), "--name", "none"]).refused(1, "no such certificate", "cert issue");
    cert(&["issue", "--dir", "/nonexistent", "--name", "x"]).refused(1, "ca.pem is missing", "cert init");
    cert(&["issue", "--dir", made.dir(), "--name", "../x"]).refused(
        2,
        "is not a valid name for a certificate",
        "host name",
    );
    cert(&["issue", "--dir", made.dir(), "--name", "x", "--san", "a b"]).refused(2, "no host name", "--san");
}

#[test]
fn checks_have_the_exit_codes_of_scripts_and_monitors() {
    let made = Made::new();
    made.issue("good", &[]);
    made.issue("soon", &["--days", "20"]);
    let codes = |args: &[&str]| {
        let plain = cert(&[&["check"], args].concat());
        let monitor = cert(&[&["check", "--monitor"], args].concat());
        assert_eq!(monitor.stdout.lines().count(), 1, "{}", monitor.stdout);
        (plain.code, monitor.code, plain.stdout, monitor.stdout)
    };
    let (good, soon, ca) = (made.path("good.pem"), made.path("soon.pem"), made.path("ca.pem"));
    let (plain, monitor, text, line) = codes(&[&good, "--ca", &ca, "--host", "good"]);
    assert_eq!((plain, monitor), (Some(0), Some(0)), "{text}");
    assert!(line.starts_with("OK: ") && line.contains("| days_left=39"), "{line}");
    let (plain, monitor, text, line) = codes(&[&soon, "--ca", &ca]);
    assert_eq!((plain, monitor), (Some(3), Some(1)), "{text}");
    assert!(line.starts_with("WARNING: ") && line.contains("expires in "), "{line}");
    let (plain, monitor, text, _) = codes(&[&soon, "--critical", "25"]);
    assert_eq!((plain, monitor), (Some(3), Some(2)), "{text}");
    let (plain, monitor, text, _) = codes(&[&good, "--key", &made.path("soon.key")]);
    assert_eq!((plain, monitor), (Some(3), Some(2)), "{text}");
    assert!(text.contains("the key is not this certificate's"), "{text}");
    let (plain, monitor, text, _) = codes(&[&good, "--host", "elsewhere"]);
    assert_eq!((plain, monitor), (Some(3), Some(2)), "{text}");
    let other = Made::new();
    let (plain, _, text, _) = codes(&[&good, "--ca", &other.path("ca.pem")]);
    assert_eq!(plain, Some(3), "{text}");
    assert!(text.contains("does not lead to the authority"), "{text}");
    let (plain, monitor, _, line) = codes(&["/nonexistent.pem"]);
    assert_eq!((plain, monitor), (Some(1), Some(3)), "{line}");
    let (plain, _, text, _) = codes(&["--dir", made.dir()]);
    assert_eq!((plain, text.lines().count()), (Some(3), 4), "{text}");
    // Only certificates that are due are renewed.
    let renewed = cert(&["renew", "--dir", made.dir(), "--within", "30"]);
    assert_eq!(renewed.stdout.lines().collect::<Vec<_>>(), [made.path("soon.pem"), made.path("soon.key")]);
    let checked = cert(&["check", "--dir", made.dir(), "--format", "json"]);
    fine(&checked);
    has_its_schema(&serde_json::from_str(&checked.stdout).expect("JSON"), "cert-check-1");
    // A certificate that cannot be renewed is reported and does not block the others.
    fs::rename(made.path("good.key"), made.path("elsewhere")).expect("renamed");
    let rest = cert(&["renew", "--dir", made.dir(), "--within", "9999"]);
    assert_eq!(rest.code, Some(1), "{}", rest.stderr);
    assert!(rest.stdout.contains("soon.pem") && rest.stderr.contains("good.key"), "{}{}", rest.stdout, rest.stderr);
    fs::rename(made.path("elsewhere"), made.path("good.key")).expect("renamed");
    let shown = cert(&["show", &good, "--format", "json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(shown[0]["certificates"][0]["san_dns"], serde_json::json!(["good", "localhost"]));
}

/// A server with a certificate of its own, and a new one for it.
struct Site {
    server: Server,
    old: Made,
    new: Made,
    directory: TempDir,
}

impl Site {
    fn on(kind: Kind) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let (old, new) = (Made::new(), Made::new());
        let made = old.issue("server", &[]);
        let at = |name: &str| directory.path().join(name);
        for (from, to) in [(&made.ca, "ca.pem"), (&made.cert, "cert.pem"), (&made.key, "key.pem")] {
            fs::copy(from, at(to)).expect("copied");
        }
        let files = TlsFiles { ca: at("ca.pem"), cert: at("cert.pem"), key: at("key.pem") };
        let server = Server::builder(kind).tls(&files).start().expect("it starts");
        Self { server, old, new, directory }
    }

    fn install(&self, files: &TlsFiles, more: &[&str]) -> Ended {
        self.install_as("root", files, more)
    }

    fn install_as(&self, user: &str, files: &TlsFiles, more: &[&str]) -> Ended {
        let mut command = sealant();
        command.current_dir(self.new.0.path()).args(["cert", "install", "--user", user]);
        command.arg("--socket").arg(self.server.socket());
        command.arg("--cert").arg(&files.cert).arg("--key").arg(&files.key).arg("--ca").arg(&files.ca);
        command.args(more);
        end(command)
    }

    /// SHA-256 of the served certificate, according to OpenSSL.
    fn served(&self) -> String {
        let port = self.server.port();
        let mut client = Command::new("openssl");
        client.args(["s_client", "-starttls", "mysql", "-connect", &format!("127.0.0.1:{port}")]);
        let output = client.stdin(std::process::Stdio::null()).output().expect("openssl starts");
        let path = self.new.path("served.txt");
        fs::write(&path, output.stdout).expect("written");
        openssl(&["x509", "-in", &path, "-noout", "-fingerprint", "-sha256"])
    }

    fn files(&self) -> Vec<(String, Vec<u8>, u32)> {
        let entries =
            fs::read_dir(self.directory.path()).expect("a directory").map(|entry| entry.expect("an entry").path());
        let mut files: Vec<_> = entries
            .map(|path| {
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                (name, fs::read(&path).expect("read"), mode(&path))
            })
            .collect();
        files.sort();
        files
    }
}

fn fingerprint(file: &Path) -> String {
    openssl(&["x509", "-in", file.to_str().expect("ASCII"), "-noout", "-fingerprint", "-sha256"])
}

fn a_certificate_is_installed_or_everything_is_as_before(kind: Kind) {
    let Some(_) = require(kind) else { return };
    let site = Site::on(kind);
    let before = site.files();
    let old = site.served();
    assert_eq!(old, fingerprint(&site.directory.path().join("cert.pem")));
    let unchanged = |what: &str| {
        assert_eq!(site.served(), old, "{what}");
        assert!(site.files() == before, "{what}: the files are not what they were");
    };

    let good = site.new.issue("server", &[]);
    let planned = site.install(&good, &["--dry-run"]);
    fine(&planned);
    assert!(
        planned.stdout.contains("cert.pem") && planned.stdout.contains("are refused afterwards"),
        "{}",
        planned.stdout
    );
    unchanged("--dry-run");
    site.install(&good, &[]).refused(2, "standard input is not a terminal", "--dry-run");

    // Refused before anything is changed.
    let other = site.new.issue("other", &[]);
    let mismatched = TlsFiles { key: other.key, ..good.clone() };
    site.install(&mismatched, &["--yes"]).refused(1, "the key is not this certificate's", "cert issue");
    let foreign = TlsFiles { ca: site.old.path("ca.pem").into(), ..good.clone() };
    site.install(&foreign, &["--yes"]).refused(1, "does not lead to the authority", "cert issue");
    site.install(&good, &["--yes", "--client-name", "elsewhere"]).refused(1, "it is not for elsewhere", "cert issue");
    let authority = Authority::create(&site.new.0.path().join("openssl")).expect("an authority");
    let expired = authority.issue("expired", &Profile { expired: true, ..Profile::default() }).expect("issued");
    site.install(&expired, &["--yes"]).refused(1, "expired on 2019", "cert issue");
    unchanged("a certificate that is judged bad");

    // The server refuses it, or the handshake does.
    for (files, reason) in [(&mismatched, "`"), (&expired, "has expired"), (&foreign, "issuer is not in the CA file")] {
        let ended = site.install(files, &["--yes", "--skip-checks", "--log", "rolled.jsonl"]);
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        // MySQL checks dates and issuer itself when it reads the files.
        let refused_by_server = ended.stderr.contains("server error 3888");
        assert!(ended.stderr.contains(reason) || refused_by_server, "{}", ended.stderr);
        assert!(ended.stderr.contains("all files are restored"), "{}", ended.stderr);
        unchanged(reason);
    }
    // A killed run had replaced a file: the rollback restores the file from before that run.
    fs::rename(site.directory.path().join("cert.pem"), site.directory.path().join("cert.pem.sealant-before"))
        .expect("renamed");
    fs::copy(&expired.cert, site.directory.path().join("cert.pem")).expect("copied");
    let ended = site.install(&foreign, &["--yes", "--skip-checks"]);
    assert!(ended.stderr.contains("all files are restored"), "{}", ended.stderr);
    unchanged("after a run that was killed");
    // A killed run that had installed everything leaves backups older than the served certificate.
    for (file, old) in [("cert.pem", &expired.cert), ("key.pem", &expired.key)] {
        fs::copy(old, site.directory.path().join(format!("{file}.sealant-before"))).expect("copied");
    }
    let ended = site.install(&foreign, &["--yes", "--skip-checks"]);
    assert!(ended.stderr.contains("all files are restored"), "{}", ended.stderr);
    unchanged("after a run that was killed at its end");

    // An account that may not reload TLS changes nothing.
    site.server.sql("CREATE USER small IDENTIFIED BY ''").expect("made");
    let small = site.install_as("small", &good, &["--yes"]);
    small.refused(1, "lacks", "GRANT");
    unchanged("without privileges");

    let ended =
        site.install(&good, &["--yes", "--client-name", "localhost", "--format", "json", "--log", "done.jsonl"]);
    fine(&ended);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    has_its_schema(&report, "cert-install-1");
    assert_eq!(report["done"], true);
    assert_eq!(site.served(), fingerprint(&good.cert));
    let names: Vec<_> = site.files().into_iter().map(|(name, _, mode)| (name, mode)).collect();
    assert_eq!(names, [("ca.pem".into(), 0o644), ("cert.pem".into(), 0o644), ("key.pem".into(), 0o600)]);
    let log = fs::read_to_string(site.new.path("done.jsonl")).expect("a log");
    assert!(log.contains("SSL") || log.contains("RELOAD TLS"), "{log}");
    assert_eq!(log.matches("replace file").count(), 3, "{log}");
    // The server's own client verifies it by name.
    let port = format!("--port={}", site.server.port());
    let mut client = Command::new(&site.server.binaries().client);
    client.args(["--no-defaults", "--host=127.0.0.1", &port, "--user=root", "-e", "SELECT 1"]);
    client.arg(format!("--ssl-ca={}", good.ca.display()));
    client.arg(if kind.is_mariadb() { "--ssl-verify-server-cert" } else { "--ssl-mode=VERIFY_IDENTITY" });
    let output = client.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let endpoint = format!("127.0.0.1:{}", site.server.port());
    let ca = site.new.path("ca.pem");
    fine(&cert(&["check", "--endpoint", &endpoint, "--ca", &ca, "--host", "localhost"]));
    fine(&cert(&["check", "--endpoint", &endpoint, "--ca", &ca]));
    // The same address by a name that is not in the certificate.
    let other_name = cert(&["check", "--endpoint", &format!("127.1:{}", site.server.port()), "--ca", &ca]);
    assert_eq!(other_name.code, Some(3), "{}", other_name.stdout);

    // The old authority can remain trusted.
    let again = site.old.issue("again", &[]);
    fine(&site.install(&again, &["--yes", "--trust-old-ca"]));
    let trusted = fs::read_to_string(site.directory.path().join("ca.pem")).expect("text");
    assert_eq!(trusted.matches("BEGIN CERTIFICATE").count(), 2);
    assert_eq!(site.served(), fingerprint(&again.cert));
}

#[test]
fn on_mysql_97() {
    a_certificate_is_installed_or_everything_is_as_before(Kind::MySql97);
}

#[test]
fn on_mysql_80() {
    a_certificate_is_installed_or_everything_is_as_before(Kind::MySql80);
}

#[test]
fn on_mariadb_1011() {
    a_certificate_is_installed_or_everything_is_as_before(Kind::MariaDb1011);
}

#[test]
fn on_mariadb_118() {
    a_certificate_is_installed_or_everything_is_as_before(Kind::MariaDb118);
}

#[test]
fn a_file_that_an_account_names_is_not_replaced() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut site = Site::on(Kind::MySql97);
    let good = site.new.issue("server", &[]);
    // Neither a file of another kind nor one that could be the server's own is replaced.
    let victims =
        [("passwd", b"root:x:0:0::/root:/bin/sh\n".to_vec()), ("other.pem", fs::read(&good.cert).expect("read"))];
    let evil = "CREATE USER evil IDENTIFIED BY ''; GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO evil";
    site.server.sql(evil).expect("made");
    let as_evil = |site: &Site, sql: &str| {
        let mut client = Command::new(&site.server.binaries().client);
        client.args(["--no-defaults", "--user=evil", "-e", sql]).arg("--socket").arg(site.server.socket());
        let output = client.output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    for (name, bytes) in &victims {
        let victim = site.directory.path().join(name);
        fs::write(&victim, bytes).expect("written");
        as_evil(&site, &format!("SET GLOBAL ssl_cert = '{}'", victim.display()));
        let before = site.files();
        let because = "which an account has set (DYNAMIC), not an option file";
        site.install(&good, &["--yes"]).refused(1, because, "option file");
        assert!(site.files() == before, "{name}: nothing is changed");
    }
    // A value set for the next start comes from an account, too.
    as_evil(&site, &format!("SET PERSIST ssl_cert = '{}'", site.directory.path().join("other.pem").display()));
    let key = site.directory.path().join("key.pem");
    let (other_key, other_cert) = (fs::read(&key).expect("read"), site.directory.path().join("cert.pem"));
    fs::copy(&good.key, &key).expect("copied");
    site.server.stop().and_then(|()| site.server.start()).expect("it starts");
    let before = site.files();
    site.install(&good, &["--yes"]).refused(1, "which an account has set (PERSISTED)", "RESET PERSIST ssl_cert");
    assert!(site.files() == before, "nothing is changed");
    // Following the hint, the option file names the files again.
    fs::write(&key, other_key).expect("written");
    site.server.sql("RESET PERSIST ssl_cert").expect("reset");
    site.server.stop().and_then(|()| site.server.start()).expect("it starts");
    fine(&site.install(&good, &["--yes"]));
    assert_eq!(fs::read(other_cert).expect("read"), fs::read(&good.cert).expect("read"));
    // An account that may reload TLS can see where the names come from, too.
    site.server.sql("CREATE USER reloads IDENTIFIED BY ''; GRANT CONNECTION_ADMIN ON *.* TO reloads").expect("made");
    fine(&site.install_as("reloads", &good, &["--dry-run"]));
}

#[test]
fn default_names_and_names_in_option_files_are_used() {
    let made = Made::new();
    let good = made.issue("server", &[]);
    let plans = |server: &Server| {
        let mut command = sealant();
        command.args(["cert", "install", "--user", "root", "--dry-run", "--socket"]).arg(server.socket());
        command.arg("--cert").arg(&good.cert).arg("--key").arg(&good.key).arg("--ca").arg(&good.ca);
        let ended = end(command);
        fine(&ended);
        ended.stdout
    };
    let text =
        format!("ssl-cert={}\nssl-key={}\nssl-ca={}", good.cert.display(), good.key.display(), good.ca.display());
    for kind in [Kind::MySql97, Kind::MariaDb1011, Kind::MariaDb118] {
        let Some(_) = require(kind) else { continue };
        let server = Server::builder(kind).option_file(format!("[mysqld]\n{text}\n")).start().expect("it starts");
        assert!(plans(&server).contains(&good.cert.display().to_string()));
    }
    // MySQL generates certificates at its first start, and sets the variables itself.
    let Some(_) = require(Kind::MySql97) else { return };
    let server = Server::builder(Kind::MySql97).option("--auto-generate-certs=ON").start().expect("it starts");
    assert!(plans(&server).contains("server-cert.pem"));
}

#[test]
fn a_file_that_is_not_the_servers_for_tls_is_not_replaced() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let site = Site::on(Kind::MariaDb1011);
    let good = site.new.issue("server", &[]);
    let at = |name: &str| site.directory.path().join(name);
    let is_refused = |reason: &str| {
        let before = site.files();
        site.install(&good, &["--yes"]).refused(1, reason, "look at the file");
        assert!(site.files() == before, "{reason}: nothing is changed");
    };
    for (name, reason) in [
        ("cert.pem", "cert.pem: is named as the server's certificate, but is not exactly that in PEM"),
        ("key.pem", "key.pem: is named as the server's key, but is not exactly that in PEM"),
        ("ca.pem", "ca.pem: is named as the server's authorities, but is not exactly that in PEM"),
        ("key.pem.sealant-before", "key.pem.sealant-before: is named as the server's key"),
    ] {
        let was = fs::read(at(name)).ok();
        let other = fs::read(at(if name == "cert.pem" { "key.pem" } else { "cert.pem" })).expect("read");
        for bytes in [b"root:x:0:0::/root:/bin/sh\n".to_vec(), other] {
            fs::write(at(name), bytes).expect("written");
            is_refused(reason);
        }
        was.map_or_else(|| fs::remove_file(at(name)), |bytes| fs::write(at(name), bytes)).expect("as it was");
    }
    symlink(at("ca.pem"), at("cert.pem.sealant-before")).expect("made");
    is_refused("cert.pem.sealant-before: is not a file");
    fs::remove_file(at("cert.pem.sealant-before")).expect("ours");
    if rustix::process::geteuid().is_root() {
        chown(at("key.pem"), Some(65534), None).expect("root's");
        is_refused("key.pem: belongs to user 65534, neither to the server's, 0, nor to root");
        // Users who could read the old key by its group or mode cannot read the new one.
        chown(at("key.pem"), Some(0), Some(65534)).expect("root's");
        fs::set_permissions(at("key.pem"), PermissionsExt::from_mode(0o640)).expect("ours");
    }
    fine(&site.install(&good, &["--yes"]));
    let (key, datadir) =
        (fs::metadata(at("key.pem")).expect("there"), fs::metadata(site.server.datadir()).expect("there"));
    assert_eq!((key.mode() & 0o777, key.uid(), key.gid()), (0o600, datadir.uid(), datadir.gid()));
}

#[test]
fn a_server_that_names_no_files_is_left_alone() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = Server::builder(Kind::MariaDb1011).start().expect("it starts");
    let made = Made::new();
    let files = made.issue("server", &[]);
    let mut command = sealant();
    command.args(["cert", "install", "--user", "root", "--yes", "--socket"]).arg(server.socket());
    command.arg("--cert").arg(&files.cert).arg("--key").arg(&files.key).arg("--ca").arg(&files.ca);
    command.current_dir(made.0.path());
    end(command).refused(1, "ssl_cert names no file", "option file");
}

#[test]
fn rotate_replaces_the_certificate_alone() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let site = Site::on(Kind::MariaDb1011);
    let old = site.served();
    let rotate = |files: &TlsFiles, more: &[&str]| {
        let mut command = sealant();
        command.current_dir(site.new.0.path()).args(["rotate", "run", "--certificate", "--user", "root"]);
        command.arg("--socket").arg(site.server.socket()).arg("--cert").arg(&files.cert);
        command.arg("--key").arg(&files.key).arg("--ca").arg(&files.ca).args(more);
        end(command)
    };
    let good = site.new.issue("server", &[]);
    let planned = rotate(&good, &["--dry-run"]);
    fine(&planned);
    assert!(planned.stdout.contains("cert.pem"), "{}", planned.stdout);
    rotate(&good, &["--yes", "--client-name", "elsewhere.example"]).refused(1, "elsewhere.example", "");
    let other = TlsFiles { key: site.new.issue("other", &[]).key, ..good.clone() };
    rotate(&other, &["--yes"]).refused(1, "key", "");
    assert_eq!(site.served(), old);
    let report = rotate(&good, &["--yes", "--format", "json"]).is_done();
    assert_eq!(report["tls"]["done"], true, "{report:#}");
    assert_eq!(site.served(), fingerprint(&good.cert));
}

#[test]
fn rotate_replaces_the_certificate_after_the_keys() {
    let Some(_) = require(Kind::MySql97) else { return };
    let (old, new) = (Made::new(), Made::new());
    let files = old.issue("server", &[]);
    let server = encrypting().tls(&files).start().expect("MySQL starts");
    server.sql("CREATE DATABASE demo; CREATE TABLE demo.t (id INT PRIMARY KEY)").expect("made");
    let at = Rotating::on(server);
    let good = new.issue("server", &[]);
    let named = |path: &Path| path.to_str().expect("ASCII").to_owned();
    let [cert, key, ca] = [&good.cert, &good.key, &good.ca].map(|path| named(path));
    let tls = ["--master-key", "--certificate", "--cert", &cert, "--key", &key, "--ca", &ca];
    // An incomplete pair is refused before anything is changed.
    let newest = at.newest();
    at.run("one.age", &tls[..4]).refused(2, "the new certificate is not named", "--key FILE");
    at.run("one.age", &["--master-key", "--cert", &cert]).refused(2, "--certificate", "");
    assert_eq!((at.newest(), at.left()), (newest, Vec::new()));
    let report = at.run("one.age", &tls).is_done();
    assert_eq!(at.newest(), newest + 1);
    assert_eq!((&report["tls"]["done"], &report["tls"]["rolled_back"]), (&true.into(), &false.into()));
    assert_eq!(fs::read(&files.cert).expect("read"), fs::read(&good.cert).expect("read"));
}
