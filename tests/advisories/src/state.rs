//! The committed extract of the database: one line for each advisory in force.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use semver::{Version, VersionReq};
use serde::Deserialize;

const COLUMNS: &str = "# id\tcrate\tkind\tpatched\tunaffected";
/// Separator of the ranges in a column; the ranges themselves contain commas.
const BETWEEN: &str = " | ";

/// The advisories known at a date.
pub(crate) struct State {
    /// Date of the newest advisory change.
    pub(crate) date: String,
    /// Sorted by id.
    pub(crate) advisories: Vec<Advisory>,
}

/// An advisory.
#[derive(Clone, Debug)]
pub(crate) struct Advisory {
    /// `RUSTSEC-…`.
    pub(crate) id: String,
    /// The crate.
    pub(crate) package: String,
    /// `vulnerability`, `unmaintained`, `unsound`, `notice`.
    pub(crate) kind: String,
    /// Fixed versions.
    patched: Vec<VersionReq>,
    /// Versions that were never affected.
    unaffected: Vec<VersionReq>,
}

/// The relevant part of a file of the database.
#[derive(Deserialize)]
struct Entry {
    advisory: About,
    #[serde(default)]
    versions: Versions,
}

#[derive(Deserialize)]
struct About {
    id: String,
    package: String,
    informational: Option<String>,
    withdrawn: Option<String>,
}

#[derive(Default, Deserialize)]
struct Versions {
    #[serde(default)]
    patched: Vec<VersionReq>,
    #[serde(default)]
    unaffected: Vec<VersionReq>,
}

impl Advisory {
    /// Whether the version is affected.
    pub(crate) fn affects(&self, version: &Version) -> bool {
        !self.patched.iter().chain(&self.unaffected).any(|range| range.matches(version))
    }

    fn parse(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [id, package, kind, patched, unaffected] = fields.as_slice() else {
            anyhow::bail!("{line:?} has not five fields");
        };
        let ranges = |text: &str| -> Result<Vec<VersionReq>> {
            let texts = text.split(BETWEEN).filter(|range| !range.is_empty());
            texts.map(|range| range.parse().with_context(|| format!("{id}: {range}"))).collect()
        };
        Ok(Self {
            id: (*id).to_owned(),
            package: (*package).to_owned(),
            kind: (*kind).to_owned(),
            patched: ranges(patched)?,
            unaffected: ranges(unaffected)?,
        })
    }

    fn line(&self) -> String {
        let ranges = |ranges: &[VersionReq]| ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(BETWEEN);
        [&self.id, &self.package, &self.kind, &ranges(&self.patched), &ranges(&self.unaffected)]
            .map(String::as_str)
            .join("\t")
    }
}

impl State {
    /// Parses the committed file.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let date = text.lines().find_map(|line| line.strip_prefix("# state of "));
        let date = date.context("the state says no date")?.to_owned();
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let advisories = lines.map(Advisory::parse).collect::<Result<Vec<_>>>()?;
        ensure!(!advisories.is_empty(), "the state has no advisory");
        Ok(Self { date, advisories })
    }

    /// Text of the committed file.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "# Facts of the RustSec advisory database (https://github.com/rustsec/advisory-db); `make advisories-refresh` writes them.\n\
             # state of {}\n{COLUMNS}\n",
            self.date
        );
        self.advisories.iter().for_each(|advisory| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", advisory.line());
        });
        text
    }

    /// Reads the newest commit of a clone of the database, bare or not.
    pub(crate) fn of_database(database: &Path) -> Result<Self> {
        let date = git(database, &["log", "-1", "--format=%cs"])?.trim().to_owned();
        let files = git(database, &["ls-tree", "-r", "--name-only", "HEAD", "crates/"])?;
        let mut advisories = Vec::new();
        for file in files.lines().filter(|file| file.ends_with(".md")) {
            let text = git(database, &["show", &format!("HEAD:{file}")])?;
            advisories.extend(of_file(&text).with_context(|| file.to_owned())?);
        }
        advisories.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(Self { date, advisories })
    }
}

/// `None` for a withdrawn advisory.
fn of_file(text: &str) -> Result<Option<Advisory>> {
    let front = text.split_once("```toml").and_then(|(_, rest)| rest.split_once("```")).map(|(front, _)| front);
    let entry: Entry = toml::from_str(front.context("has no TOML at its beginning")?)?;
    if entry.advisory.withdrawn.is_some() {
        return Ok(None);
    }
    Ok(Some(Advisory {
        id: entry.advisory.id,
        package: entry.advisory.package,
        kind: entry.advisory.informational.unwrap_or_else(|| "vulnerability".to_owned()),
        patched: entry.versions.patched,
        unaffected: entry.versions.unaffected,
    }))
}

fn git(database: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new("git").arg("-C").arg(database).args(args).output().context("git")?;
    ensure!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_ranges_decide_which_crates_are_affected() {
        let line = "RUSTSEC-2020-0071\ttime\tvulnerability\t>=0.2.23\t=0.2.0 | =0.2.1";
        let advisory = Advisory::parse(line).unwrap();
        assert_eq!(advisory.line(), line);
        for (version, affected) in
            [("0.1.43", true), ("0.2.0", false), ("0.2.22", true), ("0.2.23", false), ("0.3.1", false)]
        {
            assert_eq!(advisory.affects(&version.parse().unwrap()), affected, "{version}");
        }
        assert!(Advisory::parse("RUSTSEC-1\tx\tunmaintained\t\t").unwrap().affects(&Version::new(9, 9, 9)));
        assert!(Advisory::parse("RUSTSEC-1\tx\tunmaintained\tmuch\t").is_err());
    }

    #[test]
    fn an_advisory_file_becomes_a_line() {
        let file = "```toml\n[advisory]\nid = \"RUSTSEC-2000-0001\"\npackage = \"x\"\ndate = \"2000-01-01\"\n\
                    informational = \"unsound\"\n[versions]\npatched = [\">= 1.2.3, < 1.3.0\", \">= 1.3.4\"]\n```\n# Words\n";
        let advisory = of_file(file).unwrap().unwrap();
        assert_eq!(advisory.line(), "RUSTSEC-2000-0001\tx\tunsound\t>=1.2.3, <1.3.0 | >=1.3.4\t");
        let withdrawn = file.replace("date =", "withdrawn = \"2000-02-01\"\ndate =");
        assert!(of_file(&withdrawn).unwrap().is_none());
        assert!(of_file("# Words only").is_err());
    }
}
