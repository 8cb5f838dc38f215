//! Man pages, with two sections that `clap_mangen` does not write: the files that a verb uses by default, and the pages
//! of the verbs around it.

use std::iter::once;
use std::path::Path;
use std::{fs, io};

use clap::{Arg, Command};
use clap_mangen::roff::{Roff, bold, roman};
use register::DEFAULT_STATE_DIR;

/// Writes the pages of the program and all verbs.
pub(super) fn write(program: Command, dir: &Path) -> io::Result<()> {
    clap_mangen::generate_to(program.clone(), dir)?;
    let mut built = program.disable_help_subcommand(true);
    built.build();
    complete(&built, &[], dir)
}

/// Adds the sections to the page of a verb, and to those of its parts.
fn complete(verb: &Command, related: &[String], dir: &Path) -> io::Result<()> {
    let name = name_of(verb);
    let mut sections = Roff::new();
    add_files(&mut sections, verb);
    add_related(&mut sections, related);
    let path = dir.join(format!("{name}.1"));
    fs::write(&path, fs::read_to_string(&path)? + &sections.to_roff())?;
    let parts: Vec<&Command> = verb.get_subcommands().filter(|part| !part.is_hide_set()).collect();
    for part in &parts {
        // The page of the program lists all verbs.
        let others = parts.iter().filter(|other| !related.is_empty() && other.get_name() != part.get_name());
        let related: Vec<String> = once(name.clone()).chain(others.map(|other| name_of(other))).collect();
        complete(part, &related, dir)?;
    }
    Ok(())
}

fn name_of(verb: &Command) -> String {
    verb.get_display_name().unwrap_or_else(|| verb.get_name()).to_owned()
}

fn add_files(sections: &mut Roff, verb: &Command) {
    let mut files: Vec<(String, String)> = Vec::new();
    for (path, what) in verb.get_arguments().filter(|argument| !argument.is_hide_set()).filter_map(file) {
        if !files.iter().any(|(known, _)| *known == path) {
            files.push((path, what));
        }
    }
    if !files.is_empty() {
        sections.control("SH", ["FILES"]);
    }
    for (path, what) in files {
        sections.control("TP", []).text([bold(path)]).text([roman(what)]);
    }
}

/// The file or directory that an option names by default, and what it is.
fn file(argument: &Arg) -> Option<(String, String)> {
    let help = argument.get_help()?.to_string();
    let defaults = argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned());
    let path = defaults.into_iter().find(|value| value.len() > 1 && value.starts_with('/'));
    // The log of statements is a file below the state directory.
    let is_state = help.contains(&format!("[default: {DEFAULT_STATE_DIR}"));
    let path = path.or_else(|| DEFAULT_STATE_DIR.split(',').next().filter(|_| is_state).map(str::to_owned))?;
    Some((path, help.split(" [default").next().unwrap_or_default().to_owned()))
}

fn add_related(sections: &mut Roff, related: &[String]) {
    let pages = related.iter().enumerate().flat_map(|(position, name)| {
        let separator = if position > 0 { ", " } else { "" };
        [roman(separator), bold(name), roman("(1)")]
    });
    let pages: Vec<_> = pages.collect();
    if !pages.is_empty() {
        sections.control("SH", ["SEE ALSO"]).text(pages);
    }
}
