//! `sealant cert show`: shows the content of certificate files.

use std::path::PathBuf;

use clap::Args;
use pki::check::describe;
use report::{write_certs_json, write_certs_text};

use crate::exit::Exit;
use crate::output::message::Failure;
use crate::output::render::Render;

/// Show the content of certificate files
#[derive(Debug, Args)]
pub(super) struct Show {
    /// Certificate files, PEM
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    render: Render,
}

impl Show {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        self.render.write(describe(&self.files)?.as_slice(), write_certs_json, write_certs_text)?;
        Ok(Exit::Clean)
    }
}
