//! Client options in option files: server, account, and how the server is verified.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pki::Fingerprint;

use super::{
    Warning,
    read::{Raw, RawLine, read},
    usual_files,
};
use crate::{
    connect::TlsMode, endpoint::Endpoint, error::Error, option_group, option_name, secret::Password, ssl_mode::SslMode,
    switch, tls::TlsVersion,
};

/// Client options from option files.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// `host`.
    pub host: Option<String>,
    /// `port`.
    pub port: Option<u16>,
    /// `socket`.
    pub socket: Option<PathBuf>,
    /// `user`.
    pub user: Option<String>,
    /// `password`.
    pub password: Option<Password>,
    /// `ssl-ca`.
    pub ssl_ca: Option<PathBuf>,
    /// `ssl-capath`.
    pub ssl_capath: Option<PathBuf>,
    /// `ssl-fp`, or the content of the file `ssl-fplist`.
    pub fingerprints: Vec<Fingerprint>,
    /// `tls-version`, restricted to supported versions.
    pub tls_versions: Vec<TlsVersion>,
    /// `ssl-verify-server-cert`.
    pub verify_server_cert: Option<bool>,
    /// `ssl-cert`.
    pub ssl_cert: Option<PathBuf>,
    /// `ssl-key`.
    pub ssl_key: Option<PathBuf>,
    /// `ssl-mode`. `PREFERRED` counts as `REQUIRED`: there is no fallback.
    pub ssl_mode: Option<TlsMode>,
    /// Problems in the files that are not errors.
    pub warnings: Vec<Warning>,
}

/// The groups that this client reads; like the servers' programs, it reads `[client]` and its own name.
pub const CLIENT_GROUPS: [&str; 2] = [option_group::CLIENT, "sealant"];

impl ClientOptions {
    /// Reads one file, as given by `--defaults-file`.
    ///
    /// # Errors
    /// [`Error::OptionFileRead`]; [`Error::OptionFileSyntax`] for an invalid value, such as a port that is not a
    /// number.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        Self::groups_of_file(path, &CLIENT_GROUPS)
    }

    /// As [`Self::from_file`], but reads these groups.
    ///
    /// # Errors
    /// Those of [`Self::from_file`].
    pub fn groups_of_file(path: &Path, groups: &[&str]) -> Result<Self, Error> {
        let mut options = Self::default();
        let raw = read(path)?;
        if raw.has_no_group() {
            let reason = "there is no group, such as [client]: this is no option file";
            return Err(Error::OptionFileSyntax { path: path.to_owned(), line: 1, reason });
        }
        options.apply(&raw, groups)?;
        Ok(options)
    }

    /// Reads these groups of the usual files, the later ones taking precedence; a missing file is not an error.
    ///
    /// # Errors
    /// Those of [`Self::from_file`], for files that exist.
    pub fn groups_of_usual_files(groups: &[&str]) -> Result<Self, Error> {
        let mut options = Self::default();
        for path in usual_files() {
            if path.exists() {
                options.apply(&read(&path)?, groups)?;
            }
        }
        Ok(options)
    }

    fn apply(&mut self, raw: &Raw, groups: &[&str]) -> Result<(), Error> {
        self.warnings.extend(raw.warnings.iter().cloned());
        for line in &raw.lines {
            if groups.contains(&line.group.as_str()) {
                self.apply_line(line)?;
            }
        }
        Ok(())
    }

    fn apply_line(&mut self, line: &RawLine) -> Result<(), Error> {
        let wrong = |reason| line.wrong(reason);
        let key = option_name::without_loose(&line.key);
        let value = line.value.as_ref().map(|value| value.as_str());
        let text = || value.map(ToOwned::to_owned);
        match key {
            "host" => self.host = text(),
            "port" => {
                let port = value.and_then(|value| value.parse().ok());
                self.port = Some(port.ok_or_else(|| wrong("the port must be a number from 0 to 65535"))?);
            }
            "socket" => self.socket = value.map(PathBuf::from),
            "user" => self.user = text(),
            "password" => self.password = value.map(Password::new),
            _ => return self.apply_tls(key, value, line),
        }
        Ok(())
    }

    /// TLS options of both families. Their requirements are enforced, or the file is refused; no option is silently
    /// ignored.
    ///
    /// Source: MySQL manual, "Command Options for Encrypted Connections"; MariaDB documentation, "Securing Connections
    /// for Client and Server"; `mariadb_defaults` of MariaDB Connector/C.
    fn apply_tls(&mut self, key: &str, value: Option<&str>, line: &RawLine) -> Result<(), Error> {
        let path = || value.filter(|value| !value.is_empty()).map(PathBuf::from);
        match key {
            "ssl-ca" => self.ssl_ca = path(),
            "ssl-capath" => self.ssl_capath = path(),
            "ssl-cert" => self.ssl_cert = path(),
            "ssl-key" => self.ssl_key = path(),
            "ssl-mode" => self.ssl_mode = Some(mode_named(value).ok_or_else(|| line.wrong("unknown ssl-mode"))?),
            "ssl-verify-server-cert" | "enable-ssl-verify-server-cert" => {
                let on = value.map_or(Some(true), switch::parse);
                self.verify_server_cert = Some(on.ok_or_else(|| line.wrong("ssl-verify-server-cert must be 0 or 1"))?);
            }
            "skip-ssl-verify-server-cert" | "disable-ssl-verify-server-cert" => self.verify_server_cert = Some(false),
            "ssl-fp" | "tls-fp" => self.fingerprints = fingerprints(value.unwrap_or_default(), line)?,
            "ssl-fplist" | "ssl-fp-list" | "tls-fplist" | "tls-fp-list" => {
                let list = fs::read_to_string(path().unwrap_or_default());
                let list = list.map_err(|_| line.wrong("the file of its fingerprints cannot be read"))?;
                self.fingerprints = fingerprints(&list, line)?;
            }
            "tls-version" => self.tls_versions = versions(value.unwrap_or_default(), line)?,
            "ssl-crl" | "ssl-crlpath" if path().is_some() => {
                return Err(line.wrong(
                    "revocation lists are not supported; remove ssl-crl and ssl-crlpath, or name the server's \
                        certificate with ssl-fp",
                ));
            }
            "ssl" | "enable-ssl" if value.is_some_and(switch::is_off) => self.not_followed(line, TLS_STAYS),
            "skip-ssl" | "disable-ssl" => self.not_followed(line, TLS_STAYS),
            "ssl-cipher" | "tls-ciphersuites" => {
                self.not_followed(line, "only suites with forward secrecy and authenticated encryption are offered");
            }
            _ if KNOWN_TLS.contains(&key) => {}
            _ if key.starts_with("ssl-") || key.starts_with("tls-") => {
                self.not_followed(line, "the connection is made without it");
            }
            _ => {}
        }
        Ok(())
    }

    fn not_followed(&mut self, line: &RawLine, instead: &str) {
        let (file, key, instead) = (line.file.clone(), line.key.clone(), instead.to_owned());
        self.warnings.push(Warning::NotFollowed { file, line: line.number, key, instead });
    }

    /// The mode that `ssl-mode` and `ssl-verify-server-cert` together require for the endpoint; `None` if neither is
    /// set.
    ///
    /// With an authority, `ssl-verify-server-cert` requires a certificate of the authority with the server's name.
    /// Without one, it requires the proof by the password hash, as MariaDB's own client does. On a socket it requires
    /// nothing.
    pub fn mode_for(&self, endpoint: &Endpoint, has_authority: bool) -> Option<TlsMode> {
        let verify = self.verify_server_cert == Some(true) && !endpoint.is_socket();
        match self.ssl_mode {
            Some(mode @ (TlsMode::Off | TlsMode::VerifyIdentity)) => Some(mode),
            _ if verify && has_authority => Some(TlsMode::VerifyIdentity),
            None | Some(TlsMode::Required) if verify && self.fingerprints.is_empty() => Some(TlsMode::VerifyProof),
            mode => mode,
        }
    }
}

const TLS_STAYS: &str = "over TCP there is TLS, or no connection";

/// Options without effect here: over TCP there is always TLS, sessions are not resumed, and no key is requested from
/// the server.
const KNOWN_TLS: [&str; 8] = [
    "ssl",
    "enable-ssl",
    "ssl-enforce",
    "tls-enforce",
    "ssl-crl",
    "ssl-crlpath",
    "ssl-session-data",
    "ssl-session-data-continue-on-failed-reuse",
];

/// The mode of this client for a value of `ssl-mode`. There is no fallback to clear text, so that `PREFERRED` counts as
/// `REQUIRED`.
fn mode_named(value: Option<&str>) -> Option<TlsMode> {
    Some(match SslMode::parse(value.unwrap_or_default())? {
        SslMode::Disabled => TlsMode::Off,
        SslMode::Preferred | SslMode::Required => TlsMode::Required,
        SslMode::VerifyCa => TlsMode::VerifyCa,
        SslMode::VerifyIdentity => TlsMode::VerifyIdentity,
    })
}

/// A list separated by lines or commas.
fn fingerprints(list: &str, line: &RawLine) -> Result<Vec<Fingerprint>, Error> {
    let each = list.split(['\n', ',']).map(str::trim).filter(|text| !text.is_empty() && !text.starts_with('#'));
    let all: Result<Vec<Fingerprint>, _> = each.map(str::parse).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(line.wrong("a fingerprint has to be a certificate's SHA-256 of 64 hexadecimal digits")),
    }
}

fn versions(list: &str, line: &RawLine) -> Result<Vec<TlsVersion>, Error> {
    let all: Option<Vec<TlsVersion>> = list.split(',').map(|text| TlsVersion::from_name(text.trim())).collect();
    let all = all.ok_or_else(|| line.wrong("unknown tls-version"))?;
    let spoken: Vec<TlsVersion> = all.into_iter().filter(|version| *version >= TlsVersion::Tls12).collect();
    if spoken.is_empty() { Err(line.wrong("tls-version has to allow TLSv1.2 or TLSv1.3")) } else { Ok(spoken) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::tests::file;
    use super::*;

    #[test]
    fn a_secret_others_may_read_is_warned_of() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path(), "my.cnf", "[client]\npassword=geheim\n");
        assert_eq!(ClientOptions::from_file(&path).unwrap().warnings, []);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let options = ClientOptions::from_file(&path).unwrap();
        let expected = Warning::ReadableSecret { file: path.clone(), mode: 0o640 };
        assert_eq!(options.warnings, [expected]);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let options = ClientOptions::from_file(&path).unwrap();
        assert!(options.password.is_none());
        assert!(matches!(options.warnings.as_slice(), [Warning::WorldWritable { .. }]));
    }

    #[test]
    fn another_file_is_one_error() {
        let directory = tempfile::tempdir().unwrap();
        let path =
            file(directory.path(), "report.json", &format!("{{\n{}}}\n", "  \"id\": 1,\n  [\n  ],\n".repeat(1000)));
        let error = ClientOptions::from_file(&path).unwrap_err();
        assert!(error.to_string().contains("no option file"), "{error}");
        let path = file(directory.path(), "my.cnf", "user=a\nhost=b\n[client]\nuser=c\n");
        let options = ClientOptions::from_file(&path).unwrap();
        assert!(matches!(options.warnings.as_slice(), [Warning::NoGroup { line: 1, .. }]), "{:?}", options.warnings);
    }

    #[test]
    fn our_client_reads_client_and_sealant() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(
            directory.path(),
            "my.cnf",
            "[client]\nhost=db\nport=3307\nuser=u\npassword=\"a#b\"\nssl-mode=verify_identity\nssl_ca=/ca.pem\n\
             [mysql]\nuser=other\n[Sealant]\nuser=audit\nsocket=/s\n",
        );
        let options = ClientOptions::from_file(&path).unwrap();
        assert_eq!(options.host.as_deref(), Some("db"));
        assert_eq!(options.port, Some(3307));
        assert_eq!(options.user.as_deref(), Some("audit"));
        assert_eq!(options.password.unwrap().expose(), b"a#b");
        assert_eq!(options.ssl_mode, Some(TlsMode::VerifyIdentity));
        assert_eq!(options.ssl_ca.as_deref(), Some(Path::new("/ca.pem")));
        let path = file(directory.path(), "bad.cnf", "[client]\nport=x\n");
        let error = ClientOptions::from_file(&path).unwrap_err();
        assert!(matches!(error, Error::OptionFileSyntax { line: 2, .. }));
    }

    fn client(text: &str) -> Result<ClientOptions, Error> {
        let directory = tempfile::tempdir().unwrap();
        ClientOptions::from_file(&file(directory.path(), "my.cnf", &format!("[client]\n{text}\n")))
    }

    #[test]
    fn what_a_file_demands_of_the_server_is_demanded() {
        let (tcp, socket) = (Endpoint::tcp("db", 3306), Endpoint::Socket("/s".into()));
        let mode = |text: &str, authority| client(text).unwrap().mode_for(&tcp, authority);
        for on in ["ssl-verify-server-cert", "ssl_verify_server_cert=1", "loose-ssl-verify-server-cert=ON"] {
            assert_eq!(mode(on, true), Some(TlsMode::VerifyIdentity), "{on}");
            assert_eq!(mode(on, false), Some(TlsMode::VerifyProof), "{on}");
            assert_eq!(mode(&format!("ssl-mode=REQUIRED\n{on}"), true), Some(TlsMode::VerifyIdentity), "{on}");
            assert_eq!(mode(&format!("{on}\nssl-mode=VERIFY_CA"), true), Some(TlsMode::VerifyIdentity), "{on}");
            assert_eq!(client(on).unwrap().mode_for(&socket, true), None, "{on}");
        }
        for off in ["ssl-verify-server-cert=0", "skip-ssl-verify-server-cert", "ssl-verify-server-cert=off"] {
            assert_eq!(mode(off, true), None, "{off}");
        }
        let fingerprint = Fingerprint::from_der(b"one");
        let pinned = client(&format!("ssl-fp={fingerprint}\nssl-verify-server-cert")).unwrap();
        assert_eq!(pinned.fingerprints, [fingerprint]);
        assert_eq!(pinned.mode_for(&tcp, false), None);
        let directory = tempfile::tempdir().unwrap();
        let list =
            file(directory.path(), "list", &format!("# ours\n{fingerprint}\n{}\n", Fingerprint::from_der(b"two")));
        let listed = client(&format!("ssl-fplist={}", list.display())).unwrap();
        assert_eq!(listed.fingerprints, [fingerprint, Fingerprint::from_der(b"two")]);
        assert_eq!(client("tls-version=TLSv1.1,TLSv1.3").unwrap().tls_versions, [TlsVersion::Tls13]);
        assert_eq!(client("ssl-capath=/d").unwrap().ssl_capath.as_deref(), Some(Path::new("/d")));
    }

    #[test]
    fn what_a_file_demands_and_cannot_be_done_is_refused_or_named() {
        for refused in [
            "ssl-mode=SOMETIMES",
            "ssl-verify-server-cert=perhaps",
            "ssl-fp=da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "ssl-fplist=/nonexistent",
            "tls-version=TLSv1.1",
            "tls_version=9",
            "ssl-crl=/crl.pem",
            "ssl-crlpath=/crls",
        ] {
            assert!(matches!(client(refused), Err(Error::OptionFileSyntax { line: 2, .. })), "{refused}");
        }
        for named in ["ssl-cipher=AES128-SHA", "skip-ssl", "ssl=0", "ssl-fips-mode=ON", "tls-sni-servername=x"] {
            let options = client(named).unwrap();
            assert!(matches!(options.warnings.as_slice(), [Warning::NotFollowed { line: 2, .. }]), "{named}");
        }
        assert_eq!(client("ssl\nssl-enforce=1\nssl-ca=/a\ncharacter-set-client=utf8").unwrap().warnings, []);
    }

    #[test]
    fn a_side_reads_its_own_group_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path(), "my.cnf", "[client]\nuser=any\nport=1\n[sealant-source]\nuser=mig\n");
        let options = ClientOptions::groups_of_file(&path, &["sealant-source"]).unwrap();
        assert_eq!((options.user.as_deref(), options.port), (Some("mig"), None));
    }
}
