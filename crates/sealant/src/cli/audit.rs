//! `sealant audit`: shows what is in plaintext, from metadata, bytes and the wire.

mod outputs;
mod source;

use std::path::PathBuf;

use ::audit::facts::Facts;
use ::audit::fleet::{self, Fleet, FleetOptions};
use ::audit::outcome::{Conclusion, Outcome};
use ::audit::policy::Policy;
use ::audit::rules::Rules;
use ::audit::run::{drift, judge};
use ::audit::source::SourceEvent;
use ::audit::waiver::Waivers;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use report::{bad_waiver_message, two_servers_message};
use server::dialect::AUDIT_GRANTS;

use crate::cli::connect::{Login, Terminal};
use crate::cli::value::{self, FailOn};
use crate::exit::{self, Exit};
use crate::output::file;
use crate::output::message::{Failure, error, say, warning};
use crate::output::render::Render;
use crate::process::forbid_dumps;

/// Show what is still readable to someone who steals the disk or listens on the wire
#[derive(Debug, Args)]
#[command(
    long_about = description(),
    args_conflicts_with_subcommands = true,
    subcommand_precedence_over_arg = true,
    after_help = exit::help(EXAMPLES, EXITS),
)]
pub(crate) struct Audit {
    #[command(subcommand)]
    diff: Option<Sub>,
    #[command(flatten)]
    source: source::Source,
    #[command(flatten)]
    login: Login,
    #[command(flatten)]
    judgement: Judgement,
    #[command(flatten)]
    outputs: outputs::Outputs,
}

fn description() -> String {
    format!(
        "Show what is still readable to someone who steals the disk or listens on the wire\n\n\
         Connects to a MySQL or MariaDB server. Reads its settings and tables, the bytes of its data directory if it runs \
         on this host, and the answers of its ports. Judges all of it by the checks that `sealant checks` lists. \
         Changes nothing on the server.\n\n\
         The password comes from an option file, --password-file, --password-fd or a prompt, never from the command line. \
         The account needs at least: GRANT {}. What it cannot see is reported as UNKNOWN, never as PASS.",
        AUDIT_GRANTS.join("; ")
    )
}

const EXAMPLES: &str = "\
Examples:
  sealant audit --socket /run/mysqld/mysqld.sock --user root
  sealant audit --socket /run/mysqld/mysqld.sock --user audit --html report.html
  sealant audit --offline /backup/datadir --deep --keyring-copy /safe/keyring
  sealant audit mysql://audit@db1:3306 --tls-ca ca.pem --save today.json --fail-on medium
  sealant audit diff yesterday.json today.json";

const EXITS: exit::Codes = &[
    (Exit::Clean, "no failure reaches --fail-on, and nothing is UNKNOWN if --require-complete is given"),
    (Exit::Failed, "the audit could not be done, since a server or a file could not be read"),
    (Exit::Usage, "wrong usage, or a mistake in the policy or the fleet file"),
    (Exit::Findings, "a failure reaches --fail-on"),
    (Exit::Incomplete, "something is UNKNOWN, and --require-complete was given"),
    (Exit::BadWaiver, "a waiver is expired, unknown or malformed, or the file with waivers cannot be read"),
];

#[derive(Debug, Subcommand)]
enum Sub {
    Diff(Diff),
}

/// Show what changed between two saved facts files: new, fixed, worse
#[derive(Debug, Args)]
#[command(after_help = exit::help("", DIFF_EXITS))]
struct Diff {
    /// Facts saved earlier with --save
    before: PathBuf,
    /// Facts saved later with --save
    after: PathBuf,
    /// Exit with 3 if a new or worse failure is at least this severe: info, low, medium, high, critical, or never
    #[arg(long, value_name = "SEVERITY", default_value = "high")]
    fail_on: FailOn,
    #[command(flatten)]
    render: Render,
}

const DIFF_EXITS: exit::Codes = &[
    (Exit::Clean, "no new or worse failure reaches --fail-on"),
    (Exit::Failed, "a file is unreadable, or holds no facts"),
    (Exit::Findings, "a new or worse failure reaches --fail-on"),
];

/// Options for how facts are judged.
#[derive(Debug, Args)]
#[command(next_help_heading = "Judgement")]
struct Judgement {
    /// Exit with 3 if a failure is at least this severe: info, low, medium, high, critical, or never
    #[arg(long, value_name = "SEVERITY", default_value = "high")]
    fail_on: FailOn,
    /// Exit with 4 if something is UNKNOWN
    #[arg(long)]
    require_complete: bool,
    /// File of failures that are accepted until a date (TOML; see docs/audit.md)
    #[arg(long, value_name = "FILE")]
    waivers: Option<PathBuf>,
    /// File with the limits of your site, such as the maximum age of keys (TOML; see docs/audit.md)
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Facts saved earlier with --save; changes since then are reported as the finding ev-drift
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Run only this check (repeatable)
    #[arg(long = "check", value_name = "ID", value_parser = value::check_id)]
    checks: Vec<String>,
}

impl Audit {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        if let Some(Sub::Diff(diff)) = self.diff {
            return diff.run();
        }
        self.outputs.check()?;
        let rules = self.judgement.rules()?;
        let now = Timestamp::now();
        let outcome = match self.source.fleet_file() {
            Some(file) => self.fleet(&Fleet::load(file)?, &rules, now),
            None => {
                let facts = self.facts()?;
                self.save(&facts)?;
                judge(&facts, &rules, now)
            }
        };
        self.outputs.write(&outcome)?;
        Ok(self.judgement.exit(&outcome))
    }

    fn facts(&self) -> Result<Facts, Failure> {
        let (source, line) = (self.source.to_source(), self.outputs.quiet.status_line());
        if source.reads_keys() {
            forbid_dumps();
        }
        let tell = |event: SourceEvent<'_>| match event {
            SourceEvent::Progress(progress) => line.show(&progress.to_string()),
            SourceEvent::OptionFile(odd) => warning(&odd.to_string()),
        };
        Ok(source.facts(&self.login.at(&self.source.address), &Terminal, &tell)?)
    }

    fn fleet(&self, fleet: &Fleet, rules: &Rules, now: Timestamp) -> Outcome {
        let (source, login, line) =
            (self.source.to_source(), self.login.at(&self.source.address), self.outputs.quiet.status_line());
        if source.reads_keys() {
            forbid_dumps();
        }
        let common = FleetOptions { source: &source, login: &login, prompt: &Terminal, rules, now };
        fleet.audit(&common, &|event| match event {
            fleet::Event::OptionFile(odd) => warning(&odd.to_string()),
            fleet::Event::Failed { name, reason } => error(&format!("{name}: {reason}")),
            fleet::Event::Done { done, of } => line.show(&format!("{done} of {of} servers")),
        })
    }

    fn save(&self, facts: &Facts) -> Result<(), Failure> {
        let Some(path) = self.outputs.save() else { return Ok(()) };
        file::replace(path, &|out| serde_json::to_writer(out, facts).map_err(std::io::Error::from))
    }
}

impl Judgement {
    fn rules(&self) -> Result<Rules, Failure> {
        let bad_waivers = |e: ::audit::Error| Failure { exit: Exit::BadWaiver, ..Failure::from(e) };
        Ok(Rules {
            policy: self.policy.as_deref().map(Policy::load).transpose()?.unwrap_or_default(),
            waivers: self.waivers.as_deref().map(Waivers::load).transpose().map_err(bad_waivers)?.unwrap_or_default(),
            baseline: self.baseline.as_deref().map(Facts::load).transpose()?,
            only: self.checks.clone(),
        })
    }

    fn exit(&self, outcome: &Outcome) -> Exit {
        match outcome.conclusion(self.fail_on.0, self.require_complete) {
            Conclusion::BadWaiver => {
                say(&[bad_waiver_message()]);
                Exit::BadWaiver
            }
            Conclusion::Unreachable => Exit::Failed,
            Conclusion::Failing => Exit::Findings,
            Conclusion::Incomplete => Exit::Incomplete,
            Conclusion::Clean => Exit::Clean,
        }
    }
}

impl Diff {
    fn run(self) -> Result<Exit, Failure> {
        let (before, after) = (Facts::load(&self.before)?, Facts::load(&self.after)?);
        if before.target != after.target {
            say(&[two_servers_message(&before.target, &after.target)]);
        }
        let found = drift(&before, &after);
        let format = self.render.format();
        let options = report::RenderOptions { width: 120, ..report::RenderOptions::default() };
        file::to_stdout(&|out| report::write_drift(format, &found, &options, out).map_err(std::io::Error::from))?;
        let bad = self.fail_on.0.is_some_and(|severity| found.worsened(severity));
        Ok(if bad { Exit::Findings } else { Exit::Clean })
    }
}
