//! A server's process on this host, as `/proc` shows it.
//!
//! Sources: `proc_pid_exe(5)`, `proc_pid_cmdline(5)`, `proc_pid_root(5)`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use server::PROGRAMS;
use zeroize::Zeroizing;

/// A process that runs a server's program.
#[derive(Debug)]
pub(crate) struct RunningServer {
    /// Its directory in `/proc`.
    process: PathBuf,
    /// Path of its program, below its own root directory.
    pub(crate) program: PathBuf,
}

impl RunningServer {
    /// The process with this id; `None` if it runs another program.
    ///
    /// # Errors
    /// The process has ended, or this user may not examine it.
    pub(crate) fn examine(pid: u32) -> io::Result<Option<Self>> {
        let process = directory(pid);
        let program = fs::read_link(process.join("exe"))?;
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        // The rest of the name may be `-debug`, or ` (deleted)` after an upgrade.
        let is_server = PROGRAMS.iter().any(|server| name.starts_with(server));
        Ok(is_server.then_some(Self { process, program }))
    }

    /// Its command line.
    ///
    /// # Errors
    /// As [`Self::examine`].
    pub(crate) fn arguments(&self) -> io::Result<Vec<String>> {
        // It may contain secrets.
        let bytes = Zeroizing::new(fs::read(self.process.join("cmdline"))?);
        let parts = bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty());
        Ok(parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect())
    }

    /// Its working directory, which is its data directory, below its own root directory.
    ///
    /// # Errors
    /// As [`Self::examine`].
    pub(crate) fn working_directory(&self) -> io::Result<PathBuf> {
        fs::read_link(self.process.join("cwd"))
    }

    /// The path at which this process finds `path` of the server, whose root directory differs from ours if it runs in
    /// a container. Relative paths stay as they are.
    pub(crate) fn below_root(&self, path: &Path) -> PathBuf {
        path.strip_prefix("/").map_or_else(|_| path.to_owned(), |path| self.root().join(path))
    }

    /// Its root directory.
    pub(crate) fn root(&self) -> PathBuf {
        self.process.join("root")
    }
}

fn directory(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_no_server() {
        assert!(RunningServer::examine(std::process::id()).unwrap().is_none());
        assert!(RunningServer::examine(u32::MAX).is_err());
    }

    #[test]
    fn paths_and_arguments_are_those_of_the_process() {
        let process = directory(std::process::id());
        let server = RunningServer { program: fs::read_link(process.join("exe")).unwrap(), process };
        assert_eq!(server.arguments().unwrap().len(), std::env::args().count());
        assert_eq!(server.working_directory().unwrap(), std::env::current_dir().unwrap());
        assert!(server.below_root(&server.program).is_file());
        assert_eq!(server.below_root(Path::new("data")), Path::new("data"));
    }
}
