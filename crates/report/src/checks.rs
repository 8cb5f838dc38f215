//! Descriptions of the checks, for `sealant checks [ID]`.

use audit::check::Check;
use audit::checks::{self, AREAS};

use crate::catalogue;
use crate::text::{pad, wrap};
use crate::{Error, RenderOptions};

/// Every check with its severity and title, by area.
#[must_use]
pub fn render_checks_list(options: &RenderOptions) -> String {
    let all: Vec<&Check> = checks::all().collect();
    let widest = all.iter().map(|check| check.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for area in AREAS {
        text.push_str(&format!("{}\n", bold(area.title, options)));
        let here = area.checks.iter().chain(area.closing_checks);
        here.for_each(|check| text.push_str(&list_line(check, widest, options)));
        text.push('\n');
    }
    text.push_str(&format!("{} checks; `sealant checks ID` explains one\n", all.len()));
    text
}

fn list_line(check: &Check, widest: usize, options: &RenderOptions) -> String {
    let lead = format!("  {}  {}  ", pad(check.id, widest), pad(check.severity.as_str(), 8));
    let lines = wrap(check.title, options.width.saturating_sub(lead.len()).max(30));
    let indent = " ".repeat(lead.len());
    format!("{lead}{}\n", lines.join(&format!("\n{indent}")))
}

/// Everything known about one check.
///
/// # Errors
/// [`Error::UnknownCheck`], with the most similar ids.
pub fn render_check(id: &str, options: &RenderOptions) -> Result<String, Error> {
    let Some(check) = catalogue::row(id) else {
        return Err(Error::UnknownCheck { id: id.to_owned(), similar_ids: similar_ids(id) });
    };
    let mut text = format!("{} ({})\n{}\n", bold(check.id, options), check.severity.as_str(), check.title);
    let exposes = exposed(check);
    let parts = [
        ("", check.explanation),
        ("concerns", check.applies),
        ("exposes", &exposes),
        ("fix", check.fix),
        ("cost", check.cost),
        ("closed by", check.closed_by.as_str()),
    ];
    for (label, message) in parts.iter().filter(|(_, message)| !message.is_empty()) {
        text.push('\n');
        text.push_str(&paragraph(label, message, options));
    }
    text.push_str(&format!("\n{}\n", bold("maps to", options)));
    check.standards.iter().for_each(|standard| text.push_str(&format!("  {standard}\n")));
    if check.standards.is_empty() {
        text.push_str("  no standard\n");
    }
    Ok(text)
}

/// What a failure reveals, and to whom, in one line.
#[must_use]
pub(crate) fn exposed(check: &Check) -> String {
    match (check.exposes.text(), check.exposes.attacker()) {
        (Some(text), Some(attacker)) => format!("{text} (to {})", attacker.as_str()),
        _ => "nothing today".to_owned(),
    }
}

fn paragraph(label: &str, message: &str, options: &RenderOptions) -> String {
    let head = if label.is_empty() { String::new() } else { format!("{}\n", bold(label, options)) };
    let indent = if label.is_empty() { "" } else { "  " };
    let lines = wrap(message, options.width.max(40) - indent.len());
    let lines: Vec<String> = lines.iter().map(|line| format!("{indent}{line}\n")).collect();
    format!("{head}{}", lines.concat())
}

fn bold(text: &str, options: &RenderOptions) -> String {
    if options.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}

/// Ids that share words with `id`, the most similar first.
fn similar_ids(id: &str) -> Vec<&'static str> {
    let message: Vec<&str> = id.split(['-', '_', ' ']).filter(|word| !word.is_empty()).collect();
    let shared =
        |check: &Check| check.id.split('-').filter(|part| message.iter().any(|w| w.eq_ignore_ascii_case(part))).count();
    let mut ids: Vec<(usize, &'static str)> = checks::all().map(|check| (shared(check), check.id)).collect();
    ids.retain(|(shared, _)| *shared > 0 && shared * 2 >= message.len());
    // A stable sort: equally similar ids keep the order of the list.
    ids.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    ids.into_iter().take(3).map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_every_check_once() {
        let text = render_checks_list(&RenderOptions { width: 1000, ..RenderOptions::default() });
        for check in checks::all() {
            let lines = text.lines().filter(|line| line.split_whitespace().next() == Some(check.id));
            assert_eq!(lines.count(), 1, "{}", check.id);
        }
    }

    #[test]
    fn every_check_can_be_explained() {
        for check in checks::all() {
            let text = render_check(check.id, &RenderOptions::default()).unwrap();
            assert!(text.contains(check.title) && check.standards.iter().all(|s| text.contains(s)), "{text}");
        }
    }

    #[test]
    fn an_unknown_check_is_answered_with_its_neighbours() {
        let first = checks::all().next().unwrap().id;
        let Err(Error::UnknownCheck { similar_ids, .. }) =
            render_check(&first.replace('-', "_"), &RenderOptions::default())
        else {
            panic!("{first} with underscores must be unknown");
        };
        assert_eq!(similar_ids.first(), Some(&first));
    }
}
