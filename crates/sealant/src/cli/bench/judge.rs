//! `sealant bench judge`.

use std::path::PathBuf;

use ::bench::{ComparedBy, judge};
use clap::{Args, ValueEnum};
use report::{write_bench_html, write_bench_json, write_bench_markdown, write_bench_table};

use crate::exit::{self, Exit};
use crate::output::file;
use crate::output::message::Failure;
use crate::output::render::Render;

/// Judge the samples of an earlier measurement again
///
/// Reads a file that `--raw` of `sealant bench` or `sealant cost` wrote, and computes its medians, ratios and intervals
/// again: with another arm as the baseline, or by latency instead of throughput. Nothing is measured.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(super) struct BenchJudge {
    /// File of samples
    #[arg(value_name = "FILE")]
    samples: PathBuf,
    /// Arm that the others are compared with [default: the first of each experiment]
    #[arg(long, value_name = "ARM")]
    to: Option<String>,
    /// What arms are compared by
    #[arg(long, value_name = "FIGURE", default_value = "rate")]
    by: Figure,
    #[command(flatten)]
    render: Render,
    /// Also write an HTML report with charts to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    /// Also write the report to this file, as Markdown without charts
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    markdown: Option<PathBuf>,
}

/// What arms are compared by.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Figure {
    /// Work per second
    Rate,
    /// 95th percentile of the latency, of arms with single operations
    P95Latency,
}

/// Title of the report.
const TITLE: &str = "Samples, judged again";

const EXAMPLES: &str = "\
Examples:
  sealant bench judge samples.jsonl --to tde
  sealant bench judge samples.jsonl --by p95-latency --html latency.html";

const EXITS: exit::Codes = &[(Exit::Clean, "judged"), (Exit::Failed, "the file cannot be read, or has no such arm")];

impl BenchJudge {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let by = match self.by {
            Figure::Rate => ComparedBy::Rate,
            Figure::P95Latency => ComparedBy::P95Latency,
        };
        let record = judge(&self.samples, self.to.as_deref(), by)?;
        if let Some(path) = &self.html {
            file::replace(path, &|out| Ok(write_bench_html(TITLE, &record, out)?))?;
        }
        if let Some(path) = &self.markdown {
            file::replace(path, &|out| Ok(write_bench_markdown(TITLE, &record, out)?))?;
        }
        self.render.write_figures(&record, write_bench_json, write_bench_table)?;
        Ok(Exit::Clean)
    }
}
