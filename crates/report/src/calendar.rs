//! The backups of a host over time: for a terminal, as a page with a calendar, and as metrics.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use askama::Template;
use backup::calendar::{Calendar, Entry};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::html::content_security;
use crate::metrics::{head, sample};
use crate::text::visible;
use crate::{Error, Message, size};

pub(crate) const STYLE: &str =
    concat!(include_str!("../templates/bench.css"), include_str!("../templates/calendar.css"));

/// Messages below the table: faults, and what was not judged.
#[must_use]
pub fn calendar_messages(calendar: &Calendar) -> Vec<Message> {
    let mut messages = vec![Message::info(headline(calendar)), Message::info(restore_line(calendar))];
    messages.extend(problems(calendar).into_iter().map(Message::warning));
    if !calendar.signed {
        messages.push(Message::hint("signatures were not verified: give --allowed-signers"));
    }
    messages
}

/// Writes the backups, a line for each.
///
/// # Errors
/// [`Error::Write`].
pub fn write_calendar_table(calendar: &Calendar, out: &mut dyn Write) -> Result<(), Error> {
    let head = ["number", "ended", "kind", "state", "data", "stored", "restored"];
    let line = |out: &mut dyn Write, cells: [&str; 7]| {
        let [number, ended, kind, state, data, stored, restored] = cells;
        writeln!(out, "{number:>6}  {ended:16}  {kind:11}  {state:22}  {data:>10}  {stored:>10}  {restored}")
    };
    line(out, head)?;
    for entry in &calendar.backups {
        let cells = row(entry);
        line(out, [0, 1, 2, 3, 4, 5, 6].map(|column: usize| cells.get(column).map_or("", String::as_str)))?;
    }
    Ok(())
}

#[derive(Template)]
#[template(path = "calendar.html")]
struct Page<'c> {
    policy: String,
    style: &'static str,
    host: String,
    healthy: bool,
    facts: Vec<String>,
    problems: Vec<String>,
    months: Vec<Month>,
    rows: Vec<[String; 7]>,
    calendar: &'c Calendar,
}

/// A month of the calendar, in weeks of seven days; a day of another month is `None`.
struct Month {
    name: String,
    weeks: Vec<[Option<Day>; 7]>,
}

struct Day {
    number: i8,
    /// CSS class of the cell, and a symbol for readers without colour.
    state: &'static str,
    sign: &'static str,
    title: String,
}

/// Writes a page with the calendar. It loads no other resource and runs no script.
///
/// # Errors
/// [`Error::Write`], [`Error::Template`].
pub fn write_calendar_html(calendar: &Calendar, out: &mut dyn Write) -> Result<(), Error> {
    let signed = if calendar.signed { "Signatures were verified." } else { "Signatures were not verified." };
    let stored: u64 = calendar.backups.iter().map(|entry| entry.listed.stored).sum();
    let stored = format!("Backups: {}; stored: {}.", calendar.backups.len(), size(stored));
    let read = format!("Read at {}. {signed}", minute(calendar.at));
    let page = Page {
        policy: content_security(STYLE, ""),
        style: STYLE,
        host: visible(&calendar.host).into_owned(),
        healthy: calendar.is_healthy(),
        facts: vec![sentence(&headline(calendar)), sentence(&restore_line(calendar)), stored, read],
        problems: problems(calendar),
        months: months(&calendar.backups),
        rows: calendar.backups.iter().rev().map(row).collect(),
        calendar,
    };
    Ok(out.write_all(page.render()?.as_bytes())?)
}

/// Writes gauges of hosts for node_exporter's textfile collector.
///
/// # Errors
/// [`Error::Write`].
pub fn write_calendar_metrics(calendars: &[Calendar], out: &mut dyn Write) -> Result<(), Error> {
    let mut gauges = Gauges::default();
    for calendar in calendars {
        gauges.add_all(calendar)?;
    }
    for Gauge { name, help, samples } in gauges.0 {
        head(out, &name, help)?;
        out.write_all(&samples)?;
    }
    Ok(())
}

/// A gauge with the samples of several hosts, which follow its only head.
struct Gauge {
    name: String,
    help: &'static str,
    samples: Vec<u8>,
}

#[derive(Default)]
struct Gauges(Vec<Gauge>);

impl Gauges {
    /// Adds samples of a host, each with a further label if there are several.
    fn add(
        &mut self,
        host: &str,
        name: &str,
        help: &'static str,
        values: &[(Option<(&str, &str)>, f64)],
    ) -> Result<(), Error> {
        let name = format!("sealant_backup_{name}");
        let index = self.0.iter().position(|gauge| gauge.name == name).unwrap_or(self.0.len());
        if index == self.0.len() {
            self.0.push(Gauge { name, help, samples: Vec::new() });
        }
        let Some(Gauge { name, samples, .. }) = self.0.get_mut(index) else { return Ok(()) };
        values.iter().try_for_each(|(label, value)| {
            let labels: Vec<_> = [("host", host)].into_iter().chain(*label).collect();
            sample(samples, name, &labels, value)
        })
    }

    fn add_all(&mut self, calendar: &Calendar) -> Result<(), Error> {
        let mut gauge =
            |name: &str, help, values: &[(Option<(&str, &str)>, f64)]| self.add(&calendar.host, name, help, values);
        gauge("objects_bad", "Objects that are missing or wrong.", &[(None, calendar.bad.len() as f64)])?;
        gauge("chain_breaks", "Breaks of the chain of receipts.", &[(None, calendar.chain.len() as f64)])?;
        if let Some(good) = calendar.newest_good() {
            let ended = good.listed.ended.as_second() as f64;
            let help = "When the newest good backup was complete, Unix time.";
            gauge("last_good_timestamp_seconds", help, &[(None, ended)])?;
            if let Some(end) = good.listed.locked_until {
                let help = "When the first lock of the newest good backup's receipt and manifest ends, Unix time.";
                gauge("locked_until_timestamp_seconds", help, &[(None, end.as_second() as f64)])?;
            }
        }
        if let Some(logs) = calendar.binlogs {
            let help = "Number of times that binary logs were lost before they were archived.";
            gauge("binlog_gap", help, &[(None, logs.gaps as f64)])?;
            if let Some(newest) = logs.newest {
                let seconds = calendar.at.duration_since(newest).as_secs_f64().max(0.0);
                let help = "Age of the newest archived event of the binary logs; a server without changes logs none.";
                gauge("binlog_lag_seconds", help, &[(None, seconds)])?;
            }
        }
        if let Some(Entry { listed, began, phases, pages, unproven_recipients, .. }) = calendar.backups.last() {
            let seconds = listed.ended.duration_since(*began).as_secs_f64();
            gauge("number", "Number of the newest backup.", &[(None, listed.number as f64)])?;
            let bytes = [("data", listed.bytes), ("stored", listed.stored)];
            gauge(
                "bytes",
                "Size of the newest backup.",
                &bytes.map(|(what, bytes)| (Some(("what", what)), bytes as f64)),
            )?;
            let of_phase = |phase, milliseconds| (Some(("phase", phase)), milliseconds as f64 / 1000.0);
            let phases = phases.map(|phases| [of_phase("copy", phases.copy_ms), of_phase("store", phases.store_ms)]);
            let seconds: Vec<_> =
                [(Some(("phase", "all")), seconds)].into_iter().chain(phases.into_iter().flatten()).collect();
            gauge("seconds", "Duration of the newest backup; `all` does not include the copy.", &seconds)?;
            let pages = [
                ("seen", pages.seen),
                ("changed", pages.changed),
                ("damaged", pages.damaged),
                ("unproven", pages.unproven),
            ];
            let pages = pages.map(|(what, pages)| (Some(("what", what)), pages as f64));
            gauge("pages", "Pages of the newest backup.", &pages)?;
            let help = "Recipients of the newest backup whose identity nobody has proven to have.";
            gauge("unproven", help, &[(None, *unproven_recipients as f64)])?;
        }
        if let Some((_, restore)) = calendar.newest_proven_restore() {
            let help = "When the newest restore that a server has proven ended, Unix time.";
            gauge("restore_test_timestamp_seconds", help, &[(None, restore.ended.as_second() as f64)])?;
            let seconds = restore.rto_s.unwrap_or(restore.seconds);
            gauge("restore_test_seconds", "How long that restore took, with the recovery.", &[(None, seconds)])?;
        }
        Ok(())
    }
}

/// The age of the newest good backup.
fn headline(calendar: &Calendar) -> String {
    match (calendar.newest_good(), calendar.age_seconds) {
        (Some(good), Some(age)) => {
            let age = duration(age as f64);
            format!("the newest good backup is {}, {age} old", good.listed.number)
        }
        _ if calendar.backups.is_empty() => "there is no backup".to_owned(),
        _ => "no backup is good".to_owned(),
    }
}

/// The newest restore that a server proved.
fn restore_line(calendar: &Calendar) -> String {
    let Some((entry, restore)) = calendar.newest_proven_restore() else {
        return "no restore is known that a server has proven".to_owned();
    };
    let time = duration(restore.rto_s.unwrap_or(restore.seconds));
    let number = entry.listed.number;
    format!("backup {number} was restored and proven by a server at {}; time to recover: {time}", minute(restore.ended))
}

pub(crate) fn problems(calendar: &Calendar) -> Vec<String> {
    let mut problems = Vec::new();
    if let (true, Some(most)) = (calendar.too_old, calendar.max_age_seconds) {
        problems
            .push(format!("a good backup has to be younger than {}: run `sealant backup run`", duration(most as f64)));
    }
    problems.extend(calendar.bad.iter().map(|bad| visible(&format!("{}: {}", bad.object, bad.what)).into_owned()));
    problems.extend(calendar.chain.iter().map(|found| visible(found).into_owned()));
    let newest = calendar.backups.last();
    if let Some(newest) = newest.filter(|newest| newest.unproven_recipients > 0) {
        let count = newest.unproven_recipients;
        problems.push(format!(
            "nobody has proven possession of the identity of {count} recipients: see `sealant backup init`"
        ));
    }
    problems.extend(newest.iter().flat_map(|newest| newest.findings.iter().map(|one| visible(&one.text).into_owned())));
    problems
}

/// Columns: number, end, kind, state, size of the data, stored size, newest restore.
fn row(entry: &Entry) -> [String; 7] {
    let listed = &entry.listed;
    let restored = entry.restores.last().map_or_else(String::new, |restore| {
        let verdict = if restore.proven { "proven" } else { "not proven" };
        let time = duration(restore.rto_s.unwrap_or(restore.seconds));
        format!("{}, {verdict}, in {time}", minute(restore.ended))
    });
    [
        listed.number.to_string(),
        minute(listed.ended),
        listed.kind.as_str().to_owned(),
        state(entry),
        size(listed.bytes),
        size(listed.stored),
        restored,
    ]
}

fn state(entry: &Entry) -> String {
    let pages = entry.pages;
    match (entry.listed.good, pages.damaged, pages.unproven) {
        (true, ..) => "good".to_owned(),
        (_, 1.., _) => format!("damaged pages: {}", pages.damaged),
        (_, _, 1..) => format!("unproven pages: {}", pages.unproven),
        _ => "objects missing".to_owned(),
    }
}

/// The months from the first backup to the last, newest first.
fn months(backups: &[Entry]) -> Vec<Month> {
    let mut days: BTreeMap<Date, Vec<&Entry>> = BTreeMap::new();
    for entry in backups {
        days.entry(entry.listed.ended.to_zoned(TimeZone::UTC).date()).or_default().push(entry);
    }
    let (Some(first), Some(last)) = (days.keys().next(), days.keys().next_back()) else { return Vec::new() };
    let (first, mut month) = (first.first_of_month(), last.first_of_month());
    let mut months = Vec::new();
    while month >= first {
        months.push(Month::new(month, &days));
        let Ok(before) = month.yesterday() else { break };
        month = before.first_of_month();
    }
    months
}

impl Month {
    fn new(first: Date, days: &BTreeMap<Date, Vec<&Entry>>) -> Self {
        let mut weeks = Vec::new();
        let mut week: [Option<Day>; 7] = Default::default();
        for number in 1..=first.days_in_month() {
            let Ok(date) = Date::new(first.year(), first.month(), number) else { break };
            let column = usize::try_from(date.weekday().to_monday_zero_offset()).unwrap_or_default();
            if let Some(cell) = week.get_mut(column) {
                let is_covered = days.range(..date).next().is_some() && days.range(date..).next().is_some();
                *cell = Some(Day::new(date, days.get(&date).map_or(&[][..], Vec::as_slice), is_covered));
            }
            if column == 6 {
                weeks.push(std::mem::take(&mut week));
            }
        }
        if week.iter().any(Option::is_some) {
            weeks.push(week);
        }
        Self { name: first.strftime("%B %Y").to_string(), weeks }
    }
}

impl Day {
    /// `is_covered`: whether there are earlier and later backups.
    fn new(date: Date, backups: &[&Entry], is_covered: bool) -> Self {
        let good = backups.iter().filter(|entry| entry.listed.good).count();
        let proven = backups.iter().any(|entry| entry.restores.iter().any(|restore| restore.proven));
        let (state, sign) = match (backups.len(), good) {
            (0, _) if is_covered => ("none", "–"),
            (0, _) => ("none", ""),
            _ if proven => ("proven", "✓✓"),
            (_, 0) => ("bad", "!"),
            _ => ("good", "✓"),
        };
        let restored = if proven { ", restored" } else { "" };
        let title = match backups.len() {
            0 => format!("{date}: no backup"),
            all => format!("{date}: {good} of {all} backups good{restored}"),
        };
        Self { number: date.day(), state, sign, title }
    }
}

pub(crate) fn minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// A duration in its largest useful unit.
pub(crate) fn duration(seconds: f64) -> String {
    let units = [(86_400.0, "days"), (3_600.0, "h"), (60.0, "min")];
    match units.into_iter().find(|(unit, _)| seconds >= 2.0 * unit) {
        Some((unit, name)) => format!("{:.0} {name}", seconds / unit),
        None => format!("{:.1} s", Duration::from_secs_f64(seconds.max(0.0)).as_secs_f64()),
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

#[cfg(test)]
pub(crate) mod tests {
    use archive::chain::Link;
    use archive::receipt::{Bytes, Kind, Object, Pages, Phases};
    use archive::{Digest, Receipt};
    use backup::calendar::read_restores;
    use backup::check::Checked;
    use backup::windows::ArchivedLogs;

    use super::*;
    use crate::testing::assert_page;
    use crate::text::collect;

    fn link(number: u64, ended: &str, damaged: u64) -> Link {
        let ended: Timestamp = ended.parse().unwrap();
        let receipt = Receipt {
            schema: archive::receipt::SCHEMA.to_owned(),
            repo: "0".repeat(32),
            host: "db<1>".to_owned(),
            number,
            kind: Kind::Backup,
            previous: None,
            began: ended,
            ended,
            phases: (number == 3).then_some(Phases { copy_ms: 1500, store_ms: 20_000 }),
            full: number == 1,
            server_uuid: None,
            provider: "stopped".to_owned(),
            manifest: Object { sha256: Digest::compute(b"manifest"), bytes: 8 },
            keys: None,
            packs: Vec::new(),
            bytes: Bytes { data: 1 << 30, stored: 1 << 28, ..Bytes::default() },
            pages: Pages { seen: 10, damaged, ..Pages::default() },
            recipients: Vec::new(),
            key_recipients: Vec::new(),
            unproven_recipients: Vec::new(),
            findings: Vec::new(),
            tool: "sealant".to_owned(),
        };
        Link { sha256: Digest::compute(&number.to_le_bytes()), receipt: receipt.summary() }
    }

    /// Two good backups, of which the first was restored, and a newer one that is damaged.
    pub(crate) fn calendar(max_age: u64) -> Calendar {
        let checked = Checked { logs: Some(logs()), ..Checked::default() };
        let links = [
            link(1, "2026-09-30T23:59:59Z", 0),
            link(2, "2026-11-23T01:00:00Z", 0),
            link(3, "2026-11-24T01:00:00Z", 1),
        ];
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("restores");
        let record = format!(
            r#"{{"schema":"sealant.restore/1","receipt":"{}","ended":"2026-10-05T03:04:00Z","seconds":100,"rto_s":130,
            "pages":{{"bad":0,"unproven":0}},"proof":{{"bad":[],"bad_pages":0}}}}"#,
            links[0].sha256
        );
        std::fs::write(&path, format!("{}\n", record.replace('\n', ""))).unwrap();
        let restores = read_restores(&path).unwrap();
        let at = "2026-11-24T02:00:00Z".parse().unwrap();
        let mut calendar =
            Calendar::new("db<1>", (&checked, &links), &restores, at, Some(Duration::from_secs(max_age)));
        calendar.backups[1].listed.locked_until = Some("2026-12-07T01:00:00Z".parse().unwrap());
        calendar
    }

    /// Of a host without backups.
    pub(crate) fn empty(host: &str) -> Calendar {
        let at = "2026-11-24T02:00:00Z".parse().unwrap();
        Calendar::new(host, (&Checked::default(), &[]), &[], at, None)
    }

    fn logs() -> ArchivedLogs {
        ArchivedLogs { newest: Some("2026-11-24T01:59:50Z".parse().unwrap()), gaps: 2 }
    }

    #[test]
    fn the_page_marks_every_day_and_loads_nothing() {
        let page = collect(|out| write_calendar_html(&calendar(3600), out)).unwrap();
        assert_page(&page, STYLE);
        for wanted in [
            "Backups of db&#60;1&#62;: not healthy",
            "The newest good backup is 2, 25 h old.",
            "time to recover: 2 min.",
            "a good backup has to be younger than 60 min",
            "<h3>September 2026</h3>",
            "<h3>October 2026</h3>",
            "<h3>November 2026</h3>",
            r#"<td class="proven" title="2026-09-30: 1 of 1 backups good, restored">30<b>✓✓</b></td>"#,
            r#"<td class="good" title="2026-11-23: 1 of 1 backups good">23<b>✓</b></td>"#,
            r#"<td class="bad" title="2026-11-24: 0 of 1 backups good">24<b>!</b></td>"#,
            r#"<td class="none" title="2026-10-01: no backup">1<b>–</b></td>"#,
            r#"<td class="none" title="2026-11-25: no backup">25<b></b></td>"#,
            "<td>damaged pages: 1</td>",
        ] {
            assert!(page.contains(wanted), "{wanted:?} is not in\n{page}");
        }
        let days = page.matches("<b>").count();
        assert_eq!(days, 30 + 31 + 30);
    }

    #[test]
    fn the_table_and_the_metrics_say_the_same() {
        let calendar = calendar(200_000);
        assert!(calendar.is_healthy());
        let table = collect(|out| write_calendar_table(&calendar, out)).unwrap();
        assert_eq!(table.lines().count(), 4, "{table}");
        assert!(table.lines().nth(3).is_some_and(|line| line.contains("damaged pages: 1")), "{table}");
        let metrics = collect(|out| write_calendar_metrics(std::slice::from_ref(&calendar), out)).unwrap();
        for wanted in [
            "sealant_backup_last_good_timestamp_seconds{host=\"db<1>\"} 1795395600\n",
            "sealant_backup_number{host=\"db<1>\"} 3\n",
            "sealant_backup_pages{host=\"db<1>\",what=\"damaged\"} 1\n",
            "sealant_backup_seconds{host=\"db<1>\",phase=\"copy\"} 1.5\n",
            "sealant_backup_seconds{host=\"db<1>\",phase=\"store\"} 20\n",
            "sealant_backup_restore_test_seconds{host=\"db<1>\"} 130\n",
            "sealant_backup_locked_until_timestamp_seconds{host=\"db<1>\"} 1796605200\n",
            "sealant_backup_binlog_gap{host=\"db<1>\"} 2\n",
            "sealant_backup_binlog_lag_seconds{host=\"db<1>\"} 10\n",
        ] {
            assert!(metrics.contains(wanted), "{wanted:?} is not in\n{metrics}");
        }
    }
}
