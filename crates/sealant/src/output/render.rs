//! Formats of reports: one option selects the format, one call writes it.

use std::io::Write;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use report::Format;

use crate::output::file::{to_screen, to_screen_with_statements, to_stdout};
use crate::output::message::Failure;

/// Option for reports that are a table or JSON.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Render {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = table_or_json())]
    format: Format,
}

/// Writes a report in one format.
pub(crate) type Writer<R> = fn(&R, &mut dyn Write) -> Result<(), report::Error>;

impl Render {
    /// The requested format.
    pub(crate) const fn format(self) -> Format {
        self.format
    }

    /// Writes the report to stdout in the requested format. Lines are not wrapped, so that commands, statements and
    /// contents of files can be pasted.
    pub(crate) fn write<R: ?Sized>(self, report: &R, json: Writer<R>, table: Writer<R>) -> Result<(), Failure> {
        let write = if self.format == Format::Json { json } else { table };
        to_stdout(&|out| write(report, out).map_err(std::io::Error::from))
    }

    /// Like [`Self::write`], for a table of figures: on a terminal, lines that are too wide are wrapped.
    pub(crate) fn write_figures<R: ?Sized>(self, report: &R, json: Writer<R>, table: Writer<R>) -> Result<(), Failure> {
        if self.format == Format::Json {
            return self.write(report, json, table);
        }
        to_screen(&|out| table(report, out).map_err(std::io::Error::from))
    }

    /// Like [`Self::write_figures`], for a plan or a report in which only statements are to paste.
    pub(crate) fn write_steps<R: ?Sized>(self, report: &R, json: Writer<R>, table: Writer<R>) -> Result<(), Failure> {
        if self.format == Format::Json {
            return self.write(report, json, table);
        }
        to_screen_with_statements(&|out| table(report, out).map_err(std::io::Error::from))
    }
}

/// Accepts the two formats of most verbs.
fn table_or_json() -> impl TypedValueParser<Value = Format> {
    let table = PossibleValue::new("table").alias("text").help("For people");
    let json = PossibleValue::new("json").help("For scripts; the schemas are in docs/schema");
    PossibleValuesParser::new([table, json])
        .try_map(|name| if name == "text" { Ok(Format::Table) } else { name.parse::<Format>() })
}

/// Parses any format of an audit.
pub(crate) fn any_format(name: &str) -> Result<Format, String> {
    let names = || Format::all().map(Format::name).collect::<Vec<_>>().join(", ");
    name.parse().map_err(|_| format!("one of {}", names()))
}
