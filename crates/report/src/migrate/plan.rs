//! Plans of `sealant migrate`.

use std::io::Write;

use ::migrate::{
    Side,
    accounts::AccountAction,
    plan::{CheckResult, CheckState, Plan},
    preflight::{Effect, Link, Transport, Verification},
};

use crate::{
    Error, json,
    remedy::{Block, Destination, block},
    size,
    text::{count, fit_name, number, pad, visible, wrap},
};

/// Columns of the text.
const WIDTH: usize = 80;
/// Width of a label at the beginning of a line, such as `source`.
const LABEL: usize = 8;
/// Tables that are listed by name.
const TABLES: usize = 20;
/// Accounts that are listed by name.
const ACCOUNTS: usize = 20;
/// Findings of a check that are listed.
const FINDINGS: usize = 10;

/// Writes the JSON for scripts, schema `sealant.migrate/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_migrate_json(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(plan, out)
}

/// Writes the plan as human-readable text, in 80 columns.
///
/// # Errors
/// [`Error::Write`].
pub fn write_migrate_plan(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    for (label, server, link) in
        [("source", &plan.source, link(plan, Side::Source)), ("target", &plan.target, link(plan, Side::Target))]
    {
        paragraph(out, label, &format!("{}  {} as {}", server.endpoint, server.version, server.account))?;
        paragraph(out, "", &link.map_or_else(String::new, |link| transport(&link.transport)))?;
    }
    way(plan, out)?;
    tables(plan, out)?;
    checks(plan, out)?;
    accounts(plan, out)?;
    fences(plan, out)?;
    grants(plan, out)?;
    verdict(plan, out)
}

fn link(plan: &Plan, side: Side) -> Option<&Link> {
    plan.links.iter().find(|link| link.side == side)
}

fn transport(transport: &Transport) -> String {
    match transport {
        Transport::Socket => "through its socket".to_owned(),
        Transport::Clear => "in clear".to_owned(),
        Transport::Tls { version, verified, .. } => {
            let verified = match verified {
                Verification::Identity => "verified by CA and name",
                Verification::Authority => "verified by CA",
                Verification::Fingerprint => "verified by fingerprint",
                Verification::No => "not verified",
            };
            format!("{}, {verified}", version.name())
        }
    }
}

fn way(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    match plan.way {
        Some(_) => paragraph(out, "way", "SQL: copies the tables while they are used, and follows the binary log")?,
        None => paragraph(out, "way", "none that this version has")?,
    }
    plan.alternative.as_ref().map_or(Ok(()), |text| paragraph(out, "faster", text))
}

fn tables(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    if plan.tables.is_empty() {
        return Ok(());
    }
    let bytes = plan.tables.iter().map(|table| table.bytes).sum();
    let rows: u64 = plan.tables.iter().map(|table| table.rows).sum();
    let total = format!("{}, {} rows, {}", count(plan.tables.len(), "table"), number(rows), size(bytes));
    writeln!(out, "\nTABLES    {total} (estimates of the source)")?;
    let widest = plan.tables.iter().take(TABLES).map(|table| table.name.chars().count()).max().unwrap_or(0);
    let name = widest.clamp(8, 32);
    writeln!(out, "  {}  copy  {:>12}  {:>9}  at rest: source > target", pad("", name), "rows", "size")?;
    for table in plan.tables.iter().take(TABLES) {
        let entry = plan.encryption.iter().find(|entry| entry.table == table.name);
        let rest =
            entry.map_or_else(String::new, |entry| format!("{} > {}", entry.source.as_str(), entry.target.as_str()));
        let shown = visible(&table.name);
        let shown = pad(&fit_name(&shown, name, "…"), name);
        let (rows, bytes) = (number(table.rows), size(table.bytes));
        writeln!(out, "  {shown}  {:<5} {rows:>12}  {bytes:>9}  {rest}", table.method.as_str())?;
    }
    match plan.tables.len().saturating_sub(TABLES) {
        0 => Ok(()),
        more => Ok(writeln!(out, "  and {} smaller (--format json lists all)", number(more))?),
    }
}

fn checks(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    let with = |state: CheckState| plan.checks.iter().filter(move |check| check.result == state).count();
    let not_judged = match with(CheckState::NotJudged) {
        0 => String::new(),
        some => format!(", {} not judged yet", number(some)),
    };
    writeln!(out, "\nCHECKS    {} passed{not_judged}", number(with(CheckState::Pass)))?;
    for effect in [Effect::Block, Effect::Ask, Effect::Tell] {
        let found: Vec<&CheckResult> = plan.checks.iter().filter(|check| check.effect == Some(effect)).collect();
        for same in found.chunk_by(|one, next| one.id == next.id) {
            for check in same.iter().take(FINDINGS) {
                finding(check, out)?;
            }
            if let more @ 1.. = same.len().saturating_sub(FINDINGS) {
                writeln!(out, "            and {} more of this check", number(more))?;
            }
        }
    }
    Ok(())
}

fn finding(check: &CheckResult, out: &mut dyn Write) -> Result<(), Error> {
    let word = match (check.result, check.effect) {
        (CheckState::Unknown, _) => "unknown",
        (_, Some(Effect::Ask)) => "ask",
        (_, Some(Effect::Tell)) => "tell",
        _ => "block",
    };
    writeln!(out, "  {word:<8}  {}", check.id)?;
    indented(out, &format!("{}: {}", check.object, check.evidence))?;
    let Some(remedy) = &check.remedy else { return Ok(()) };
    if let Some(side) = remedy.side {
        writeln!(out, "            on the {side}:")?;
    }
    let Block { destination, lines } = block(&remedy.action);
    lines.iter().try_for_each(|line| match destination {
        Destination::Reader => indented(out, line),
        // It is copied into a client: it stays one line.
        _ => Ok(writeln!(out, "            {}", visible(line))?),
    })
}

fn accounts(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    if plan.accounts.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nACCOUNTS  {}; created by the cut-over, before writes are blocked",
        count(plan.accounts.len(), "account")
    )?;
    for account in plan.accounts.iter().take(ACCOUNTS) {
        let action = match account.action {
            AccountAction::Create if account.omitted.is_empty() => "created",
            AccountAction::Create => "in part",
            AccountAction::CreateLocked => "locked",
            AccountAction::Same => "there",
            AccountAction::Different => "differs",
            AccountAction::LeaveOut => "left out",
        };
        writeln!(out, "  {action:<8}  {}", visible(&account.name))?;
    }
    match plan.accounts.len().saturating_sub(ACCOUNTS) {
        0 => Ok(()),
        more => Ok(writeln!(out, "  and {} more (--format json lists all)", number(more))?),
    }
}

fn fences(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    if plan.fences.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nFENCES    how the cut-over can stop writes at the source (--fence)")?;
    for fence in &plan.fences {
        writeln!(out, "  {}", fence.name)?;
        indented(out, fence.guarantees)?;
        indented(out, &format!("but {}", fence.lacks))?;
        for statement in &fence.missing {
            writeln!(out, "            needs {};", visible(statement))?;
        }
    }
    Ok(())
}

fn grants(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    if plan.grants.is_empty() {
        return Ok(());
    }
    let missing = plan.grants.iter().filter(|grant| !grant.held).count();
    let held = if missing == 0 { "all held".to_owned() } else { format!("{} missing", number(missing)) };
    writeln!(out, "\nGRANTS    what the accounts need: {held}")?;
    for grant in &plan.grants {
        let mark = if grant.held { ' ' } else { '!' };
        let label = grant.side.to_string();
        writeln!(out, "{mark} {label:<8}  {};", visible(&grant.statement))?;
    }
    Ok(())
}

fn verdict(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    let block = |state: CheckState| {
        let is = |check: &&CheckResult| check.effect == Some(Effect::Block) && check.result == state;
        plan.checks.iter().filter(is).count()
    };
    let asks = plan.checks.iter().filter(|check| check.effect == Some(Effect::Ask)).count();
    let sentence = match (block(CheckState::Found), block(CheckState::Unknown)) {
        (0, 0) if asks > 0 => format!("Nothing blocks this migration; {} to agree to.", count(asks, "point")),
        (0, 0) => "Nothing blocks this migration.".to_owned(),
        (0, unknown) => format!("{} could not be judged: this migration cannot begin.", count(unknown, "point")),
        (blocks, _) => format!("{} this migration.", blocking(blocks)),
    };
    writeln!(out, "\n{sentence}")?;
    Ok(())
}

fn blocking(findings: usize) -> String {
    if findings == 1 { "1 finding blocks".to_owned() } else { format!("{} findings block", number(findings)) }
}

/// A label, and wrapped text beside it.
pub(super) fn paragraph(out: &mut dyn Write, label: &str, text: &str) -> Result<(), Error> {
    for (position, line) in wrap(&visible(text), WIDTH - LABEL - 2).iter().enumerate() {
        let label = if position == 0 { label } else { "" };
        writeln!(out, "{label:<LABEL$}  {line}")?;
    }
    Ok(())
}

fn indented(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    for line in wrap(&visible(text), WIDTH - 12) {
        writeln!(out, "            {line}")?;
    }
    Ok(())
}
