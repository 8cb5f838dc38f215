//! `sealant verify`: proves, without a server, that files can be decrypted with the given keys.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use ::verify::{Conclusion, Depth, Keys, Plan, Progress, Report, Settings, check_paths};
use clap::Args;
use report::{Format, ProofOptions, verification_messages, write_proof_json, write_proof_table};

use crate::exit::{self, Exit};
use crate::output::file;
use crate::output::message::{Failure, say, warning};
use crate::output::progress::StatusLine;
use crate::output::render::Render;

/// Prove offline that every page can be decrypted with the given keys, or list what is damaged
///
/// Reads data directories, their backups or single files: tablespaces, undo, redo, doublewrite, binary and relay logs,
/// Aria tables, of MySQL 5.7 to 9.x and MariaDB 10.x to 11.x. Parses every page, decrypts it with the given key, and
/// checks its checksum and position. Starts no server and writes nothing; a server may be running on the files.
///
/// Verdicts: `ok` (encrypted, decrypted, sound), `clear` (readable without a key, sound), `damaged`, `truncated`,
/// `wrong-key`, `missing-key`, `bad-key-info` (the information about the key is itself damaged), `unverifiable` (no
/// known fault, but it cannot be proven without a key), `unidentified`.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Verify {
    /// Data directories, backups or single files
    #[arg(required_unless_present = "manifest", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Check only the list of files that `sealant receive` left, `sealant-manifest`: is every file unchanged? PATH is
    /// the directory, if it is not the one that contains FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keyring", "keyring_config", "mariadb_key_file"])]
    manifest: Option<PathBuf>,
    /// Number of computing threads; default: one per processor
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    keys: KeyStores,
    #[command(flatten)]
    render: Render,
    /// Write the report to this file instead of standard output
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// List every file and every finding in the table
    #[arg(long, short, help_heading = "Output")]
    verbose: bool,
    /// No status line on stderr
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

/// Options that name key stores.
#[derive(Debug, Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct KeyStores {
    /// Keyring file of MySQL, of component_keyring_file or of the keyring_file plug-in, or the configuration of a Vault
    /// (repeatable)
    #[arg(long, value_name = "FILE")]
    keyring: Vec<PathBuf>,
    /// Configuration of component_keyring_file, which names the keyring file, or of component_keyring_vault
    #[arg(long, value_name = "FILE", conflicts_with = "keyring")]
    keyring_config: Option<PathBuf>,
    /// Key file of MariaDB's file_key_management, or option file of its hashicorp_key_management (repeatable)
    #[arg(long, value_name = "FILE")]
    mariadb_key_file: Vec<PathBuf>,
    /// File with the password of the key file, if it is encrypted
    #[arg(long, value_name = "FILE", requires = "mariadb_key_file")]
    mariadb_key_file_password_file: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  sealant verify /backup/datadir --keyring-config /etc/mysql/component_keyring_file.cnf
  sealant verify /var/lib/mysql --mariadb-key-file keys.enc --mariadb-key-file-password-file pw
  sealant verify t.ibd --keyring keyring.json --format json
  sealant verify /var/lib/mysql --keyring COPY-OF-KEYRING    # is this copy enough?
  sealant verify --manifest /var/lib/mysql/sealant-manifest  # as it was received?";

const EXITS: exit::Codes = &[
    (Exit::Clean, "every file is sound, and was opened with the keys given or needs none"),
    (Exit::Failed, "a key store or a file could not be read"),
    (Exit::Findings, "a file is damaged, truncated, or cannot be opened with the keys given"),
    (
        Exit::Incomplete,
        "nothing is known to be wrong, but a file could not be proven (no key, or unidentified), or a directory holds no file of a server",
    ),
];

impl Verify {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        self.check()?;
        if let Some(manifest) = &self.manifest {
            return self.manifest(manifest);
        }
        forbid_dumps();
        let datadir = self.paths.iter().find(|path| path.is_dir());
        let keys = self.keys.read(datadir.map(PathBuf::as_path))?;
        let (plan, report) = self.proven(&keys);
        self.write(&report)?;
        let nothing_in = plan.without_files(&self.paths);
        say(&verification_messages(&report, &nothing_in, self.keys.any()));
        Ok(exit(report.conclusion(!nothing_in.is_empty())))
    }

    fn proven(&self, keys: &Keys) -> (Plan, Report) {
        let status = StatusLine::new(self.quiet);
        status.show("looking at files");
        let plan = Plan::scan(&self.paths);
        let progress = |progress: &Progress| status.show(&progress.to_string());
        let jobs = self.jobs.unwrap_or_else(processors);
        let report = ::verify::run(&plan, keys, &Settings { jobs, depth: Depth::EveryPage, progress: &progress });
        status.clear();
        (plan, report)
    }

    fn manifest(&self, manifest: &Path) -> Result<Exit, Failure> {
        if self.paths.len() > 1 {
            return Err(Failure::usage("--manifest takes one directory"));
        }
        let check = super::manifest::Check {
            manifest,
            directory: self.paths.first(),
            format: self.render.format(),
            output: self.output.as_deref(),
            threads: self.jobs.unwrap_or_else(processors).get(),
            quiet: self.quiet,
        };
        check.run()
    }

    /// Checks before a long run that paths exist and the report can be written.
    fn check(&self) -> Result<(), Failure> {
        check_paths(&self.paths)?;
        self.output.as_deref().map_or(Ok(()), file::check_writable)
    }

    fn write(&self, report: &Report) -> Result<(), Failure> {
        let options = ProofOptions { verbose: self.verbose };
        let write = |out: &mut dyn std::io::Write| {
            let written = match self.render.format() {
                Format::Json => write_proof_json(report, out),
                _ => write_proof_table(report, &options, out),
            };
            written.map_err(std::io::Error::from)
        };
        match &self.output {
            Some(path) => file::replace(path, &write),
            None => file::to_stdout(&write),
        }
    }
}

impl KeyStores {
    pub(crate) fn named(&self) -> ::verify::KeyStores {
        ::verify::KeyStores {
            keyrings: self.keyring.clone(),
            keyring_config: self.keyring_config.clone(),
            key_files: self.mariadb_key_file.clone(),
            password_file: self.mariadb_key_file_password_file.clone(),
        }
    }

    /// Whether any store was named.
    pub(crate) fn any(&self) -> bool {
        self.named().any()
    }

    /// Files that hold keys, or their password.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.named().files()
    }

    /// The same options, for another run of this program.
    pub(crate) fn options(&self) -> Vec<OsString> {
        let named = [
            ("--keyring", self.keyring.as_slice()),
            ("--keyring-config", self.keyring_config.as_slice()),
            ("--mariadb-key-file", self.mariadb_key_file.as_slice()),
            ("--mariadb-key-file-password-file", self.mariadb_key_file_password_file.as_slice()),
        ];
        let options = named.iter().flat_map(|(name, paths)| paths.iter().map(move |path| (*name, path)));
        options.flat_map(|(name, path)| [name.into(), path.clone().into_os_string()]).collect()
    }

    /// Reads every store; problems with single keys are warnings.
    pub(crate) fn read(&self, datadir: Option<&Path>) -> Result<Keys, Failure> {
        let (keys, damaged) = self.named().read(datadir)?;
        for store in damaged {
            let (path, entries) = (store.path.display(), store.entries);
            warning(&format!("{path}: {entries} of its entries cannot be used; `sealant audit` names them"));
        }
        for key in keys.withdrawn() {
            warning(&key.to_string());
        }
        if keys.locked() == Some(false) {
            warning("keys could not be locked in memory and may reach the swap; raise `ulimit -l`");
        }
        Ok(keys)
    }
}

/// Forbids core dumps and reading by other processes of this user, because keys will be in memory. A dump handler of
/// the system may ignore the limit that was set at startup.
pub(crate) fn forbid_dumps() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        warning("the system does not allow core dumps to be forbidden for this process");
    }
}

pub(crate) fn processors() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

fn exit(conclusion: Conclusion) -> Exit {
    match conclusion {
        Conclusion::Sound => Exit::Clean,
        Conclusion::Unproven => Exit::Incomplete,
        Conclusion::Faulty => Exit::Findings,
        Conclusion::Unread => Exit::Failed,
    }
}
