//! Reports of certificates: installed, checked, shown.

use std::io::Write;

use change::{Outcome, tls::InstallReport};
use pki::{
    Certificate, Files, Level,
    check::{Checked, FileCertificates, Report as Checks},
};

use crate::{Error, json, text::visible};

/// Writes the paths of certificates and of their keys, one per line.
///
/// # Errors
/// [`Error::Write`].
pub fn write_cert_paths(made: &[Files], out: &mut dyn Write) -> Result<(), Error> {
    for files in made {
        writeln!(out, "{}\n{}", files.certificate.display(), files.key.display())?;
    }
    Ok(())
}

/// Writes the JSON for scripts, schema `sealant.cert-install/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_certificate_json(report: &InstallReport, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(report, out)
}

/// Writes what was done, or would be done, as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_certificate_table(report: &InstallReport, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{}", visible(&report.server))?;
    for step in &report.steps {
        let (state, why) = match &step.outcome {
            Outcome::Planned => ("planned", None),
            Outcome::Done => ("done", None),
            Outcome::Skipped { reason } => ("skipped", Some(reason)),
            Outcome::Failed { reason } => ("failed", Some(reason)),
        };
        writeln!(out, "  {:<8} {state:<8} {}", step.step, visible(&step.what))?;
        for line in step.statements.iter().chain(why) {
            writeln!(out, "  {:<8} {:<8} {}", "", "", visible(line))?;
        }
    }
    for note in &report.notes {
        writeln!(out, "note: {}", visible(note))?;
    }
    for (what, sha256) in [("before", &report.served_before), ("now   ", &report.served_after)] {
        if let Some(sha256) = sha256 {
            writeln!(out, "served {what}: {sha256}")?;
        }
    }
    Ok(())
}

/// Writes the JSON for scripts, schema `sealant.cert-check/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_cert_check_json(report: &Checks, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(report, out)
}

/// Writes the result of a check as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_cert_check_table(report: &Checks, out: &mut dyn Write) -> Result<(), Error> {
    for Checked { path, level, names, days_left, problems, .. } in &report.checked {
        let level = level_name(*level);
        writeln!(out, "{level:<8} {}  {}  {days_left} days left", path.display(), names.join(", "))?;
        for problem in problems {
            writeln!(out, "         {}", problem.text)?;
        }
    }
    Ok(())
}

/// Writes the one line of a monitoring plug-in.
///
/// # Errors
/// [`Error::Write`].
pub fn write_cert_check_monitor(report: &Checks, out: &mut dyn Write) -> Result<(), Error> {
    let checked = &report.checked;
    let status = report.level().map_or_else(|| "OK".to_owned(), |level| level_name(Some(level)).to_ascii_uppercase());
    let problems = checked
        .iter()
        .flat_map(|one| one.problems.iter().map(|problem| format!("{}: {}", one.path.display(), problem.text)));
    let problems: Vec<String> = problems.collect();
    let first = checked.iter().map(|one| one.days_left).min().unwrap_or(0);
    let text = if problems.is_empty() {
        format!("{} certificates, the first expires in {first} days", checked.len())
    } else {
        problems.join("; ")
    };
    writeln!(out, "{status}: {text} | days_left={first}")?;
    Ok(())
}

/// Writes the line of a monitoring plug-in that could not check anything.
///
/// # Errors
/// [`Error::Write`].
pub fn write_unknown_check(reason: &str, out: &mut dyn Write) -> Result<(), Error> {
    Ok(writeln!(out, "UNKNOWN: {reason}")?)
}

const fn level_name(level: Option<Level>) -> &'static str {
    match level {
        None => "ok",
        Some(Level::Warning) => "warning",
        Some(Level::Critical) => "critical",
    }
}

/// Writes the content of certificate files as a list for scripts.
///
/// # Errors
/// [`Error::Write`].
pub fn write_certs_json(files: &[FileCertificates], out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(files, out)
}

/// Writes the content of certificate files as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_certs_text(files: &[FileCertificates], out: &mut dyn Write) -> Result<(), Error> {
    for described in files {
        for certificate in &described.certificates {
            writeln!(out, "{}", described.file.display())?;
            write_cert(certificate, out)?;
        }
    }
    Ok(())
}

fn write_cert(certificate: &Certificate, out: &mut dyn Write) -> Result<(), Error> {
    let usage = if certificate.ext_key_usage.is_empty() { "any" } else { &certificate.ext_key_usage.join(", ") };
    writeln!(out, "  subject      {}", certificate.subject)?;
    writeln!(out, "  issuer       {}", certificate.issuer)?;
    writeln!(out, "  names        {}", certificate.names().join(", "))?;
    writeln!(out, "  valid        {} to {}", certificate.not_before, certificate.not_after)?;
    writeln!(out, "  key          {}", certificate.key_type)?;
    writeln!(out, "  use          {}", if certificate.is_ca { "authority" } else { usage })?;
    writeln!(out, "  signed with  {}", certificate.signature_algorithm)?;
    writeln!(out, "  serial       {}", certificate.serial_hex)?;
    writeln!(out, "  sha256       {}", certificate.sha256)?;
    Ok(())
}
