//! The terminal table: coverage map, then failures with remedies, then blind spots.

use std::io::Write;

use audit::finding::{Evidence, Finding, Status};
use audit::outcome::{Outcome, Server};
use findings::Severity;

use crate::fleet::server_results;
use crate::group::{BlindSpot, Group, blind_spots, by_check, line};
use crate::text::{columns, count, fit, fit_name, number, pad, visible, visible_lines, wrap};
use crate::verdict::{self, Tone};
use crate::{Error, RenderOptions, labels};

mod coverage;
mod paint;

use paint::{Paint, TextStyle};

/// Maximum number of examples of each finding, without and with `verbose`.
const EXAMPLES: (usize, usize) = (3, 25);
/// Maximum number of servers in the list, without and with `verbose`.
const SERVERS: (usize, usize) = (15, 200);

/// Writes the table.
///
/// # Errors
/// [`Error::Write`].
pub(crate) fn write(outcome: &Outcome, options: &RenderOptions, out: &mut dyn Write) -> Result<(), Error> {
    let mut table = Table { outcome, options, paint: Paint::new(options), width: options.width.max(40), out };
    table.header()?;
    table.verdict()?;
    table.map()?;
    table.servers()?;
    if !options.summary {
        table.failures()?;
        table.listed(Status::Waived, "WAIVED")?;
        if options.show_passes {
            table.listed(Status::Pass, "PASSED")?;
        }
        table.blind()?;
    }
    table.summary()
}

struct Table<'a> {
    outcome: &'a Outcome,
    options: &'a RenderOptions,
    paint: Paint,
    width: usize,
    out: &'a mut dyn Write,
}

impl Table<'_> {
    fn header(&mut self) -> Result<(), Error> {
        let when = labels::minute(self.outcome.judged_at);
        match self.outcome.servers.as_slice() {
            [server] => self.one_server(server, &when),
            many => {
                let title = format!("sealant audit of {}", count(many.len(), "server"));
                self.spread(&title, &when)
            }
        }
    }

    fn one_server(&mut self, server: &Server, when: &str) -> Result<(), Error> {
        self.spread(&visible(&server.target), when)?;
        if let Some(error) = &server.error {
            return self.paragraph("", &format!("could not be audited: {}", visible(error)), TextStyle::Bad);
        }
        let account = server.account.as_ref().map(|account| format!("as {account}"));
        let parts = [Some(labels::product(server)), server.hostname.clone(), server.datadir.clone(), account];
        let parts: Vec<String> = parts.iter().flatten().map(|part| visible(part).into_owned()).collect();
        self.paragraph("", &parts.join(self.paint.separator()), TextStyle::Plain)?;
        self.paragraph("evidence: ", &labels::evidence_used(server.scope), TextStyle::Dim)
    }

    /// `left` in bold and `right` at the end of the same line, or on the next line if the width is too small.
    fn spread(&mut self, left: &str, right: &str) -> Result<(), Error> {
        let gap = self.width.saturating_sub(columns(left) + columns(right));
        if gap < 2 {
            self.paragraph("", left, TextStyle::Bold)?;
            return self.paragraph("", right, TextStyle::Dim);
        }
        let (bold, dim) = (self.paint.text(TextStyle::Bold, left), self.paint.text(TextStyle::Dim, right));
        writeln!(self.out, "{bold}{:gap$}{dim}", "")?;
        Ok(())
    }

    fn verdict(&mut self) -> Result<(), Error> {
        let verdict = verdict::of_outcome(self.outcome);
        let style = match verdict.tone {
            Tone::Bad => TextStyle::Bad,
            Tone::Unsure => TextStyle::Warn,
            Tone::Good => TextStyle::Good,
        };
        writeln!(self.out)?;
        self.paragraph("", &verdict.sentence, style)
    }

    fn servers(&mut self) -> Result<(), Error> {
        if self.outcome.servers.len() < 2 {
            return Ok(());
        }
        let all = server_results(self.outcome);
        let most = self.most(SERVERS);
        let widest = all.iter().take(most).map(|s| columns(&visible(&s.server.target))).max().unwrap_or(0);
        let name = widest.clamp(8, self.width.saturating_sub(41).max(8));
        let head = format!("{}  critical  high  medium  low  not seen", pad("SERVERS", name + 2));
        writeln!(self.out, "\n{}", self.paint.text(TextStyle::Bold, &head))?;
        for results in all.iter().take(most) {
            let target = visible(&results.server.target);
            let target = pad(&fit_name(&target, name, self.paint.ellipsis()), name);
            if let Some(error) = &results.server.error {
                let error = visible(error);
                let error = fit(&error, self.width.saturating_sub(name + 4), self.paint.ellipsis()).into_owned();
                writeln!(self.out, "  {target}  {}", self.paint.text(TextStyle::Bad, &error))?;
                continue;
            }
            let failures = |severity| number(results.failures(severity));
            writeln!(
                self.out,
                "  {target}  {:>8}  {:>4}  {:>6}  {:>3}  {:>8}",
                failures(Severity::Critical),
                failures(Severity::High),
                failures(Severity::Medium),
                failures(Severity::Low),
                number(results.unknown())
            )?;
        }
        self.and_more(all.len().saturating_sub(most), "  ")
    }

    fn failures(&mut self) -> Result<(), Error> {
        let groups = by_check(self.outcome.findings.iter(), Status::Fail);
        let shown: Vec<_> = groups.iter().filter(|group| group.severity >= self.options.least).collect();
        let mut last = None;
        for group in &shown {
            if last != Some(group.severity) {
                let head =
                    self.paint.text(TextStyle::for_severity(group.severity), &group.severity.as_str().to_uppercase());
                writeln!(self.out, "\n{head}")?;
                last = Some(group.severity);
            }
            self.group(group)?;
        }
        if shown.len() < groups.len() {
            let less = count(groups.len() - shown.len(), "less severe check");
            self.paragraph("", &format!("{less} failed, too (not shown)"), TextStyle::Dim)?;
        }
        Ok(())
    }

    fn group(&mut self, group: &Group<'_>) -> Result<(), Error> {
        let many =
            if group.findings.len() > 1 { format!(" ({})", number(group.findings.len())) } else { String::new() };
        let fleet = self.outcome.servers.len() > 1 && group.servers() > 1;
        let on = if fleet { format!(" on {}", count(group.servers(), "server")) } else { String::new() };
        writeln!(self.out, "  {}{many}{on}", self.paint.text(TextStyle::Bold, &visible(group.id)))?;
        if group.findings.len() > 1 && group.title() != group.id {
            self.paragraph("    ", group.title(), TextStyle::Plain)?;
        }
        self.examples(group)?;
        self.fix(group)
    }

    fn examples(&mut self, group: &Group<'_>) -> Result<(), Error> {
        let most = self.most(EXAMPLES);
        for finding in group.findings.iter().take(most) {
            self.example(finding)?;
        }
        self.and_more(group.findings.len().saturating_sub(most), "    ")
    }

    fn example(&mut self, finding: &Finding) -> Result<(), Error> {
        let at = if self.outcome.servers.len() > 1 { format!("{}: ", visible(&finding.server)) } else { String::new() };
        let grade = finding.grade.map_or_else(String::new, |grade| format!(" [{}]", grade.as_str()));
        self.paragraph(
            &format!("    {} ", self.paint.bullet()),
            &format!("{at}{}{grade}", line(finding)),
            TextStyle::Plain,
        )?;
        if let Some(waiver) = &finding.waiver {
            self.paragraph("      waived: ", &visible(waiver), TextStyle::Dim)?;
        }
        if self.options.verbose {
            for evidence in &finding.evidence {
                self.paragraph("      ", &evidence_line(evidence), TextStyle::Dim)?;
            }
        }
        Ok(())
    }

    fn fix(&mut self, group: &Group<'_>) -> Result<(), Error> {
        let finding = group.first();
        let Some(fix) = &finding.remediation else { return Ok(()) };
        let mut begin = "    fix: ";
        for line in group.own_fix().as_deref().into_iter().chain(visible_lines(fix).lines()) {
            self.paragraph(begin, line, TextStyle::Command)?;
            begin = "         ";
        }
        if group.findings.iter().any(|other| other.remediation != finding.remediation) {
            self.paragraph("         ", "(for the first one; the others are similar)", TextStyle::Dim)?;
        }
        if let Some(cost) = finding.cost.as_deref().filter(|_| self.options.verbose) {
            self.paragraph("    cost: ", &visible(cost), TextStyle::Dim)?;
        }
        Ok(())
    }

    fn listed(&mut self, status: Status, title: &str) -> Result<(), Error> {
        let groups = by_check(self.outcome.findings.iter(), status);
        if groups.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "\n{}", self.paint.text(TextStyle::Bold, title))?;
        for group in &groups {
            writeln!(self.out, "  {}", visible(group.id))?;
            self.examples(group)?;
        }
        Ok(())
    }

    fn blind(&mut self) -> Result<(), Error> {
        let spots = blind_spots(self.outcome);
        if spots.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "\n{}", self.paint.text(TextStyle::Bold, "NOT SEEN, AND WHAT WOULD SHOW IT"))?;
        spots.iter().try_for_each(|spot| self.blind_spot(spot))
    }

    fn blind_spot(&mut self, spot: &BlindSpot<'_>) -> Result<(), Error> {
        let remedy = if spot.remedy.is_empty() { "no remedy is known" } else { spot.remedy };
        let remedy = visible(remedy).into_owned();
        self.paragraph(&format!("  {} ", self.paint.bullet()), &remedy, TextStyle::Command)?;
        let most = if self.options.verbose { EXAMPLES.1 } else { 1 };
        for reason in spot.reasons.iter().take(most) {
            self.paragraph("    ", &visible(reason), TextStyle::Dim)?;
        }
        self.and_more(spot.reasons.len().saturating_sub(most), "    ")?;
        let servers = self.outcome.servers.len();
        if servers > 1 {
            let on = format!("on {} of {}", number(spot.servers.len()), count(servers, "server"));
            self.paragraph("    ", &on, TextStyle::Dim)?;
        }
        if spot.checks.is_empty() {
            Ok(())
        } else {
            self.paragraph("    would judge: ", &spot.checks.join(", "), TextStyle::Dim)
        }
    }

    fn summary(&mut self) -> Result<(), Error> {
        let sum = &self.outcome.summary;
        let of = |map: &std::collections::BTreeMap<String, usize>, key: &str| map.get(key).copied().unwrap_or(0);
        let failures = Severity::ALL.iter().rev().filter_map(|severity| {
            let n = of(&sum.failures, severity.as_str());
            (n > 0).then(|| format!("{} {}", number(n), severity.as_str()))
        });
        let failures: Vec<String> = failures.collect();
        let failed =
            if failures.is_empty() { "no failures".to_owned() } else { format!("failed: {}", failures.join(", ")) };
        let status = |status: Status| number(of(&sum.by_status, status.as_str()));
        let mut parts = vec![
            failed,
            format!("passed: {}", status(Status::Pass)),
            format!("not seen: {}", status(Status::Unknown)),
            format!("not applicable: {}", status(Status::NotApplicable)),
            format!("waived: {}", status(Status::Waived)),
        ];
        if sum.bad_waivers > 0 {
            parts.push(format!("bad waivers: {}", number(sum.bad_waivers)));
        }
        if sum.unreachable > 0 {
            parts.push(format!("servers not audited: {}", number(sum.unreachable)));
        }
        writeln!(self.out)?;
        self.paragraph("", &parts.join(self.paint.separator()), TextStyle::Bold)?;
        match labels::incomplete(self.outcome) {
            Some(incomplete) => self.paragraph("", &incomplete, TextStyle::Bold),
            None => Ok(()),
        }
    }

    fn and_more(&mut self, more: usize, indent: &str) -> Result<(), Error> {
        if more == 0 {
            return Ok(());
        }
        let message = format!("{indent}{} and {} more (see --format json)", self.paint.ellipsis(), number(more));
        writeln!(self.out, "{}", self.paint.text(TextStyle::Dim, &message))?;
        Ok(())
    }

    /// Wrapped text after `lead`; further lines are indented.
    fn paragraph(&mut self, lead: &str, text: &str, style: TextStyle) -> Result<(), Error> {
        let indent = columns(lead);
        let text = self.paint.plain(text);
        for (i, line) in wrap(&text, self.width.saturating_sub(indent).max(20)).iter().enumerate() {
            let lead = if i == 0 { lead.to_owned() } else { " ".repeat(indent) };
            writeln!(self.out, "{lead}{}", self.paint.text(style, line))?;
        }
        Ok(())
    }

    const fn most(&self, (few, many): (usize, usize)) -> usize {
        if self.options.verbose { many } else { few }
    }
}

/// One line for a piece of evidence.
fn evidence_line(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Query { sql, answer } => format!("{} -> {}", visible(sql), visible(answer)),
        Evidence::Bytes { path, offset, hex, meaning } if hex.is_empty() => {
            format!("{} at {offset}: {}", visible(path), visible(meaning))
        }
        Evidence::Bytes { path, offset, hex, meaning } => {
            format!("{} at {offset}: {} = {}", visible(path), visible(hex), visible(meaning))
        }
        Evidence::Wire { endpoint: from, observation } | Evidence::Host { source: from, observation } => {
            format!("{}: {}", visible(from), visible(observation))
        }
        Evidence::Option { file, line, setting } => format!("{}:{line}: {}", visible(file), visible(setting)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, golden, outcome_of, rich, small};
    use crate::{Format, render};

    fn table(outcome: &Outcome, options: &RenderOptions) -> String {
        render(Format::Table, outcome, options).unwrap()
    }

    #[test]
    fn the_table_is_as_it_was_looked_at() {
        golden("small.80.txt", &table(&small(), &RenderOptions::default()));
        let all =
            RenderOptions { verbose: true, show_passes: true, width: 120, color: true, ..RenderOptions::default() };
        golden("small.120-color-verbose.txt", &table(&small(), &all));
    }

    #[test]
    fn ten_thousand_clear_tables_are_one_finding_to_read() {
        let many = (0..10_000).map(|n| finding("rest-table-plaintext", Status::Fail, &format!("demo/t{n:05}.ibd")));
        let text = table(&outcome_of(many.collect()), &RenderOptions::default());
        assert!(text.lines().count() < 30, "{text}");
        assert!(text.contains("and 9,997 more (see --format json)"), "{text}");
        assert!(text.contains("demo/t00000.ibd"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [40, 60, 80, 120, 200] {
            for verbose in [false, true] {
                let options = RenderOptions { width, verbose, show_passes: true, ..RenderOptions::default() };
                let text = table(&rich(), &options);
                let long = text.lines().find(|line| columns(line) > width);
                assert_eq!(long, None, "width {width}");
            }
        }
    }

    #[test]
    fn ascii_is_ascii_as_far_as_names_are() {
        let options = RenderOptions { ascii: true, ..RenderOptions::default() };
        assert!(table(&small(), &options).is_ascii());
    }

    #[test]
    fn what_was_not_seen_names_the_grant() {
        let mut unknown = finding("tls-user-not-required", Status::Unknown, "server");
        unknown.remediation = Some("GRANT SELECT ON mysql.user TO `audit`@`localhost`".to_owned());
        let text = table(&outcome_of(vec![unknown]), &RenderOptions::default());
        assert!(text.contains("GRANT SELECT ON mysql.user TO `audit`@`localhost`"), "{text}");
        assert!(text.contains("would judge: tls-user-not-required"), "{text}");
    }
}
