//! Passes the account to a tool in an anonymous memory file that it inherits: neither a command line nor a disk
//! contains secrets, even if this process is killed.

use std::{
    fs::{self, Permissions},
    io::{self, Write},
    os::{fd::AsRawFd, unix::fs::PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::{MemfdFlags, memfd_create};
use server::{Endpoint, TlsMode, option_group};
use zeroize::Zeroizing;

use super::{Job, Tool};
use crate::Error;

/// An option file in memory, and a temporary directory for data that is not secret.
#[derive(Debug)]
pub(super) struct File {
    options: fs::File,
    directory: tempfile::TempDir,
}

impl File {
    pub(super) fn write(job: &Job<'_>, endpoint: &Endpoint) -> Result<Self, Error> {
        let failed = |source: io::Error| Error::State { path: std::env::temp_dir(), source };
        let mut directory = tempfile::Builder::new();
        let directory =
            directory.prefix("sealant-").permissions(Permissions::from_mode(0o700)).tempdir().map_err(failed)?;
        // Without CLOEXEC, so that the tool, the only program started meanwhile, inherits it.
        let options = memfd_create("sealant-account", MemfdFlags::empty()).map_err(|error| failed(error.into()))?;
        let mut out = fs::File::from(options);
        let tool = job.tool.tool;
        let line = |key: &str, value: &[u8]| line(tool, key, value).map_err(failed);
        writeln!(out, "[{}]", option_group::CLIENT).map_err(failed)?;
        out.write_all(&line("user", job.target.user.as_bytes())?).map_err(failed)?;
        if let Some(password) = &job.connect.password {
            out.write_all(&line("password", password.expose())?).map_err(failed)?;
        }
        // MySQL's client library, which pt-online-schema-change uses, reads its TLS options here.
        if tool == Tool::PtOsc && demanded(job, endpoint) {
            writeln!(out, "ssl-mode=REQUIRED").map_err(failed)?;
        }
        Ok(Self { options: out, directory })
    }

    /// The path for the tool; only the tool can open it.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.options.as_raw_fd()))
    }

    pub(super) fn inside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// Whether the connection must be encrypted: always over a network, like this program's own connections.
pub(super) fn demanded(job: &Job<'_>, endpoint: &Endpoint) -> bool {
    let local = matches!(endpoint, Endpoint::Tcp { host, .. } if host == "127.0.0.1" || host == "::1");
    !local || job.connect.tls.mode_for(endpoint) != TlsMode::Off && !job.target.endpoint.is_socket()
}

/// Creates or removes a flag file, with which these tools are controlled.
pub(super) fn flag(path: &Path, wanted: bool) {
    let is_there = path.exists();
    let result = match (wanted, is_there) {
        (true, false) => fs::write(path, ""),
        (false, true) => fs::remove_file(path),
        _ => Ok(()),
    };
    // Errors do no harm in a private directory: the tool continues, and the next call tries again.
    drop(result);
}

/// A quoted line of an option file: in gh-ost's syntax with backquotes, which has no escapes; in MySQL's with double
/// quotes and doubled backslashes.
fn line(tool: Tool, key: &str, value: &[u8]) -> io::Result<Zeroizing<Vec<u8>>> {
    let has = |byte: u8| value.contains(&byte);
    let quote = match tool {
        Tool::GhOst if !has(b'`') => b'`',
        Tool::PtOsc if has(b'"') && !has(b'\'') => b'\'',
        _ => b'"',
    };
    if has(quote) || has(b'\n') || has(b'\r') || has(0) {
        return Err(io::Error::other(format!(
            "the {key} has characters that {}'s option file cannot contain",
            tool.program()
        )));
    }
    // Allocated once: reallocation would leave parts of the secret in memory.
    let mut line = Zeroizing::new(Vec::with_capacity(key.len() + 2 * value.len() + 4));
    line.extend_from_slice(key.as_bytes());
    line.extend([b'=', quote]);
    for byte in value {
        if tool == Tool::PtOsc && *byte == b'\\' {
            line.push(b'\\');
        }
        line.push(*byte);
    }
    line.extend([quote, b'\n']);
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_quotes_that_they_do_not_hold() {
        let text = |tool, value: &str| line(tool, "password", value.as_bytes()).map(|line| line.to_vec()).ok();
        assert_eq!(text(Tool::GhOst, "a\"b#c\\").unwrap(), b"password=`a\"b#c\\`\n");
        assert_eq!(text(Tool::GhOst, "a`b").unwrap(), b"password=\"a`b\"\n");
        assert_eq!(text(Tool::PtOsc, "a\\b").unwrap(), b"password=\"a\\\\b\"\n");
        assert_eq!(text(Tool::PtOsc, "a\"b").unwrap(), b"password='a\"b'\n");
        for impossible in ["`\"", "a\nb", "a\0b"] {
            assert_eq!(text(Tool::GhOst, impossible), None, "{impossible:?}");
        }
    }
}
