//! Which servers `sealant` sends a password to, and what option files require.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

use harness::{Kind, Server, require};
use tempfile::TempDir;

use crate::support::sealant;

/// A MySQL with an account whose plug-in needs the password itself, and files for it.
struct Setup {
    server: Server,
    dir: TempDir,
}

impl Setup {
    fn new() -> Option<Self> {
        require(Kind::MySql97)?;
        let server = Server::builder(Kind::MySql97).start().expect("MySQL 9.7 starts");
        server.sql("CREATE USER far@'%' IDENTIFIED WITH caching_sha2_password BY 'Far-secret-1'").expect("made");
        let setup = Self { server, dir: tempfile::tempdir().expect("a directory") };
        setup.file("pw", "Far-secret-1\n");
        Some(setup)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("closed");
        path
    }

    fn url(&self) -> String {
        format!("mysql://far@127.0.0.1:{}", self.server.port())
    }

    fn ca(&self) -> String {
        self.server.datadir().join("ca.pem").display().to_string()
    }

    /// Runs `verb` with that account, while the server has no cached hash of its password.
    fn cold(&self, verb: &[&str], more: &[&str]) -> Output {
        self.server.sql("FLUSH PRIVILEGES").expect("forgotten");
        let mut command = sealant();
        command.args(verb).arg(self.url()).arg("--password-file").arg(self.dir.path().join("pw")).args(more);
        let output = command.output().expect("the binary starts");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("Far-secret-1"));
        output
    }

    /// Audits with these lines in the option file; returns exit code and output.
    fn with_options(&self, options: &str) -> (Option<i32>, String) {
        let file = self.file("my.cnf", &format!("[client]\n{options}\n"));
        let output = self.cold(&AUDIT, &["--defaults-file", file.to_str().expect("ASCII")]);
        (output.status.code(), said(&output))
    }
}

const AUDIT: [&str; 5] = ["audit", "--no-files", "--no-host", "--no-wire", "--fail-on=never"];

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The `--tls-fingerprint` that the hint proposes.
fn proposed(said: &str) -> String {
    let after = said.split("--tls-fingerprint ").nth(1).unwrap_or_else(|| panic!("it is proposed: {said}"));
    after.chars().take_while(char::is_ascii_hexdigit).collect()
}

#[test]
fn a_password_is_only_sent_to_a_verified_server() {
    let Some(setup) = Setup::new() else { return };
    for verb in [&AUDIT[..], &["keys"], &["encrypt", "plan"], &["rotate", "plan", "--master-key"]] {
        let refused = setup.cold(verb, &[]);
        assert_eq!(refused.status.code(), Some(1), "{verb:?}: {}", said(&refused));
        assert!(said(&refused).contains("the server's identity is not verified"), "{}", said(&refused));
        assert!(said(&refused).contains("log in through the server's socket"), "{}", said(&refused));
    }
    let hex = proposed(&said(&setup.cold(&AUDIT, &[])));
    let [known, other] = [hex.clone(), "0".repeat(64)];
    for safe in [["--tls-fingerprint", &known], ["--tls-ca", &setup.ca()]] {
        let audit = setup.cold(&AUDIT, &safe);
        assert_eq!(audit.status.code(), Some(0), "{safe:?}: {}", said(&audit));
    }
    let risky = setup.cold(&AUDIT, &["--insecure-password-to-unverified-server"]);
    assert_eq!(risky.status.code(), Some(0), "{}", said(&risky));
    let mistaken = setup.cold(&AUDIT, &["--tls-fingerprint", &other]);
    assert_eq!(mistaken.status.code(), Some(1));
    assert!(said(&mistaken).contains(&format!("its fingerprint is {hex}")), "{}", said(&mistaken));
    let wrong = setup.cold(&AUDIT, &["--tls-fingerprint", "da39a3ee"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", said(&wrong));

    setup.server.sql("FLUSH PRIVILEGES").expect("forgotten");
    let member =
        format!("[[server]]\nurl = \"{}\"\npassword-file = \"pw\"\ntls-fingerprint = [\"{hex}\"]\n", setup.url());
    let fleet =
        sealant().args(AUDIT).arg("--fleet").arg(setup.file("fleet.toml", &member)).output().expect("it starts");
    assert_eq!(fleet.status.code(), Some(0), "{}", said(&fleet));
}

#[test]
fn requirements_in_an_option_file_are_met_or_refused() {
    let Some(setup) = Setup::new() else { return };
    let (code, text) = setup.with_options("ssl-verify-server-cert");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("the server's identity is not verified"), "{text}");
    let (ca, hex) = (setup.ca(), proposed(&text.replace("--tls-ca", "")));
    let (code, text) = setup.with_options(&format!("ssl-ca={ca}"));
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = setup.with_options(&format!("ssl-ca={ca}\nssl-verify-server-cert=1"));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("server certificate is not for 127.0.0.1"), "{text}");
    let (code, text) = setup.with_options(&format!("ssl-fp={hex}\nssl-verify-server-cert"));
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = setup.with_options(&format!("ssl-ca={ca}\ntls-version=TLSv1.2"));
    assert_eq!(code, Some(0), "{text}");
    for refused in ["ssl-crl=/x", "tls-version=TLSv1.1", "ssl-fp=da39a3ee5e6b4b0d3255bfef95601890afd80709"] {
        let (code, text) = setup.with_options(refused);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("my.cnf:2: "), "{text}");
    }
    // OpenSSL finds authorities in a directory by names that it makes of their hash.
    let directory = setup.dir.path().join("authorities");
    fs::create_dir(&directory).expect("made");
    let (code, text) = setup.with_options(&format!("ssl-capath={}", directory.display()));
    assert_eq!(code, Some(1), "nobody is trusted: {text}");
    fs::copy(&ca, directory.join("0a1b2c3d.0")).expect("copied");
    let (code, text) = setup.with_options(&format!("ssl-capath={}", directory.display()));
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = setup.with_options(&format!("ssl-ca={ca}\nssl-cipher=AES128-SHA"));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("ssl-cipher is not followed"), "{text}");
}

#[test]
fn an_incomplete_audit_says_so_at_its_end() {
    let Some(setup) = Setup::new() else { return };
    let output = setup.cold(&AUDIT, &["--tls-ca", &setup.ca()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = text.trim_end().rsplit("\n\n").next().unwrap_or_default().replace('\n', " ");
    assert!(last.contains("incomplete: ") && last.ends_with("--require-complete makes exit code 0 a 4"), "{last}");
}

#[test]
fn a_server_is_named_as_the_clients_name_it() {
    let Some(setup) = Setup::new() else { return };
    let port = setup.server.port().to_string();
    let audit = |options: &[&str]| {
        let mut command = sealant();
        command.args(AUDIT).args(["-u", "far", "--tls-ca", &setup.ca(), "--password-file"]).args(options);
        let output = command.output().expect("the binary starts");
        (output.status.code(), said(&output))
    };
    let password = setup.dir.path().join("pw").display().to_string();
    assert_eq!(audit(&[&password, "-h", "127.0.0.1", "-P", &port]).0, Some(0));
    assert_eq!(audit(&[&password, "--host", "127.0.0.1", "--port", &port]).0, Some(0));
    assert_eq!(audit(&[&password, "-S", setup.server.socket().to_str().expect("ASCII")]).0, Some(0));
    // Two servers are not one.
    assert_eq!(audit(&[&password, "-h", "127.0.0.1", "-S", "/run/mysqld.sock"]).0, Some(2));
    assert_eq!(audit(&[&password, "-P", &port]).0, Some(2));
    for option in ["-pFar-secret-1", "--password=Far-secret-1"] {
        let (code, said) = audit(&[&password, "-h", "127.0.0.1", option]);
        assert_eq!(code, Some(2));
        assert!(said.contains("visible to every user") && !said.contains("Far-secret-1"), "{said}");
    }
}
