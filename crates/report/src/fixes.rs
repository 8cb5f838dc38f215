//! The fixes of an audit as a shell script.

use std::collections::BTreeSet;
use std::io::Write;

use audit::finding::{Finding, Status};
use audit::outcome::Outcome;
use findings::{Action, Step};

use crate::group::{Group, by_check};
use crate::remedy::{Block, Destination, block};
use crate::text::visible;
use crate::{Error, labels};

const EXPLANATION: &str = "\
# Read it before you run it. It runs statements that set variables, and no more: whatever rebuilds tables, changes accounts,
# keys or files, restarts the server or needs a decision is a comment. Remove the \"# \" of what you want.
set -eu

# How to reach the server; the password comes from the client's option file.
sql() { ${MYSQL:-mysql}; }
";

/// Writes a script with the fix of every failure of one server: first those that others depend on, then the worst
/// first.
///
/// # Errors
/// [`Error::Write`].
pub fn write_fixes(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "#!/bin/sh")?;
    for server in &outcome.servers {
        let (target, product) = (visible(&server.target), labels::product(server));
        let when = labels::minute(outcome.judged_at);
        writeln!(out, "# Fixes for what `sealant audit` found on {target} ({}), {when}.", visible(&product))?;
    }
    out.write_all(EXPLANATION.as_bytes())?;
    in_order(by_check(outcome.findings.iter(), Status::Fail)).iter().try_for_each(|group| fix(group, out))
}

/// Puts each fix after the fixes in the script that must precede it.
fn in_order(mut groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    let mut ordered: Vec<Group<'_>> = Vec::with_capacity(groups.len());
    while !groups.is_empty() {
        let waiting: BTreeSet<&str> = groups.iter().map(|group| group.id).collect();
        let waits = |group: &Group<'_>| {
            let mut after =
                group.findings.iter().flat_map(|finding| &finding.remedies).filter_map(|step| step.after.as_deref());
            after.any(|check| check != group.id && waiting.contains(check))
        };
        // Breaks a cycle of dependencies at the first fix.
        let next = groups.iter().position(|group| !waits(group)).unwrap_or(0);
        ordered.push(groups.remove(next));
    }
    ordered
}

fn fix(group: &Group<'_>, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "\n# --- {} ({}): {}", visible(group.id), group.severity.as_str(), visible(group.title()))?;
    if let Some(cost) = group.findings.iter().find_map(|finding| finding.cost.as_deref()) {
        writeln!(out, "# cost: {}", visible(cost))?;
    }
    if let Some(own) = group.own_fix() {
        writeln!(out, "# fix: {own}")?;
    }
    let mut written = BTreeSet::new();
    for finding in &group.findings {
        if written.insert(finding.remediation.as_deref()) {
            remedy(finding, out)?;
        }
    }
    Ok(())
}

fn remedy(finding: &Finding, out: &mut dyn Write) -> Result<(), Error> {
    if finding.remedies.is_empty() {
        writeln!(out, "# {}", visible(finding.remediation.as_deref().unwrap_or("no fix is known")))?;
        return Ok(());
    }
    // Steps after manual work are comments, too.
    let mut waits = false;
    for step in &finding.remedies {
        waits |= !is_active(step);
        self::step(step, waits, out)?;
    }
    Ok(())
}

/// Whether the script executes a step; it writes every other one as a comment.
fn is_active(step: &Step) -> bool {
    match &step.action {
        // The client parses a backslash as the start of its own commands.
        Action::Statement { sql } => {
            step.once.is_none() && step.sets_variable() && visible(sql) == *sql && !sql.contains('\\')
        }
        Action::Note { .. } => true,
        _ => false,
    }
}

fn step(step: &Step, waits: bool, out: &mut dyn Write) -> Result<(), Error> {
    if let Some(condition) = &step.once {
        writeln!(out, "# once {}:", visible(condition))?;
    }
    let Block { destination, lines } = block(&step.action);
    let (first, begin, last) = match destination {
        Destination::Sql if waits => ("# sql <<'SQL'\n", "# ", "# SQL\n"),
        Destination::Sql => ("sql <<'SQL'\n", "", "SQL\n"),
        Destination::OptionFile => ("# in the option file:\n", "#   ", ""),
        Destination::Shell | Destination::Reader => ("", "# ", ""),
    };
    write!(out, "{first}")?;
    lines.iter().try_for_each(|line| writeln!(out, "{begin}{}", visible(line)))?;
    Ok(write!(out, "{last}")?)
}

#[cfg(test)]
mod tests {

    use findings::Remedy;

    use super::*;
    use crate::testing::{finding, outcome_of};

    fn with(id: &str, artefact: &str, remedy: Remedy) -> Finding {
        let mut one = finding(id, Status::Fail, artefact);
        one.remediation = Some(remedy.to_string());
        one.remedies = remedy.into_steps(None, None);
        one
    }

    fn script(findings: Vec<Finding>) -> String {
        let mut text = Vec::new();
        write_fixes(&outcome_of(findings), &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    /// Lines that the shell would run.
    fn active(script: &str) -> Vec<&str> {
        let commands = script.split_once("${MYSQL:-mysql}; }\n").unwrap().1;
        commands.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
    }

    #[test]
    fn only_variables_are_set_and_what_waits_for_people_is_a_comment() {
        let set = Remedy::statement("SET PERSIST binlog_encryption = ON");
        let then = Remedy::option_file("mysqld", ["x = 1"]).then_restart().and(Remedy::statement("SET GLOBAL y = 1"));
        let text = script(vec![
            with("rest-a", "a", set),
            with("rest-b", "b", then),
            with("rest-c", "c", Remedy::statement("DROP TABLE c")),
            with("rest-d", "d", Remedy::command("rm -rf /")),
            with("rest-e", "e", Remedy::statement("SET PERSIST admin_ssl_ca = '…'")),
        ]);
        assert_eq!(active(&text), ["sql <<'SQL'", "SET PERSIST binlog_encryption = ON;", "SQL"]);
        assert!(
            text.contains("# rm -rf /") && text.contains("# DROP TABLE c;") && text.contains("# SET GLOBAL y = 1;")
        );
    }

    #[test]
    fn this_program_is_named_before_what_is_done_by_hand() {
        let remedy = || Remedy::statement("ALTER TABLE d.t ENCRYPTION='Y'");
        let text = script(vec![with("rest-table-plaintext", "d/t.ibd", remedy()), with("rest-b", "b", remedy())]);
        assert_eq!(text.matches("# fix: sealant encrypt run; or by hand:\n# sql <<'SQL'\n# ALTER TABLE").count(), 1);
        assert_eq!(text.matches("# fix: ").count(), 1, "{text}");
    }

    #[test]
    fn names_of_a_hostile_server_do_not_reach_the_shell() {
        let text = script(vec![
            with("rest-a", "a", Remedy::statement("SET GLOBAL x = 'a\nSQL\nrm -rf /\n'")),
            with("rest-b", "b\nrm -rf /", Remedy::statement("SET GLOBAL x = `\\! rm -rf /`")),
            with("rest-c\nrm -rf /", "c", Remedy::advice("a\nrm -rf /")),
        ]);
        assert_eq!(active(&text), [""; 0], "{text}");
    }

    #[test]
    fn a_fix_follows_the_one_that_it_needs() {
        let text = script(vec![
            with("rest-b", "b", Remedy::statement("SET PERSIST b = 1").after("key-a")),
            with("key-a", "a", Remedy::statement("SET PERSIST a = 1")),
        ]);
        assert!(text.find("SET PERSIST a").unwrap() < text.find("SET PERSIST b").unwrap());
    }
}
