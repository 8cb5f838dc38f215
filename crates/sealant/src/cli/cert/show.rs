//! `sealant cert show`: what is in certificate files.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use report::Format;
use server::Certificate;

use crate::exit::Exit;
use crate::output::file::to_stdout;
use crate::output::message::Failure;
use crate::output::render::Render;

/// Show what certificate files say
#[derive(Debug, Args)]
pub(super) struct Show {
    /// PEM files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    render: Render,
}

impl Show {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let read = |path: PathBuf| Ok((::cert::read_certificates(&path)?, path));
        let shown: Vec<(Vec<Certificate>, PathBuf)> =
            self.files.into_iter().map(read).collect::<Result<_, Failure>>()?;
        match self.render.format() {
            Format::Json => to_stdout(&|out| {
                let list: Vec<_> = shown
                    .iter()
                    .map(|(certificates, file)| serde_json::json!({ "file": file, "certificates": certificates }))
                    .collect();
                serde_json::to_writer_pretty(&mut *out, &list)?;
                writeln!(out)
            })?,
            _ => to_stdout(&|out| shown.iter().try_for_each(|(found, path)| write(found, path, out)))?,
        }
        Ok(Exit::Clean)
    }
}

fn write(found: &[Certificate], path: &std::path::Path, out: &mut dyn Write) -> io::Result<()> {
    for certificate in found {
        writeln!(out, "{}", path.display())?;
        writeln!(out, "  subject      {}", certificate.subject)?;
        writeln!(out, "  issuer       {}", certificate.issuer)?;
        writeln!(out, "  names        {}", certificate.names().join(", "))?;
        writeln!(out, "  valid        {} to {}", certificate.not_before, certificate.not_after)?;
        writeln!(out, "  key          {}", certificate.key_type)?;
        let usage = if certificate.ext_key_usage.is_empty() { "any" } else { &certificate.ext_key_usage.join(", ") };
        writeln!(out, "  use          {}", if certificate.is_ca { "authority" } else { usage })?;
        writeln!(out, "  signed with  {}", certificate.signature_algorithm)?;
        writeln!(out, "  serial       {}", certificate.serial_hex)?;
        writeln!(out, "  sha256       {}", certificate.sha256)?;
    }
    Ok(())
}
