//! Differences between two audits.

use std::io::Write;

use audit::diff::{Change, Drift};

use crate::text::{collect, count, visible};
use crate::{Error, Format, Message, RenderOptions, json};

/// Writes the differences as table or JSON.
///
/// # Errors
/// [`Error::NotForDrift`] for the other formats, [`Error::Write`].
pub fn write_drift(format: Format, drift: &Drift, options: &RenderOptions, out: &mut dyn Write) -> Result<(), Error> {
    match format {
        Format::Table => table(drift, options, out),
        Format::Json => json::pretty(drift, out),
        other => Err(Error::NotForDrift { name: other.name() }),
    }
}

/// Warning that the two audits are of different servers.
#[must_use]
pub fn two_servers_message(before: &str, after: &str) -> Message {
    Message::warning(format!("these are facts of two servers: {before} and {after}"))
}

/// Like [`write_drift`], but returns a string.
///
/// # Errors
/// Those of [`write_drift`].
pub fn render_drift(format: Format, drift: &Drift, options: &RenderOptions) -> Result<String, Error> {
    collect(|out| write_drift(format, drift, options, out))
}

/// Maximum number of changes of one kind in the table, unless `verbose`.
const MAX_LISTED: usize = 25;

fn table(drift: &Drift, options: &RenderOptions, out: &mut dyn Write) -> Result<(), Error> {
    let kinds = [
        ("NEW", "31", &drift.new),
        ("WORSE", "31", &drift.worse),
        ("NO LONGER SEEN", "33", &drift.lost),
        ("FIXED", "32", &drift.fixed),
    ];
    for (title, color_code, changes) in kinds.iter().filter(|(_, _, changes)| !changes.is_empty()) {
        let title = if options.color { format!("\x1b[1;{color_code}m{title}\x1b[0m") } else { (*title).to_owned() };
        writeln!(out, "{title}")?;
        let limit = if options.verbose { usize::MAX } else { MAX_LISTED };
        changes.iter().take(limit).try_for_each(|change| line(change, options, out))?;
        if changes.len() > limit {
            let ellipsis = if options.ascii { "..." } else { "…" };
            writeln!(out, "  {ellipsis} and {} more (see --format json)", changes.len() - limit)?;
        }
        writeln!(out)?;
    }
    let frozen = count(drift.unchanged, "failure");
    let [new, worse, lost, fixed] = kinds.map(|(_, _, changes)| changes.len());
    writeln!(out, "new: {new}, worse: {worse}, no longer seen: {lost}, fixed: {fixed}, unchanged: {frozen}")?;
    Ok(())
}

fn line(change: &Change, options: &RenderOptions, out: &mut dyn Write) -> Result<(), Error> {
    let arrow = if options.ascii { "->" } else { "→" };
    let side = |state: &Option<String>| state.clone().unwrap_or_else(|| "not there".to_owned());
    writeln!(out, "  {}  {}", visible(&change.id), visible(&change.artefact))?;
    writeln!(out, "    {} {arrow} {}: {}", side(&change.before), side(&change.after), visible(&change.message))?;
    Ok(())
}

#[cfg(test)]
mod tests {

    use findings::Severity;

    use super::*;

    fn drift() -> Drift {
        let change = |id: &str, before: Option<&str>, after: Option<&str>| Change {
            id: id.to_owned(),
            artefact: "demo/t\u{1b}1.ibd".to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            severity: Severity::High,
            message: "demo/t1.ibd is not encrypted".to_owned(),
        };
        Drift {
            new: vec![change("rest-table-plaintext", Some("PASS"), Some("FAIL high"))],
            fixed: vec![change("tls-not-required", Some("FAIL high"), None)],
            unchanged: 3,
            ..Drift::default()
        }
    }

    #[test]
    fn the_table_tells_before_and_after() {
        let text = render_drift(Format::Table, &drift(), &RenderOptions::default()).unwrap();
        let expected = "NEW\n  rest-table-plaintext  demo/t\\u{1b}1.ibd\n    \
            PASS → FAIL high: demo/t1.ibd is not encrypted\n\n\
            FIXED\n  tls-not-required  demo/t\\u{1b}1.ibd\n    \
            FAIL high → not there: demo/t1.ibd is not encrypted\n\n\
            new: 1, worse: 0, no longer seen: 0, fixed: 1, unchanged: 3 failures\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn json_is_the_drift_itself_and_other_formats_are_refused() {
        let text = render_drift(Format::Json, &drift(), &RenderOptions::default()).unwrap();
        assert_eq!(serde_json::from_str::<Drift>(&text).unwrap(), drift());
        let refused = render_drift(Format::Html, &drift(), &RenderOptions::default());
        assert!(matches!(refused, Err(Error::NotForDrift { name: "html" })));
    }
}
