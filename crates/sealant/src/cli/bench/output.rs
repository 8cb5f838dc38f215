//! Output of a measurement: a table or JSON, a page with charts, every sample.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use ::bench::suite::{Outcome, Watch};
use ::bench::{Error, Record, Sample};
use clap::Args;
use report::{
    bench_duration, write_bench_html, write_bench_json, write_bench_markdown, write_bench_samples, write_bench_table,
};

use crate::exit::Exit;
use crate::output::file;
use crate::output::message::{Failure, say};
use crate::output::progress::Quiet;
use crate::output::render::Render;

/// Writes a report as a table.
pub(super) type Table = fn(&Record, &mut dyn Write) -> Result<(), report::Error>;

/// Options for output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct Output {
    #[command(flatten)]
    render: Render,
    /// Also write every sample to this file, as JSON Lines
    #[arg(long, value_name = "FILE")]
    raw: Option<PathBuf>,
    /// Also write an HTML report with charts to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write the report to this file, as Markdown without charts
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    quiet: Quiet,
}

impl Output {
    /// Checks before a long run that the files can be written.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let files = [&self.raw, &self.html, &self.markdown];
        files.into_iter().flatten().try_for_each(|path| file::check_writable(path))
    }

    /// Says how long the measurement takes at least and at most.
    pub(super) fn announce(&self, duration: [Duration; 2]) {
        if !self.quiet.is_set() {
            say(&[bench_duration(duration)]);
        }
    }

    /// Runs the measurement with a status line, and writes its results; `title` is that of the page.
    pub(super) fn measure(
        &self,
        title: &str,
        suite: impl FnOnce(&Watch<'_>) -> Result<Outcome, Error>,
    ) -> Result<Exit, Failure> {
        self.measure_as(title, write_bench_table, suite)
    }

    /// Like [`Self::measure`], with another table.
    pub(super) fn measure_as(
        &self,
        title: &str,
        table: Table,
        suite: impl FnOnce(&Watch<'_>) -> Result<Outcome, Error>,
    ) -> Result<Exit, Failure> {
        let status = self.quiet.status_line();
        let outcome = suite(&|text| status.show(text))?;
        status.clear();
        self.write(title, &outcome.record, &outcome.samples, table)?;
        if outcome.interrupted { Err(Error::Interrupted.into()) } else { Ok(Exit::Clean) }
    }

    /// Samples are written first: they cannot be obtained again.
    fn write(&self, title: &str, record: &Record, samples: &[Sample], table: Table) -> Result<(), Failure> {
        if let Some(path) = &self.raw {
            file::replace(path, &|out| Ok(write_bench_samples(&record.environment, samples, out)?))?;
        }
        if let Some(path) = &self.html {
            file::replace(path, &|out| Ok(write_bench_html(title, record, out)?))?;
        }
        if let Some(path) = &self.markdown {
            file::replace(path, &|out| Ok(write_bench_markdown(title, record, out)?))?;
        }
        self.render.write_figures(record, write_bench_json, table)
    }
}
