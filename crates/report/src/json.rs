//! JSON for scripts, schema `sealant.audit/1`: the outcome, and its verdict in one sentence.

use std::io::{self, Write};

use audit::outcome::Outcome;
use serde::Serialize;

use crate::Error;
use crate::text::is_hidden;
use crate::verdict::{self, Verdict};

/// Writes the outcome.
///
/// # Errors
/// [`Error::Write`].
pub(crate) fn write(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    pretty(&Document { outcome, verdict: verdict::of_outcome(outcome) }, out)
}

/// The outcome's fields and the verdict.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    verdict: Verdict,
}

/// Writes a value as JSON that is safe to print: characters that control a terminal or change the direction of text are
/// written as `\u` escapes, which RFC 8259 does not require.
///
/// # Errors
/// [`Error::Write`].
pub(crate) fn pretty(value: &(impl Serialize + ?Sized), out: &mut dyn Write) -> Result<(), Error> {
    let mut careful = EscapingWriter(out);
    serde_json::to_writer_pretty(&mut careful, value)?;
    careful.0.write_all(b"\n")?;
    Ok(())
}

/// Writes a value as one line of JSON, as [`pretty`] does.
///
/// # Errors
/// [`Error::Write`].
pub(crate) fn line(value: &impl Serialize, out: &mut dyn Write) -> Result<(), Error> {
    let mut careful = EscapingWriter(out);
    serde_json::to_writer(&mut careful, value)?;
    careful.0.write_all(b"\n")?;
    Ok(())
}

/// Passes JSON on and escapes. The serializer writes whole pieces of UTF-8, and non-ASCII characters occur only inside
/// JSON strings.
struct EscapingWriter<'a>(&'a mut dyn Write);

impl Write for EscapingWriter<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if piece.iter().all(|byte| *byte < 0x7f) {
            self.0.write_all(piece)?;
            return Ok(piece.len());
        }
        match std::str::from_utf8(piece) {
            Ok(text) if text.chars().any(must_escape) => self.0.write_all(escaped(text).as_bytes())?,
            _ => self.0.write_all(piece)?,
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Characters that the serializer does not escape.
const fn must_escape(c: char) -> bool {
    c > '\u{7e}' && is_hidden(c)
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 12);
    for c in text.chars() {
        if must_escape(c) {
            let mut units = [0; 2];
            safe.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{AUDIT_SCHEMA, golden, rich, small, validate};
    use crate::text::collect;

    fn json(outcome: &Outcome) -> String {
        collect(|out| write(outcome, out)).unwrap()
    }

    #[test]
    fn the_outcome_fits_its_committed_schema() {
        for outcome in [rich(), small(), Outcome::empty("2026-11-20T12:00:00Z".parse().unwrap())] {
            validate(AUDIT_SCHEMA, &json(&outcome));
        }
    }

    #[test]
    fn the_schema_refuses_what_is_not_an_outcome() {
        let mut tree: serde_json::Value = serde_json::from_str(&json(&small())).unwrap();
        let schema: serde_json::Value = serde_json::from_str(AUDIT_SCHEMA).unwrap();
        tree["findings"][0]["status"] = "MAYBE".into();
        assert!(!jsonschema::is_valid(&schema, &tree));
        tree["findings"][0]["status"] = "FAIL".into();
        assert!(jsonschema::is_valid(&schema, &tree));
        tree["schema"] = "sealant.audit/2".into();
        assert!(!jsonschema::is_valid(&schema, &tree));
    }

    #[test]
    fn what_is_read_back_is_what_was_written() {
        let outcome = rich();
        let back: Outcome = serde_json::from_str(&json(&outcome)).unwrap();
        assert_eq!(back.findings, outcome.findings);
        assert_eq!(back.coverage, outcome.coverage);
        assert_eq!(back.servers, outcome.servers);
    }

    #[test]
    fn terminal_sequences_stay_escapes() {
        let safe = collect(|out| pretty(&"a\u{9b}31m\u{202e}\u{7f}\u{e0041}ö", out)).unwrap();
        assert_eq!(safe, "\"a\\u009b31m\\u202e\\u007f\\udb40\\udc41ö\"\n");
    }

    #[test]
    fn the_bytes_are_as_promised() {
        golden("small.json", &json(&small()));
    }
}
