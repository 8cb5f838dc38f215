//! Where results go: one format to stdout or a file, and any number of further files.

use std::path::{Path, PathBuf};
use std::{fs, io};

use ::audit::outcome::Outcome;
use clap::{Args, ValueEnum};
use findings::Severity;
use report::{Format, RenderOptions, write_fixes, write_waivers};

use crate::output::file;
use crate::output::message::Failure;
use crate::output::progress::Quiet;
use crate::output::render::any_format;
use crate::output::terminal::Terminal;

/// Options for what is written where.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Outputs {
    /// Format of the report: table, json, sarif, junit, csv, markdown, html, prometheus
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = any_format)]
    format: Format,
    /// Write the report to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write an HTML report to this file (repeatable, like the next options)
    #[arg(long, value_name = "FILE")]
    html: Vec<PathBuf>,
    /// Also write a JSON report to this file
    #[arg(long, value_name = "FILE")]
    json: Vec<PathBuf>,
    /// Also write a SARIF 2.1.0 report to this file
    #[arg(long, value_name = "FILE")]
    sarif: Vec<PathBuf>,
    /// Also write a JUnit XML report to this file
    #[arg(long, value_name = "FILE")]
    junit: Vec<PathBuf>,
    /// Also write a CSV report to this file
    #[arg(long, value_name = "FILE")]
    csv: Vec<PathBuf>,
    /// Also write a Markdown report to this file
    #[arg(long, value_name = "FILE")]
    markdown: Vec<PathBuf>,
    /// Also write metrics to this file, for node_exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    prometheus: Vec<PathBuf>,
    /// Also write a waiver file to this file, with a draft for every failure: add why each is accepted, by whom and
    /// until when, delete the others, and pass the file to --waivers
    #[arg(long, value_name = "FILE")]
    write_waivers: Option<PathBuf>,
    /// Also write a shell script with the fixes for one server; it only sets variables, all other fixes in it are
    /// commented out
    #[arg(long, value_name = "FILE", conflicts_with = "fleet")]
    write_fixes: Option<PathBuf>,
    /// Save the facts to this file, to judge them again with --facts or to compare them with `sealant audit diff`
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// List all findings in the table, including those that passed
    #[arg(long, short, conflicts_with = "summary")]
    verbose: bool,
    /// Show only the coverage map, the servers and the totals in the table
    #[arg(long)]
    summary: bool,
    /// Show only failures that are at least this severe in the table: low, medium, high or critical
    #[arg(long, value_name = "SEVERITY", default_value = "info", hide_default_value = true)]
    only: Severity,
    /// When to colour the table
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
    #[command(flatten)]
    pub(super) quiet: Quiet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Refuses to write drafts over a file in which people may have written their reasons.
fn keeps_reasons(path: &Path) -> Result<(), Failure> {
    if fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0) {
        let error = format!("{}: exists, and may contain reasons that were filled in", path.display());
        return Err(Failure::usage(error).hint("give another name; waivers that still apply are passed with --waivers"));
    }
    Ok(())
}

impl Outputs {
    /// Checks before a long run that the files can be written.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let files = self.files().map(|(_, path)| path).chain(self.output.as_deref()).chain(self.save());
        let files = files.chain(self.write_waivers.as_deref()).chain(self.write_fixes.as_deref());
        for path in files {
            file::check_writable(path)?;
        }
        self.write_waivers.as_deref().map_or(Ok(()), keeps_reasons)
    }

    /// The file to save the facts in.
    pub(crate) fn save(&self) -> Option<&Path> {
        self.save.as_deref()
    }

    /// Writes all requested outputs.
    pub(crate) fn write(&self, outcome: &Outcome) -> Result<(), Failure> {
        for (format, path) in self.files() {
            self.to_file(format, path, outcome)?;
        }
        if let Some(path) = &self.write_fixes {
            file::replace(path, &|out| write_fixes(outcome, out).map_err(io::Error::from))?;
        }
        if let Some(path) = &self.write_waivers {
            file::replace(path, &|out| write_waivers(outcome, out).map_err(io::Error::from))?;
        }
        if let Some(path) = &self.output {
            return self.to_file(self.format, path, outcome);
        }
        let options = self.options(Terminal::stdout());
        file::to_stdout(&|out| report::write(self.format, outcome, &options, out).map_err(io::Error::from))
    }

    fn to_file(&self, format: Format, path: &Path, outcome: &Outcome) -> Result<(), Failure> {
        let options = self.options(Terminal::file());
        file::replace(path, &|out| report::write(format, outcome, &options, out).map_err(io::Error::from))
    }

    fn files(&self) -> impl Iterator<Item = (Format, &Path)> {
        let sets = [
            (Format::Html, &self.html),
            (Format::Json, &self.json),
            (Format::Sarif, &self.sarif),
            (Format::Junit, &self.junit),
            (Format::Csv, &self.csv),
            (Format::Markdown, &self.markdown),
            (Format::Prometheus, &self.prometheus),
        ];
        sets.into_iter().flat_map(|(format, paths)| paths.iter().map(move |path| (format, path.as_path())))
    }

    fn options(&self, terminal: Terminal) -> RenderOptions {
        RenderOptions {
            color: self.color == Color::Always || (self.color == Color::Auto && terminal.wants_color()),
            width: terminal.columns(),
            ascii: terminal.is_ascii(),
            verbose: self.verbose,
            show_passes: self.verbose,
            summary: self.summary,
            least: self.only,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_but_the_table_can_be_written_to_a_file_of_its_own() {
        let command = Outputs::augment_args(clap::Command::new("audit"));
        for format in Format::all().filter(|format| *format != Format::Table) {
            let mut options = command.get_arguments().filter_map(clap::Arg::get_long);
            assert!(options.any(|option| option == format.name()), "{}", format.name());
        }
    }
}
