//! Determines server, account and options: from the caller, from option files and, if necessary, by asking the user.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::RawFd,
    path::{Path, PathBuf},
    time::Duration,
};

use pki::Fingerprint;
use zeroize::Zeroizing;

use crate::{
    connect::{Options, TlsMode, TlsOptions},
    endpoint::{DEFAULT_PORT, Endpoint, Target},
    error::Error,
    option_file::{CLIENT_GROUPS, ClientOptions, Warning},
    secret::Password,
};

/// Maximum length of a password, in bytes; if the file is longer, it is probably the wrong file.
const MAX_PASSWORD_BYTES: u64 = 4096;

/// Login options from the caller. Missing ones are taken from option files.
#[derive(Clone, Debug)]
pub struct Login {
    /// Host to connect to by TCP; overrides the option files.
    pub host: Option<String>,
    /// TCP port; if `None`, the port in the option files, or 3306.
    pub port: Option<u16>,
    /// Name of the account.
    pub user: Option<String>,
    /// The only option file to read; if `None`, the usual ones.
    pub option_file: Option<PathBuf>,
    /// Groups to read in the option files; if `None`, [`CLIENT_GROUPS`]. A program that uses two servers reads
    /// different groups for each.
    pub option_groups: Option<&'static [&'static str]>,
    /// Source of the password.
    pub password: PasswordSource,
    /// Required TLS mode.
    pub tls: Option<TlsMode>,
    /// PEM file with trusted authorities.
    pub ca_file: Option<PathBuf>,
    /// SHA-256 of trusted certificates.
    pub fingerprints: Vec<Fingerprint>,
    /// Client certificate, PEM.
    pub cert_file: Option<PathBuf>,
    /// Its private key, PEM.
    pub key_file: Option<PathBuf>,
    /// Permit clear text over TCP.
    pub allow_plaintext_tcp: bool,
    /// Permit sending the password itself to an unverified server.
    pub password_to_unverified: bool,
    /// Timeout for a server that does not respond.
    pub timeout: Duration,
}

impl Default for Login {
    fn default() -> Self {
        Self {
            host: None,
            port: None,
            user: None,
            option_file: None,
            option_groups: None,
            password: PasswordSource::default(),
            tls: None,
            ca_file: None,
            fingerprints: Vec::new(),
            cert_file: None,
            key_file: None,
            allow_plaintext_tcp: false,
            password_to_unverified: false,
            timeout: Options::default().connect_timeout,
        }
    }
}

/// Source of a password.
#[derive(Clone, Debug, Default)]
pub enum PasswordSource {
    /// Option files. If they have no password, a user at a terminal is asked for it, over TCP only.
    #[default]
    OptionFiles,
    /// A file; a trailing line end is not part of the password.
    File(PathBuf),
    /// An open file descriptor of this process.
    Descriptor(RawFd),
    /// The user is asked, even if an option file has a password.
    Prompt,
}

/// Asks the user at a terminal.
pub trait Prompt {
    /// Whether a user can be asked.
    fn is_possible(&self) -> bool;

    /// Asks for the password of an account.
    ///
    /// # Errors
    /// Those of the terminal.
    fn password(&self, account: &str) -> io::Result<Zeroizing<String>>;
}

impl Login {
    /// Reads the option files. Problems that are not errors become warnings.
    ///
    /// # Errors
    /// [`Error::OptionFileRead`] and [`Error::OptionFileSyntax`].
    pub fn option_files(&self) -> Result<ClientOptions, Error> {
        let groups = self.option_groups.unwrap_or(&CLIENT_GROUPS);
        let mut options = match &self.option_file {
            Some(file) => ClientOptions::groups_of_file(file, groups),
            None => ClientOptions::groups_of_usual_files(groups),
        }?;
        if let PasswordSource::File(file) = &self.password {
            options.warnings.extend(Warning::readable_secret(file));
        }
        Ok(options)
    }

    /// The server to log in to: from the URL, else the socket, else the host, else the option files. `None` if none of
    /// them names one.
    ///
    /// # Errors
    /// [`Error::Url`], [`Error::PasswordInUrl`] and [`Error::NoAccount`].
    pub fn target(
        &self,
        url: Option<&str>,
        socket: Option<&Path>,
        files: &ClientOptions,
    ) -> Result<Option<Target>, Error> {
        if let Some(url) = url {
            let mut target: Target = url.parse()?;
            if let Some(user) = &self.user {
                target.user.clone_from(user);
            }
            return Ok(Some(target));
        }
        let port = self.port.or(files.port).unwrap_or(DEFAULT_PORT);
        let endpoint = match (socket, self.host.as_ref().or(files.host.as_ref()), &files.socket) {
            (Some(socket), _, _) => Endpoint::Socket(socket.to_owned()),
            (None, Some(host), _) => Endpoint::tcp(host, port),
            (None, None, Some(socket)) => Endpoint::Socket(socket.clone()),
            (None, None, None) => return Ok(None),
        };
        let user = self.user.clone().or_else(|| files.user.clone()).or_else(|| std::env::var("USER").ok());
        Ok(Some(Target { endpoint, user: user.ok_or(Error::NoAccount)? }))
    }

    /// Options for connecting to `target`.
    ///
    /// # Errors
    /// [`Error::PasswordFile`], [`Error::PasswordDescriptor`] and [`Error::Prompt`].
    pub fn options(&self, target: &Target, files: &ClientOptions, prompt: &dyn Prompt) -> Result<Options, Error> {
        Ok(Options {
            password: self.password(target, files, prompt)?,
            tls: self.tls(files, &target.endpoint),
            allow_plaintext_tcp: self.allow_plaintext_tcp,
            password_to_unverified: self.password_to_unverified,
            connect_timeout: self.timeout,
            ..Options::default()
        })
    }

    fn password(&self, target: &Target, files: &ClientOptions, prompt: &dyn Prompt) -> Result<Option<Password>, Error> {
        match &self.password {
            PasswordSource::File(path) => password_file(path).map(Some),
            PasswordSource::Descriptor(fd) => password_descriptor(*fd).map(Some),
            PasswordSource::Prompt => ask_password(target, prompt).map(Some),
            PasswordSource::OptionFiles if files.password.is_some() => Ok(files.password.clone()),
            PasswordSource::OptionFiles if !target.endpoint.is_socket() && prompt.is_possible() => {
                ask_password(target, prompt).map(Some)
            }
            PasswordSource::OptionFiles => Ok(None),
        }
    }

    /// The caller's trust settings replace those of the files.
    fn tls(&self, files: &ClientOptions, endpoint: &Endpoint) -> TlsOptions {
        let default_trust = self.ca_file.is_some() || !self.fingerprints.is_empty();
        let trusted = if default_trust { ClientOptions::default() } else { files.clone() };
        let mut options = TlsOptions {
            mode: None,
            ca_file: self.ca_file.clone().or(trusted.ssl_ca),
            ca_path: trusted.ssl_capath,
            fingerprints: if default_trust { self.fingerprints.clone() } else { trusted.fingerprints },
            versions: files.tls_versions.clone(),
            cert_file: self.cert_file.clone().or_else(|| files.ssl_cert.clone()),
            key_file: self.key_file.clone().or_else(|| files.ssl_key.clone()),
        };
        let of_files = files
            .mode_for(endpoint, options.has_authority())
            .filter(|mode| !default_trust || respects_caller(*mode, &options));
        options.mode = self.tls.or(of_files);
        options
    }
}

/// Whether a TLS mode from the option files still applies: only if it checks the caller's authorities.
fn respects_caller(mode: TlsMode, options: &TlsOptions) -> bool {
    matches!(mode, TlsMode::VerifyIdentity | TlsMode::VerifyCa) && options.has_authority()
}

fn ask_password(target: &Target, prompt: &dyn Prompt) -> Result<Password, Error> {
    let typed = prompt.password(&target.to_string()).map_err(|source| Error::Prompt { source })?;
    Ok(Password::new(typed.as_bytes()))
}

/// Reads a password from a file; a trailing line end is not part of it.
///
/// # Errors
/// [`Error::PasswordFile`].
pub fn password_file(path: &Path) -> Result<Password, Error> {
    let read = File::open(path).and_then(read_line);
    read.map_err(|source| Error::PasswordFile { path: path.to_owned(), source })
}

/// `/proc/self/fd/N` opens the same pipe or file again, without taking ownership of the descriptor.
fn password_descriptor(fd: RawFd) -> Result<Password, Error> {
    let read = File::open(format!("/proc/self/fd/{fd}")).and_then(read_line);
    read.map_err(|source| Error::PasswordDescriptor { fd, source })
}

fn read_line(source: impl Read) -> io::Result<Password> {
    let mut text = Zeroizing::new(Vec::with_capacity(4096));
    source.take(MAX_PASSWORD_BYTES).read_to_end(&mut text)?;
    while matches!(text.last(), Some(b'\n' | b'\r')) {
        text.pop();
    }
    Ok(Password::new(text.as_slice()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Answers with a fixed password.
    struct Answers(Option<&'static str>);

    impl Prompt for Answers {
        fn is_possible(&self) -> bool {
            self.0.is_some()
        }

        fn password(&self, _: &str) -> io::Result<Zeroizing<String>> {
            self.0.map(|word| Zeroizing::new(word.to_owned())).ok_or_else(|| io::Error::other("no terminal"))
        }
    }

    fn files() -> ClientOptions {
        ClientOptions {
            host: Some("db1".to_owned()),
            port: Some(3307),
            user: Some("audit".to_owned()),
            ssl_ca: Some("/etc/ca.pem".into()),
            ssl_mode: Some(TlsMode::VerifyIdentity),
            ..ClientOptions::default()
        }
    }

    fn password(login: &Login, target: &str, files: &ClientOptions, prompt: Answers) -> Option<String> {
        let options = login.options(&target.parse().unwrap(), files, &prompt).unwrap();
        options.password.map(|password| String::from_utf8(password.expose().to_vec()).unwrap())
    }

    #[test]
    fn a_url_comes_before_a_socket_and_that_before_the_files() {
        let login = Login { user: Some("root".to_owned()), ..Login::default() };
        let target = |url, socket: Option<&str>| {
            login.target(url, socket.map(Path::new), &files()).unwrap().map(|target| target.to_string())
        };
        let (by_url, by_socket, by_file) =
            (target(Some("mysql://a@h:1"), Some("/s")), target(None, Some("/s")), target(None, None));
        assert!(by_url.is_some_and(|name| name.contains("h:1") && name.contains("root")));
        assert!(by_socket.is_some_and(|name| name.contains("/s")));
        assert!(by_file.is_some_and(|name| name.contains("db1:3307")));
        assert_eq!(login.target(None, None, &ClientOptions::default()).unwrap(), None);
        let by_host = |port| {
            let login = Login { host: Some("db2".to_owned()), port, ..login.clone() };
            login.target(None, None, &files()).unwrap().map(|target| target.to_string())
        };
        assert!(by_host(None).is_some_and(|name| name.contains("db2:3307")));
        assert!(by_host(Some(1)).is_some_and(|name| name.contains("db2:1")));
    }

    #[test]
    fn nobody_is_asked_on_a_socket_or_where_a_file_has_the_password() {
        let with_password = ClientOptions { password: Some(Password::new(b"of the file")), ..ClientOptions::default() };
        let (login, none) = (Login::default(), ClientOptions::default());
        let tcp = "mysql://a@h:1";
        assert_eq!(password(&login, tcp, &with_password, Answers(Some("typed"))).as_deref(), Some("of the file"));
        assert_eq!(password(&login, tcp, &none, Answers(Some("typed"))).as_deref(), Some("typed"));
        assert_eq!(password(&login, tcp, &none, Answers(None)), None);
        assert_eq!(password(&login, "mysql://a@?socket=/s", &none, Answers(Some("typed"))), None);
        let prompt = Login { password: PasswordSource::Prompt, ..Login::default() };
        assert_eq!(password(&prompt, tcp, &with_password, Answers(Some("typed"))).as_deref(), Some("typed"));
    }

    #[test]
    fn a_line_end_is_not_part_of_a_password() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pw");
        std::fs::write(&path, "se cret\r\n").unwrap();
        assert_eq!(password_file(&path).unwrap().expose(), b"se cret");
        assert!(matches!(password_file(&dir.path().join("none")), Err(Error::PasswordFile { .. })));
    }

    #[test]
    fn a_password_file_that_others_may_read_is_warned_of() {
        let dir = tempfile::tempdir().unwrap();
        let (empty, path) = (dir.path().join("my.cnf"), dir.path().join("pw"));
        std::fs::write(&empty, "").unwrap();
        std::fs::write(&path, "secret").unwrap();
        let login =
            Login { option_file: Some(empty), password: PasswordSource::File(path.clone()), ..Login::default() };
        for (mode, warned) in [(0o600, false), (0o644, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(!login.option_files().unwrap().warnings.is_empty(), warned, "{mode:o}");
        }
    }

    #[test]
    fn trust_of_the_caller_takes_the_place_of_that_of_the_files() {
        let endpoint = Endpoint::tcp("db1", 3306);
        let of_files = Login::default().tls(&files(), &endpoint);
        assert_eq!((of_files.mode, of_files.ca_file), (Some(TlsMode::VerifyIdentity), Some("/etc/ca.pem".into())));
        let current = Login { ca_file: Some("/own.pem".into()), ..Login::default() };
        assert_eq!(current.tls(&files(), &endpoint).ca_file, Some("/own.pem".into()));
        let hash = "ab".repeat(32).parse().unwrap();
        let pinned = Login { fingerprints: vec![hash], ..Login::default() };
        let options = pinned.tls(&files(), &endpoint);
        assert_eq!((options.mode, options.ca_file), (None, None));
    }
}
