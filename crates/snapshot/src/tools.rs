//! Runs programs that make snapshots: LVM's and ZFS's, and `mount`.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::error::Error;

/// Search path of the programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools {
    /// Directory searched before all others.
    first: Option<PathBuf>,
}

impl Tools {
    #[cfg(test)]
    pub(crate) fn in_directory(directory: &std::path::Path) -> Self {
        Self { first: Some(directory.to_owned()) }
    }

    /// Runs a program and returns its standard output.
    ///
    /// # Errors
    /// [`Error::NoTool`] if it is missing, [`Error::Tool`] with its first error message if it
    /// fails.
    pub(crate) fn run<A: AsRef<OsStr>>(
        &self,
        program: &'static str,
        args: impl IntoIterator<Item = A>,
    ) -> Result<String, Error> {
        let mut command = Command::new(program);
        command.args(args).env("PATH", self.path()).env("LC_ALL", "C").env("LVM_SUPPRESS_FD_WARNINGS", "1");
        // Secrets that a server passes to its state transfer.
        command.env_remove("WSREP_SST_OPT_AUTH").env_remove("WSREP_SST_OPT_REMOTE_AUTH");
        let output = command.stdin(Stdio::null()).output().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Error::NoTool { program },
            _ => Error::Tool { program, reason: source.to_string() },
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        // Later lines are advice, and earlier ones warnings.
        let first = said.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("WARNING"));
        Err(Error::Tool { program, reason: first.map_or_else(|| output.status.to_string(), str::to_owned) })
    }

    /// A server's own search path may lack the directories of administration programs.
    fn path(&self) -> OsString {
        let mut path = self.first.clone().map(PathBuf::into_os_string).unwrap_or_default();
        let admin = process::ADMIN_DIRECTORIES.join(":").into();
        for more in [std::env::var_os("PATH").unwrap_or_default(), admin, "/usr/bin:/bin".into()] {
            if !path.is_empty() && !more.is_empty() {
                path.push(":");
            }
            path.push(more);
        }
        path
    }
}
