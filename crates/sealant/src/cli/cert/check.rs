//! `sealant cert check`: what is wrong with certificates, or soon will be.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::cert::{Credentials, Files, Level, Limits, Problem, judge, names_in, worst};
use clap::{ArgGroup, Args};
use jiff::Timestamp;
use report::Format;
use serde::Serialize;
use server::Endpoint;

use crate::exit::Exit;
use crate::output::file::to_stdout;
use crate::output::message::Failure;
use crate::output::render::Render;

/// Check certificates: dates, chain, names, and whether the key belongs to it
///
/// Ends with 3 if something is wrong or expires soon. --monitor prints one line and ends as monitoring
/// plug-ins do: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["file", "dir", "endpoint"])))]
pub(super) struct Check {
    /// A certificate, PEM
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Every certificate in an authority's directory, each with its key if that is there
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The certificate that a running MySQL or MariaDB server serves
    #[arg(long, value_name = "HOST:PORT|SOCKET", value_parser = endpoint)]
    endpoint: Option<Endpoint>,
    /// The certificate's key, PEM
    #[arg(long, value_name = "FILE", requires = "file")]
    key: Option<PathBuf>,
    /// The authority that it must lead to, PEM
    #[arg(long, value_name = "FILE", conflicts_with = "dir")]
    ca: Option<PathBuf>,
    /// A name or address that it must be for (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with = "dir")]
    host: Vec<String>,
    /// Warn if it expires within so many days
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    warn: u32,
    /// Critical if it expires within so many days
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    critical: u32,
    /// One line, and the exit codes of monitoring plug-ins
    #[arg(long, conflicts_with = "format")]
    monitor: bool,
    #[command(flatten)]
    render: Render,
}

#[derive(Debug, Serialize)]
struct Checked {
    place: PathBuf,
    level: Option<Level>,
    subject: String,
    names: Vec<String>,
    not_after: Timestamp,
    days_left: i64,
    problems: Vec<Problem>,
}

/// Nobody answers in time is an answer too, but not at once.
const PATIENCE: Duration = Duration::from_secs(10);

impl Check {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let checked = match self.checked() {
            Err(failure) if self.monitor => {
                to_stdout(&|out| writeln!(out, "UNKNOWN: {}", failure.error))?;
                return Ok(Exit::Findings);
            }
            other => other?,
        };
        let level = checked.iter().filter_map(|one| one.level).max();
        if self.monitor {
            to_stdout(&|out| monitor(&checked, level, out))?;
            return Ok(match level {
                None => Exit::Clean,
                Some(Level::Warning) => Exit::Failed,
                Some(Level::Critical) => Exit::Usage,
            });
        }
        match self.render.format() {
            Format::Json => to_stdout(&|out| {
                let document = serde_json::json!({ "schema": "sealant.cert-check/1", "checked": checked });
                serde_json::to_writer_pretty(&mut *out, &document)?;
                writeln!(out)
            })?,
            _ => to_stdout(&|out| checked.iter().try_for_each(|one| table(one, out)))?,
        }
        Ok(if level.is_some() { Exit::Findings } else { Exit::Clean })
    }

    fn checked(&self) -> Result<Vec<Checked>, Failure> {
        if let Some(dir) = &self.dir {
            return self.directory(dir);
        }
        if let Some(endpoint) = &self.endpoint {
            let chain = server::probe::served(endpoint, None, PATIENCE);
            let chain =
                chain.map_err(|error| Failure { error: format!("{endpoint}: {error}"), ..Failure::from(error) })?;
            let place = PathBuf::from(endpoint.to_string());
            let credentials = Credentials::served(&place, chain, self.ca.as_deref())?;
            return Ok(vec![self.judged(place, &credentials)]);
        }
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        let credentials = Credentials::read(file, self.key.as_deref(), self.ca.as_deref())?;
        Ok(vec![self.judged(file.clone(), &credentials)])
    }

    fn directory(&self, dir: &Path) -> Result<Vec<Checked>, Failure> {
        let ca = Files::of_authority(dir).certificate;
        let mut checked = Vec::new();
        let mut add = |files: Files, ca: Option<&Path>| -> Result<(), Failure> {
            // The authority's key, and others, may be kept elsewhere.
            let key = files.key.exists().then_some(files.key.as_path());
            let credentials = Credentials::read(&files.certificate, key, ca)?;
            checked.push(self.judged(files.certificate, &credentials));
            Ok(())
        };
        add(Files::of_authority(dir), None)?;
        for name in names_in(dir)? {
            add(Files::of(dir, &name), Some(&ca))?;
        }
        Ok(checked)
    }

    fn judged(&self, place: PathBuf, credentials: &Credentials) -> Checked {
        let limits = Limits { warning_days: self.warn, critical_days: self.critical };
        let now = Timestamp::now();
        let problems = judge(credentials, &self.host, &limits, now);
        let leaf = credentials.leaf();
        let not_after = leaf.map_or(Timestamp::UNIX_EPOCH, |leaf| leaf.not_after);
        Checked {
            place,
            level: worst(&problems),
            subject: leaf.map(|leaf| leaf.subject.clone()).unwrap_or_default(),
            names: leaf.map(server::Certificate::names).unwrap_or_default(),
            not_after,
            days_left: not_after.as_second().saturating_sub(now.as_second()).div_euclid(24 * 3600),
            problems,
        }
    }
}

fn table(one: &Checked, out: &mut dyn Write) -> io::Result<()> {
    let level = word(one.level);
    let (place, days) = (one.place.display(), one.days_left);
    writeln!(out, "{level:<8} {place}  {}  {days} days left", one.names.join(", "))?;
    one.problems.iter().try_for_each(|problem| writeln!(out, "         {}", problem.text))
}

fn word(level: Option<Level>) -> &'static str {
    match level {
        None => "ok",
        Some(Level::Warning) => "warning",
        Some(Level::Critical) => "critical",
    }
}

fn monitor(checked: &[Checked], level: Option<Level>, out: &mut dyn Write) -> io::Result<()> {
    let status = if level.is_none() { "OK" } else { &word(level).to_ascii_uppercase() };
    let problems = checked
        .iter()
        .flat_map(|one| one.problems.iter().map(|problem| format!("{}: {}", one.place.display(), problem.text)));
    let problems: Vec<String> = problems.collect();
    let first = checked.iter().map(|one| one.days_left).min().unwrap_or(0);
    let text = if problems.is_empty() {
        format!("{} certificates, the first expires in {first} days", checked.len())
    } else {
        problems.join("; ")
    };
    writeln!(out, "{status}: {text} | days_left={first}")
}

/// `HOST:PORT`, or the path of a socket.
pub(crate) fn endpoint(text: &str) -> Result<Endpoint, String> {
    if text.starts_with('/') {
        return Ok(Endpoint::Socket(PathBuf::from(text)));
    }
    let target: Result<server::Target, _> = format!("mysql://x@{text}").parse();
    target.map(|target| target.endpoint).map_err(|_| "it is neither HOST:PORT nor the path of a socket".to_owned())
}
