//! Plans for encrypting a server's disk.

use std::io::Write;

use audit::collect::placement::Placement;
use luks::plan::{Plan, Protection};
use serde_json::json;

use crate::{Error, Message, json};

/// Writes a plan for encrypting a server's disk as JSON for scripts, schema `sealant.luks-plan/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_plan_json(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    let mut document = serde_json::to_value(plan)?;
    if let Some(fields) = document.as_object_mut() {
        fields.insert("schema".to_owned(), json!("sealant.luks-plan/1"));
    }
    json::pretty(&document, out)
}

/// Writes the result as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_plan_table(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{:<10} {:<24} {:<10} {:<40} DISKS", "STATE", "WHAT", "MIB", "WHERE")?;
    for path in plan.input.paths.iter().chain(&plan.input.swaps) {
        let state = match &path.state {
            Protection::Encrypted(_) => "encrypted",
            Protection::Plain => "PLAIN",
            Protection::Memory => "memory",
            Protection::Unknown(_) => "UNKNOWN",
        };
        let mib = path.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.div_ceil(1 << 20).to_string());
        writeln!(out, "{state:<10} {:<24} {mib:<10} {:<40} {}", path.role, path.path, path.chain.join(" on "))?;
    }
    if !plan.steps.is_empty() {
        plan_steps(plan, out)?;
    }
    writeln!(out, "\nMind:")?;
    for remark in &plan.remarks {
        writeln!(out, "  - {remark}")?;
    }
    Ok(())
}

fn plan_steps(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "\nParameters:")?;
    for choice in &plan.choices {
        writeln!(out, "  {}: {}\n      {}", choice.what, choice.value, choice.why)?;
    }
    writeln!(out, "\nSpace: a new disk of at least {} MiB", plan.needed_bytes.div_ceil(1 << 20))?;
    writeln!(out, "\nSteps:")?;
    for (step, number) in plan.steps.iter().zip(1..) {
        writeln!(out, "  {number}. {}", step.what)?;
        if let Some(command) = &step.command {
            writeln!(out, "       {command}")?;
        }
    }
    Ok(())
}

/// Warnings about option files and swap areas that could not be read, and that the plan may lack.
#[must_use]
pub fn luks_plan_messages(placement: &Placement) -> Vec<Message> {
    let files = placement.unread.iter().map(|(file, why)| Message::warning(format!("{file}: not read: {why}")));
    let swaps = placement.swaps_unseen.iter().map(|why| Message::warning(format!("swap areas are not known: {why}")));
    files.chain(swaps).collect()
}
