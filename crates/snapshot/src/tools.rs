//! Runs programs that make snapshots: LVM's and ZFS's, and `mount`.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    time::Duration,
};

use process::{Output, Program};

use crate::error::Error;

/// Time limit of a program: `zfs destroy` of a large snapshot or a mount that replays a journal may take long.
const LIMIT: Duration = Duration::from_secs(600);
/// Maximum length of a program's output: reports about all volumes of a host may be long.
const MAX_OUTPUT_BYTES: usize = 16 << 20;

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
    /// [`Error::NoTool`] if it is missing, [`Error::Tool`] with its first error message if it fails or does not end.
    pub(crate) fn run<A: AsRef<OsStr>>(
        &self,
        name: &'static str,
        args: impl IntoIterator<Item = A>,
    ) -> Result<String, Error> {
        let program = Program::find_in(name, &self.search_path()).ok_or(Error::NoTool { program: name })?;
        // The second and third are secrets that a server passes to its state transfer.
        let program = program
            .env("LVM_SUPPRESS_FD_WARNINGS", "1")
            .env_remove("WSREP_SST_OPT_AUTH")
            .env_remove("WSREP_SST_OPT_REMOTE_AUTH");
        let failed = |reason| Error::Tool { program: name, reason };
        let output = program.args(args).limit(LIMIT).keep(MAX_OUTPUT_BYTES).output();
        let output = output.map_err(|error| failed(error.to_string()))?;
        let output = output.ok_or_else(|| failed(format!("was ended after {} s", LIMIT.as_secs())))?;
        if output.is_success() { Ok(output.stdout) } else { Err(failed(reason(&output))) }
    }

    /// A server's own search path may lack the directories of administration programs.
    fn search_path(&self) -> OsString {
        let mut path = self.first.clone().map(PathBuf::into_os_string).unwrap_or_default();
        if !path.is_empty() {
            path.push(":");
        }
        path.push(process::admin_path());
        path
    }
}

/// The first error: later lines are advice, and earlier ones warnings.
fn reason(output: &Output) -> String {
    let first = output.stderr.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("WARNING"));
    let status = || output.code.map_or_else(|| "was ended by a signal".to_owned(), |code| format!("exit code {code}"));
    first.map_or_else(status, str::to_owned)
}
