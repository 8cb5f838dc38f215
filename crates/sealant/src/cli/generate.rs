//! `sealant generate`: writes man pages, completions and reference documents, for packagers and the gate.

mod man;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::exit::Exit;
use crate::output::message::Failure;

/// Write man pages, completions, the reference of checks or what was run on which server.
#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// What to write
    what: What,
    /// Directory to write into; created if it does not exist
    directory: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// Man pages, section 1
    Man,
    /// Completions for bash, zsh and fish
    Completions,
    /// The reference of checks in Markdown
    Checks,
    /// Which operations were tested on which server, in Markdown
    Compatibility,
}

impl Generate {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let dir = &self.directory;
        let written = std::fs::create_dir_all(dir).and_then(|()| match self.what {
            What::Man => man::write(command(), dir),
            What::Completions => completions(dir),
            What::Checks => std::fs::write(dir.join("checks.md"), report::render_checks_reference()),
            What::Compatibility => std::fs::write(dir.join("compatibility.md"), report::render_compatibility()),
        });
        written.map_err(|e| Failure::new(format!("{}: {e}", dir.display())))?;
        Ok(Exit::Clean)
    }
}

/// The text must not depend on the width of the terminal.
fn command() -> clap::Command {
    super::command().term_width(100)
}

fn completions(dir: &Path) -> std::io::Result<()> {
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut command(), "sealant", dir)?;
    }
    Ok(())
}
