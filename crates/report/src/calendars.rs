//! The backups of all hosts of a repository: for a terminal, and as a page. A line for each host.

use std::io::Write;

use askama::Template;
use backup::calendar::Calendar;

use crate::calendar::{STYLE, duration, minute, problems};
use crate::html::content_security;
use crate::text::{count, visible};
use crate::{Error, Message, size};

/// Columns of the table.
const HEAD: [&str; 7] = ["host", "state", "newest good", "age", "proven restore", "backups", "stored"];

/// Whether each host has backups, and nothing is wrong with them. A host that an earlier prune has seen, and that has
/// none any more, was removed or is hidden.
#[must_use]
pub fn calendars_are_healthy(calendars: &[Calendar]) -> bool {
    calendars.iter().all(is_healthy)
}

fn is_healthy(calendar: &Calendar) -> bool {
    calendar.is_healthy() && !calendar.backups.is_empty()
}

/// Messages below the table: what is wrong with each host, and what was not judged.
#[must_use]
pub fn calendars_messages(calendars: &[Calendar]) -> Vec<Message> {
    let mut messages = vec![Message::info(headline(calendars))];
    messages.extend(problems_of_all(calendars).into_iter().map(Message::warning));
    messages
}

/// Writes a line for each host.
///
/// # Errors
/// [`Error::Write`].
pub fn write_calendars_table(calendars: &[Calendar], out: &mut dyn Write) -> Result<(), Error> {
    let rows: Vec<[String; 7]> = calendars.iter().map(row).collect();
    let widest = rows.iter().map(|[host, ..]| host.chars().count()).max().unwrap_or_default().max(HEAD[0].len());
    let line = |out: &mut dyn Write, [host, state, good, age, restored, backups, stored]: [&str; 7]| {
        writeln!(out, "{host:widest$}  {state:11}  {good:>11}  {age:>8}  {restored:16}  {backups:>7}  {stored:>10}")
    };
    line(out, HEAD)?;
    for row in &rows {
        line(out, row.each_ref().map(String::as_str))?;
    }
    Ok(())
}

#[derive(Template)]
#[template(path = "calendars.html")]
struct Page {
    policy: String,
    style: &'static str,
    healthy: bool,
    headline: String,
    problems: Vec<String>,
    head: [&'static str; 7],
    rows: Vec<[String; 7]>,
}

/// Writes a page with a table of the hosts. It loads no other resource and runs no script.
///
/// # Errors
/// [`Error::Write`], [`Error::Template`].
pub fn write_calendars_html(calendars: &[Calendar], out: &mut dyn Write) -> Result<(), Error> {
    let page = Page {
        policy: content_security(STYLE, ""),
        style: STYLE,
        healthy: calendars_are_healthy(calendars),
        headline: headline(calendars),
        problems: problems_of_all(calendars),
        head: HEAD,
        rows: calendars.iter().map(row).collect(),
    };
    Ok(out.write_all(page.render()?.as_bytes())?)
}

fn headline(calendars: &[Calendar]) -> String {
    let bad = calendars.iter().filter(|calendar| !is_healthy(calendar)).count();
    let read = calendars.iter().map(|calendar| calendar.at).min();
    let read = read.map_or_else(String::new, |at| format!(", read at {}", minute(at)));
    format!("{}, {bad} not healthy{read}", count(calendars.len(), "host"))
}

fn problems_of_all(calendars: &[Calendar]) -> Vec<String> {
    let of_host = |calendar: &Calendar| {
        let gone = calendar.backups.is_empty().then(|| "it has no backup any more".to_owned());
        let host = visible(&calendar.host).into_owned();
        gone.into_iter().chain(problems(calendar)).map(move |problem| format!("{host}: {problem}")).collect::<Vec<_>>()
    };
    calendars.iter().flat_map(of_host).collect()
}

/// The columns of [`HEAD`].
fn row(calendar: &Calendar) -> [String; 7] {
    let good = calendar.newest_good();
    let stored = calendar.backups.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.listed.stored));
    [
        visible(&calendar.host).into_owned(),
        if is_healthy(calendar) { "healthy" } else { "not healthy" }.to_owned(),
        good.map_or_else(|| "none".to_owned(), |good| good.listed.number.to_string()),
        calendar.age_seconds.map_or_else(String::new, |age| duration(age as f64)),
        calendar.newest_proven_restore().map_or_else(|| "never".to_owned(), |(_, restore)| minute(restore.ended)),
        calendar.backups.len().to_string(),
        size(stored),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::tests::{calendar, empty};
    use crate::testing::assert_page;
    use crate::text::collect;
    use crate::{write_calendar_metrics, write_calendar_table};

    #[test]
    fn every_host_has_a_line_and_its_problems_its_name() {
        let calendars = [calendar(200_000), calendar(3600), empty("gone")];
        assert!(!calendars_are_healthy(&calendars) && calendars_are_healthy(&calendars[..1]));
        let table = collect(|out| write_calendars_table(&calendars, out)).unwrap();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 4, "{table}");
        for (line, state) in [(1, "healthy"), (2, "not healthy"), (3, "not healthy")] {
            assert!(lines[line].contains(state) && lines[line].chars().count() == lines[0].chars().count(), "{table}");
        }
        assert!(lines[1].contains("25 h") && lines[1].contains("2026-10-05 03:04"), "{table}");
        assert!(lines[3].starts_with("gone") && lines[3].contains("none") && lines[3].contains("never"), "{table}");
        let messages: Vec<String> =
            calendars_messages(&calendars).iter().map(|message| format!("{message:?}")).collect();
        assert!(messages[0].contains("3 hosts, 2 not healthy, read at 2026-11-24 02:00"), "{messages:?}");
        assert!(messages.iter().any(|message| message.contains("db<1>: a good backup has to be younger")));
        assert!(messages.iter().any(|message| message.contains("gone: it has no backup any more")));
        assert!(!collect(|out| write_calendar_table(&calendars[0], out)).unwrap().is_empty());
    }

    #[test]
    fn the_page_loads_nothing_and_escapes_names() {
        let page = collect(|out| write_calendars_html(&[calendar(3600), empty("gone")], out)).unwrap();
        assert_page(&page, STYLE);
        assert!(
            page.contains("<td>db&#60;1&#62;</td>") && page.contains("Backups of all hosts: not healthy"),
            "{page}"
        );
    }

    #[test]
    fn the_metrics_of_all_hosts_have_each_head_once() {
        let metrics = collect(|out| write_calendar_metrics(&[calendar(3600), empty("gone")], out)).unwrap();
        for wanted in [
            "sealant_backup_objects_bad{host=\"db<1>\"} 0\nsealant_backup_objects_bad{host=\"gone\"} 0\n",
            "# TYPE sealant_backup_last_good_timestamp_seconds gauge\nsealant_backup_last_good_timestamp_seconds{host=\"db<1>\"} ",
        ] {
            assert!(metrics.contains(wanted), "{wanted:?} is not in\n{metrics}");
        }
        let heads: Vec<&str> = metrics.lines().filter(|line| line.starts_with("# TYPE ")).collect();
        let once: std::collections::BTreeSet<&&str> = heads.iter().collect();
        assert_eq!(once.len(), heads.len(), "{metrics}");
    }
}
