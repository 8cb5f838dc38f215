//! Checks the crates in the lock files against known advisories, using a committed extract of the RustSec database: no
//! network.
//!
//! `check` fails if a version in a lock file is affected and `deny.toml` gives no reason to keep it, or if it gives a
//! reason that is no longer needed. `refresh DIRECTORY` writes a new extract from a clone of the database.

mod check;
mod state;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::state::State;

/// The extract: ids, crates, dates, version ranges.
const STATE: &str = ".ci/advisories.tsv";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["check"] => check(),
        ["refresh", database] => refresh(Path::new(database)),
        _ => bail!("usage: advisories check | refresh DIRECTORY"),
    }
}

/// Root of the repository.
fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

fn check() -> Result<()> {
    let top = top();
    let state = State::parse(&read(&top.join(STATE))?)?;
    let reasons = check::reasons(&read(&top.join("deny.toml"))?)?;
    let packages = check::locked(&top)?;
    let faults = check::faults(&state, &packages, &reasons);
    let mut out = std::io::stdout().lock();
    let (known, crates) = (state.advisories.len(), packages.len());
    writeln!(out, "advisories: {known} known on {}, {crates} crates in the lock file", state.date)?;
    faults.iter().try_for_each(|fault| writeln!(out, "{fault}"))?;
    if !faults.is_empty() {
        bail!("{} faults; update the crate, or give a reason in deny.toml (advisories.ignore)", faults.len());
    }
    Ok(())
}

fn refresh(database: &Path) -> Result<()> {
    let state = State::of_database(database)?;
    let path = top().join(STATE);
    std::fs::write(&path, state.text()).with_context(|| path.display().to_string())?;
    writeln!(std::io::stdout(), "{STATE}: {} advisories of {}", state.advisories.len(), state.date)?;
    Ok(())
}
