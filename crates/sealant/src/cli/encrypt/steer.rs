//! `sealant encrypt status`, `pause`, `resume` and `cancel`: other processes' runs.

use std::io::Write;
use std::path::PathBuf;

use ::change::{Activity, Request, RunState, Runs};
use clap::Args;
use jiff::{SpanRound, Timestamp, Unit};
use report::Format;

use crate::cli::change::state_dir;
use crate::exit::Exit;
use crate::output::file::to_stdout;
use crate::output::message::Failure;
use crate::output::render::Render;

/// Say what each run does, how far it is and how long it takes still, or how the last one ended
#[derive(Debug, Args)]
pub(super) struct Status {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    render: Render,
}

/// Which runs.
#[derive(Debug, Args)]
pub(super) struct Which {
    /// The server of the run, as `sealant encrypt status` shows it; needed if there are several
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// Where runs keep their state [default: as for `sealant encrypt run`]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

impl Which {
    fn runs(&self) -> Result<Runs, Failure> {
        Ok(Runs::of(&state_dir(self.state_dir.clone())?))
    }

    fn known(&self, runs: &Runs) -> Result<Vec<RunState>, Failure> {
        let mut all = runs.all()?;
        if let Some(server) = &self.server {
            all.retain(|run| run.server == *server);
        }
        Ok(all)
    }

    /// The one run that goes on.
    fn alive(&self, runs: &Runs) -> Result<RunState, Failure> {
        let known = self.known(runs)?;
        let mut alive: Vec<_> = known.iter().filter(|run| run.activity.is_alive()).cloned().collect();
        if alive.len() > 1 {
            let servers: Vec<_> = alive.iter().map(|run| run.server.as_str()).collect();
            return Err(Failure::usage("several runs go on").hint(format!("name one of {}", servers.join(", "))));
        }
        alive.pop().ok_or_else(|| {
            let failure = Failure::new("no run goes on");
            match known.first().filter(|run| run.activity != Activity::Done) {
                Some(run) => failure.hint(format!(
                    "the last on {} {}; `sealant encrypt run` goes on where it ended",
                    run.server,
                    words(run.activity)
                )),
                None => failure,
            }
        })
    }

    /// Asks for something, or takes it back.
    pub(super) fn ask(&self, request: Request, wanted: bool) -> Result<Exit, Failure> {
        let runs = self.runs()?;
        let run = self.alive(&runs)?;
        Runs::ask(&run, request, wanted)?;
        let said = match (request, wanted) {
            (Request::Pause, true) => format!("{}: the run waits when its present step has ended", run.server),
            (Request::Pause, false) => format!("{}: the run goes on", run.server),
            (Request::Cancel, _) => {
                format!("{}: the run ends; a table that is being copied stays as it was", run.server)
            }
        };
        to_stdout(&|out| writeln!(out, "{said}"))?;
        Ok(Exit::Clean)
    }
}

impl Status {
    pub(super) fn show(&self) -> Result<Exit, Failure> {
        let known = self.which.known(&self.which.runs()?)?;
        to_stdout(&|out| match self.render.format() {
            Format::Json => {
                serde_json::to_writer_pretty(&mut *out, &known)?;
                writeln!(out)
            }
            _ if known.is_empty() => writeln!(out, "no run is known"),
            _ => known.iter().try_for_each(|run| write_run(run, out)),
        })?;
        Ok(Exit::Clean)
    }
}

fn write_run(run: &RunState, out: &mut dyn Write) -> std::io::Result<()> {
    let why = run.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    writeln!(out, "{}: {}{why}", run.server, words(run.activity))?;
    if run.activity.is_alive() {
        writeln!(out, "  process {}, step {} of {}: {}", run.pid, run.step, run.steps, run.what)?;
    } else {
        writeln!(out, "  at step {} of {}: {}", run.step, run.steps, run.what)?;
    }
    if let (Activity::Running, Some(within)) = (run.activity, &run.within) {
        writeln!(out, "    {within}")?;
    }
    let mib = |bytes: u64| bytes >> 20;
    let end = if run.activity.is_alive() { Timestamp::now() } else { run.at };
    writeln!(
        out,
        "  {} of {} MiB written anew, {} since {}",
        mib(run.bytes_done),
        mib(run.bytes_total),
        took(run.began, end),
        run.began.strftime("%F %T UTC")
    )?;
    writeln!(out, "  statements in {}", run.log.display())
}

fn took(from: Timestamp, to: Timestamp) -> String {
    let span = to.since((Unit::Hour, from)).and_then(|span| span.round(SpanRound::new().smallest(Unit::Second)));
    span.map_or_else(|_| "-".to_owned(), |span| format!("{span:#}"))
}

const fn words(activity: Activity) -> &'static str {
    match activity {
        Activity::Running => "running",
        Activity::Paused => "paused",
        Activity::Waiting => "waiting",
        Activity::Done => "ended, everything is encrypted",
        Activity::Leftovers => "ended with leftovers",
        Activity::Canceled => "was canceled",
        Activity::Failed => "failed",
        Activity::Interrupted => "was interrupted",
    }
}
