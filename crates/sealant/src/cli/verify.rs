//! `sealant verify`: proves, without a server, that files can be decrypted with the given keys.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use ::verify::{Conclusion, Depth, Keys, Plan, Progress, Report, Settings, check_paths};
use clap::Args;
use report::{Format, ProofOptions, verification_messages, write_proof_html, write_proof_json, write_proof_table};

use crate::cli::key_stores::KeyStores;
use crate::exit::{self, Exit};
use crate::output::file;
use crate::output::message::{Failure, say};
use crate::output::progress::Quiet;
use crate::output::render::Render;
use crate::process::{forbid_dumps, processors};

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
    /// Only check that every file is unchanged since `sealant receive` wrote this list of them, `sealant-manifest`;
    /// PATH is the directory, if it is not the one that contains FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keyring", "keyring_config", "mariadb_key_file"])]
    manifest: Option<PathBuf>,
    /// Number of threads [default: one per processor]
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    keys: KeyStores,
    #[command(flatten)]
    render: Render,
    /// Write the report to this file instead of standard output
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Also write an HTML report for auditors to this file: what was proven, when, where and by whom
    #[arg(long, value_name = "FILE", conflicts_with = "manifest", help_heading = "Output")]
    html: Option<PathBuf>,
    /// List every file and every finding in the table
    #[arg(long, short, help_heading = "Output")]
    verbose: bool,
    #[command(flatten, next_help_heading = "Output")]
    quiet: Quiet,
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
        let nothing_in = plan.without_files(&self.paths);
        let conclusion = report.conclusion(!nothing_in.is_empty());
        let page = self.write_page(&report, &nothing_in);
        self.write(&report)?;
        say(&verification_messages(&report, &nothing_in, self.keys.any()));
        page?;
        Ok(exit(conclusion))
    }

    fn write_page(&self, report: &Report, nothing_in: &[&Path]) -> Result<(), Failure> {
        let Some(path) = &self.html else { return Ok(()) };
        let keys = self.keys.files();
        let given = (self.paths.as_slice(), keys.as_slice());
        file::replace(path, &|out| write_proof_html(report, given, nothing_in, out).map_err(std::io::Error::from))
    }

    fn proven(&self, keys: &Keys) -> (Plan, Report) {
        let status = self.quiet.status_line();
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
        self.output.iter().chain(&self.html).try_for_each(|path| file::check_writable(path))
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
            None if self.render.format() == Format::Json => file::to_stdout(&write),
            None => file::to_screen(&write),
        }
    }
}

fn exit(conclusion: Conclusion) -> Exit {
    match conclusion {
        Conclusion::Sound => Exit::Clean,
        Conclusion::Unproven => Exit::Incomplete,
        Conclusion::Faulty => Exit::Findings,
        Conclusion::Unread => Exit::Failed,
    }
}
