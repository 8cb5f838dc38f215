//! `sealant backup` and `sealant restore`.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde::Deserialize;
use verify::KeyStores;

use super::{AgeKey, BackupTool, Workspace};
use crate::{Error, Peak, peak_memory, program};

/// Sealant, with the keys of the directory.
#[derive(Debug)]
pub(crate) struct Sealant<'a> {
    /// The binary.
    pub(crate) program: PathBuf,
    /// Stores of the keys for encrypted pages.
    pub(crate) stores: &'a KeyStores,
    /// Options of `sealant` that name these stores.
    pub(crate) key_options: &'a [OsString],
    /// Recipient and identity of the backups.
    pub(crate) key: AgeKey,
    /// How encrypted pages are stored: `open` or `as-is`.
    pub(crate) pages: &'static str,
}

const SIGNERS: &str = "signers";
const RECEIPT: &str = "receipt";
/// The program that lets another one run on one processor only.
pub(crate) const ONE_CORE: &str = "taskset";

impl Sealant<'_> {
    /// Peak memory of a full backup of `source`.
    pub(crate) fn peak(&self, source: &Path, workspace: &Workspace) -> Result<Peak, Error> {
        self.configure(source, workspace)?;
        let mut command = self.command(workspace, "run");
        peak_memory(command.arg("--full"))
    }

    /// Peak memory of a restore of the newest backup.
    pub(crate) fn peak_of_restore(&self, workspace: &Workspace, target: &Path) -> Result<Peak, Error> {
        peak_memory(&mut self.restore_command(workspace, target)?)
    }

    /// Reads and hashes every object, on one core.
    pub(crate) fn check_objects(&self, workspace: &Workspace) -> Result<(), Error> {
        let mut command = Command::new(ONE_CORE);
        command.args(["-c", "0"]).arg(&self.program).args(["backup", "check", "all", "--objects", "--config"]);
        program::succeed(command.arg(config_of(workspace))).map(drop)
    }

    fn restore_command(&self, workspace: &Workspace, target: &Path) -> Result<Command, Error> {
        let path = workspace.beside(RECEIPT);
        let receipt = fs::read_to_string(&path).map_err(Error::file(&path))?;
        let mut command = Command::new(&self.program);
        command
            .args(["restore", "latest", "--quiet", "--receipt", &receipt, "--repository"])
            .arg(workspace.repository());
        command.arg("--into").arg(target).arg("--identity").arg(&self.key.identity);
        command.arg("--allowed-signers").arg(workspace.beside(SIGNERS)).args(self.key_options);
        Ok(command)
    }

    fn command(&self, workspace: &Workspace, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["backup", verb, "--config"]).arg(config_of(workspace));
        command
    }

    /// Writes the configuration for backups of `source`.
    fn configure(&self, source: &Path, workspace: &Workspace) -> Result<(), Error> {
        let server = [
            ("datadir", Some(source)),
            ("keyring", self.stores.keyrings.first().map(PathBuf::as_path)),
            ("keyring_config", self.stores.keyring_config.as_deref()),
            ("mariadb_key_file", self.stores.key_files.first().map(PathBuf::as_path)),
            ("mariadb_key_file_password_file", self.stores.password_file.as_deref()),
        ];
        let line = |(name, path): (&str, Option<&Path>)| path.map(|path| format!("{name} = {}\n", quoted(path)));
        let text = format!(
            "[repository]\nurl = {}\n[host]\nname = \"bench\"\nsigning_key = {}\n[server]\n{}\
             [data]\nrecipients = [\"{}\"]\npages = \"{}\"\n[state]\ndirectory = {}\n",
            quoted(&workspace.repository()),
            quoted(&workspace.beside("signing-key")),
            server.into_iter().filter_map(line).collect::<String>(),
            self.key.recipient,
            self.pages,
            quoted(&workspace.beside("state")),
        );
        let path = config_of(workspace);
        fs::write(&path, text).map_err(Error::file(&path))
    }
}

impl BackupTool for Sealant<'_> {
    fn init(&self, workspace: &Workspace) -> Result<(), Error> {
        self.configure(&workspace.repository(), workspace)?;
        let output = program::succeed(self.command(workspace, "init").arg("--unproven-recipient"))?;
        let signers = workspace.beside(SIGNERS);
        fs::write(&signers, output.stdout).map_err(Error::file(&signers))
    }

    fn back_up(&self, source: &Path, workspace: &Workspace) -> Result<(), Error> {
        self.configure(source, workspace)?;
        let mut command = self.command(workspace, "run");
        let output = program::succeed(command.arg("--json"))?;
        let path = workspace.beside(RECEIPT);
        fs::write(&path, receipt(&command, &output)?).map_err(Error::file(&path))
    }

    fn restore(&self, workspace: &Workspace, target: &Path) -> Result<(), Error> {
        program::succeed(&mut self.restore_command(workspace, target)?).map(drop)
    }
}

fn config_of(workspace: &Workspace) -> PathBuf {
    workspace.beside("backup.toml")
}

/// Quotes a path as a TOML string; JSON strings are valid TOML.
fn quoted(path: &Path) -> String {
    serde_json::Value::from(path.to_string_lossy()).to_string()
}

/// The hash of the receipt, in the report of a run, which follows its events.
fn receipt(command: &Command, output: &Output) -> Result<String, Error> {
    #[derive(Deserialize)]
    struct Report {
        receipt: String,
    }
    let last = output.stdout.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let report: Result<Report, _> = serde_json::from_slice(last);
    report.map(|report| report.receipt).map_err(|error| program::failed(command, &error.to_string()))
}
