//! Measurements as Markdown, for tickets and documentation: every figure of the page, without its charts.

use std::io::Write;

use ::bench::{ExperimentRecord, Record};

use super::experiment::{CAUSES, conclusion, experiment_rounds, resolution};
use super::tables::tables;
use super::{READING, head};
use crate::Error;
use crate::markdown::plain;
use crate::text::collect;

/// Writes the report under this title.
///
/// # Errors
/// [`Error::Write`].
pub fn write_bench_markdown(title: &str, record: &Record, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "# {}\n", plain(title))?;
    lines(&collect(|out| head(record, out))?, out)?;
    record.experiments.iter().try_for_each(|one| section(one, 2, out))?;
    reading(out)?;
    notes(&record.notes, 2, out)
}

/// Writes text whose lines stay apart.
pub(crate) fn lines(text: &str, out: &mut dyn Write) -> Result<(), Error> {
    Ok(text.lines().try_for_each(|line| writeln!(out, "{}  ", plain(line)))?)
}

/// Writes an experiment below a heading of this level, from 1.
pub(crate) fn section(experiment: &ExperimentRecord, level: usize, out: &mut dyn Write) -> Result<(), Error> {
    heading(&experiment.name, level, out)?;
    writeln!(out, "{}; 95 % intervals are in brackets\n", experiment_rounds(experiment))?;
    writeln!(out, "{}", plain(&conclusion(experiment)))?;
    for table in tables(experiment) {
        writeln!(out)?;
        table.markdown(out)?;
    }
    resolution(experiment).map_or(Ok(()), |text| writeln!(out, "\n{text}"))?;
    if !experiment.causes.is_empty() {
        writeln!(out, "\n{CAUSES}:\n")?;
    }
    list(experiment.causes.iter().map(|cause| cause.text.as_str()), out)?;
    Ok(experiment.notes.iter().try_for_each(|note| writeln!(out, "\n{}", plain(note)))?)
}

/// Writes how to read the figures.
pub(crate) fn reading(out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "\n## How to read this")?;
    Ok(READING.iter().try_for_each(|paragraph| writeln!(out, "\n{paragraph}"))?)
}

/// Writes notes below a heading of this level, from 1; nothing if there are none.
pub(crate) fn notes(notes: &[String], level: usize, out: &mut dyn Write) -> Result<(), Error> {
    if !notes.is_empty() {
        heading("Notes", level, out)?;
    }
    list(notes.iter().map(String::as_str), out)
}

/// Writes a heading of this level, from 1.
pub(crate) fn heading(text: &str, level: usize, out: &mut dyn Write) -> Result<(), Error> {
    Ok(writeln!(out, "\n{} {}\n", "#".repeat(level), plain(text))?)
}

fn list<'t>(mut items: impl Iterator<Item = &'t str>, out: &mut dyn Write) -> Result<(), Error> {
    Ok(items.try_for_each(|item| writeln!(out, "- {}", plain(item)))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tests::record;

    #[test]
    fn the_report_has_every_figure_of_the_page_and_names_stay_text() {
        let mut record = record();
        record.experiments[0].arms[0].name = "<sealant>".to_owned();
        let text = collect(|out| write_bench_markdown("What it costs", &record, out)).unwrap();
        for wanted in [
            "# What it costs\n\nsealant ",
            "\nwith socat 1.7.4.4  \n",
            "\n## warm\n\n5 rounds, intervals narrow; 95 % intervals are in brackets\n",
            "\nsealant, 1 thread is 0.250 times as fast as read only (0.225 to 0.275)\n",
            "\n| arm | MB/s | seconds |\n|---|---:|---:|\n| &lt;sealant&gt; | 2000 (1800 to 2200) | 0.500 |\n",
            "\n| sealant, 1 thread / read only | 0.250 (0.225 to 0.275) |  |\n",
            "\n| sealant, 1 thread / read only | 1.0 to 4.0 | 75.0 (72.5 to 77.5) | +71.0 points |\n",
            "\nwhere the server's processor time goes:\n\n- read only, AES: no time is known\n",
            "\na note\n",
            "\n## How to read this\n\nArms are",
        ] {
            assert!(text.contains(wanted), "{wanted:?} is not in\n{text}");
        }
        assert!(!text.contains('\u{1b}'));
    }
}
