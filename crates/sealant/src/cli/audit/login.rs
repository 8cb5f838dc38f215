//! As whom to log in, and how the connection is secured.

use std::io::Read;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use server::{Password, TlsMode};
use zeroize::Zeroizing;

use crate::output::message::Failure;

/// Options of the connection.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Login {
    /// The account [default: from the option file, or the name of the user who runs this]
    #[arg(long, short)]
    pub(super) user: Option<String>,
    /// Read connection options and the password from the groups client and sealant of this file only
    #[arg(long, value_name = "FILE")]
    pub(super) defaults_file: Option<PathBuf>,
    /// Read the password from this file; a line end at its end is not part of it
    #[arg(long, value_name = "FILE")]
    pub(super) password_file: Option<PathBuf>,
    /// Read the password from this open file descriptor
    #[arg(long, value_name = "N", conflicts_with = "password_file")]
    pub(super) password_fd: Option<RawFd>,
    /// Ask for the password, even if an option file has one
    #[arg(long, short = 'p', conflicts_with_all = ["password_file", "password_fd"])]
    pub(super) ask_password: bool,
    /// How TLS must be: required encrypts without looking at the certificate; off only works on a socket
    /// [default: required; off on a socket]
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) tls: Option<Tls>,
    /// CA certificates to trust, PEM
    #[arg(long, value_name = "FILE")]
    pub(super) tls_ca: Option<PathBuf>,
    /// Client certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(super) tls_cert: Option<PathBuf>,
    /// Key of the client certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(super) tls_key: Option<PathBuf>,
    /// Let --tls off send statements and answers over TCP in clear text, for everyone on the way to read
    #[arg(long)]
    pub(super) insecure_plaintext_tcp: bool,
    /// Give up on a silent server after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(super) timeout: u64,
}

/// How TLS must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Tls {
    /// Encrypt, or stop
    Required,
    /// Encrypt, and trust only --tls-ca
    VerifyCa,
    /// The same, and the certificate must carry the server's name
    VerifyIdentity,
    /// No TLS: only on a socket
    Off,
}

impl From<Tls> for TlsMode {
    fn from(mode: Tls) -> Self {
        match mode {
            Tls::Required => Self::Required,
            Tls::VerifyCa => Self::VerifyCa,
            Tls::VerifyIdentity => Self::VerifyIdentity,
            Tls::Off => Self::Off,
        }
    }
}

impl Login {
    /// The password from where the command line says; none if it does not say.
    pub(super) fn explicit_password(&self, account: &str) -> Result<Option<Password>, Failure> {
        if let Some(path) = &self.password_file {
            return from_file(path).map(Some);
        }
        if let Some(fd) = self.password_fd {
            return from_descriptor(fd).map(Some);
        }
        if self.ask_password { ask(account).map(Some) } else { Ok(None) }
    }
}

/// Asks on the terminal, without showing what is typed.
pub(super) fn ask(account: &str) -> Result<Password, Failure> {
    let typed = rpassword::prompt_password(format!("Password of {account}: "));
    let typed = Zeroizing::new(typed.map_err(|e| {
        Failure::new(format!("the password cannot be asked for: {e}"))
            .hint("give it with --defaults-file, --password-file or --password-fd")
    })?);
    Ok(Password::new(typed.as_bytes()))
}

fn from_file(path: &Path) -> Result<Password, Failure> {
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", path.display()));
    read_line(std::fs::File::open(path).map_err(fail)?).map_err(fail)
}

/// `/proc/self/fd/N` opens the same pipe or file again, without taking over a descriptor that is not ours.
fn from_descriptor(fd: RawFd) -> Result<Password, Failure> {
    let path = format!("/proc/self/fd/{fd}");
    let fail = |e: std::io::Error| {
        Failure::new(format!("descriptor {fd}: {e}")).hint("open it in the shell, as in --password-fd 3 3<FILE")
    };
    read_line(std::fs::File::open(path).map_err(fail)?).map_err(fail)
}

/// A password is at most this long; more is a wrong file.
const LONGEST: u64 = 4096;

fn read_line(source: impl Read) -> std::io::Result<Password> {
    let mut text = Zeroizing::new(Vec::with_capacity(4096));
    source.take(LONGEST).read_to_end(&mut text)?;
    while matches!(text.last(), Some(b'\n' | b'\r')) {
        text.pop();
    }
    Ok(Password::new(text.as_slice()))
}
