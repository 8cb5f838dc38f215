//! `docs/checks.md`: the reference of all checks, from their definitions.

use std::fmt::Write;

use audit::check::Check;
use audit::checks;

use crate::checks::exposed;

/// The reference of all checks, in Markdown.
#[must_use]
pub fn render_checks_reference() -> String {
    let mut text = String::from(
        "# Checks\n\nWritten by `make docs` from the table of checks; `sealant checks ID` prints the same.\n\n\
         | check | severity | what is wrong when it fails |\n|---|---|---|\n",
    );
    for check in checks::all() {
        let _ = writeln!(text, "| [`{0}`](#{0}) | {1} | {2} |", check.id, check.severity.as_str(), check.title);
    }
    checks::all().for_each(|check| section(&mut text, check));
    text
}

/// Writing to a `String` cannot fail.
fn section(text: &mut String, check: &Check) {
    let _ = writeln!(text, "\n## {}\n\n**{}** ({})\n", check.id, check.title, check.severity.as_str());
    let _ = writeln!(text, "{}\n", check.explanation);
    let _ = writeln!(text, "- Applies to: {}", check.applies);
    let _ = writeln!(text, "- Exposes: {}", exposed(check));
    let _ = writeln!(text, "- Fix: {}", check.fix);
    let _ = writeln!(text, "- Cost: {}", check.cost);
    let _ = writeln!(text, "- Closed by: {}", check.closed_by.as_str());
    if !check.standards.is_empty() {
        let _ = writeln!(text, "- Maps to: {}", check.standards.join("; "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_a_section_and_a_row() {
        let text = render_checks_reference();
        for check in checks::all() {
            assert!(text.contains(&format!("\n## {}\n", check.id)), "{}", check.id);
            assert!(text.contains(&format!("(#{})", check.id)), "{}", check.id);
        }
    }
}
