//! sysbench: where it and its scripts are, its version, and the figures of its report.
//!
//! Source: sysbench 1.0, `sysbench.c` (`report_cumulative`), `sb_histogram.c` (`sb_histogram_print`).

use std::path::PathBuf;

use crate::{Error, Program, program::ended_with_parent};

pub(crate) const NAME: &str = "sysbench";
/// The first version with `--time`, `--histogram`, and scripts that other scripts can extend.
const OLDEST: [u32; 2] = [1, 0];

/// An installed sysbench.
#[derive(Clone, Debug)]
pub(crate) struct Sysbench {
    path: PathBuf,
    /// Such as `1.0.20`.
    version: String,
}

impl Sysbench {
    /// Finds it in `PATH`.
    ///
    /// # Errors
    /// [`Error::Sysbench`]: it is not installed, does not report its version, or is too old.
    pub(crate) fn find() -> Result<Self, Error> {
        let unusable = |reason: &str| Error::Sysbench { reason: reason.to_owned() };
        let path = process::find(NAME).ok_or_else(|| unusable("is not in PATH"))?;
        let text = process::version_text(&path, &["--version"]).map_err(|error| unusable(&error.to_string()))?;
        let version = version(&text).ok_or_else(|| unusable("does not report its version"))?;
        if !is_new_enough(version) {
            return Err(unusable(&format!("{version} is too old; 1.0 or newer is needed")));
        }
        Ok(Self { path, version: version.to_owned() })
    }

    #[cfg(test)]
    pub(crate) fn at(path: &str, version: &str) -> Self {
        Self { path: path.into(), version: version.to_owned() }
    }

    /// Name and version, for records.
    pub(crate) fn program(&self) -> Program {
        Program { name: NAME.to_owned(), version: Some(self.version.clone()) }
    }

    /// Name and version, for texts.
    pub(crate) fn title(&self) -> String {
        format!("{NAME} {}", self.version)
    }

    /// The program, with the scripts and the client library's plug-ins of its own installation, if that was moved from
    /// the path it was built for.
    pub(crate) fn command(&self) -> process::Program<'static> {
        let mut command = ended_with_parent(&self.path);
        let base = self.path.ancestors().nth(2);
        if let Some(scripts) = self.scripts() {
            command = command.env("LUA_PATH", scripts.join("?.lua;"));
        }
        let libraries = base.and_then(|base| std::fs::read_dir(base.join("lib")).ok()).into_iter().flatten().flatten();
        let mut plugins = libraries.map(|entry| entry.path().join("libmariadb3/plugin"));
        if let Some(plugins) = plugins.find(|plugins| plugins.is_dir()) {
            command = command.env("MARIADB_PLUGIN_DIR", plugins);
        }
        command
    }

    /// One of its own scripts, as an argument.
    pub(crate) fn script(&self, name: &str) -> PathBuf {
        self.scripts().map_or_else(|| name.into(), |scripts| scripts.join(format!("{name}.lua")))
    }

    fn scripts(&self) -> Option<PathBuf> {
        self.path.ancestors().nth(2).map(|base| base.join("share/sysbench")).filter(|scripts| scripts.is_dir())
    }

    /// What a failed run says: its first complaint.
    pub(crate) fn failed(&self, report: &str) -> Error {
        let complaint = report.lines().find(|line| line.contains("FATAL")).or_else(|| report.lines().last());
        let reason = complaint.unwrap_or("it failed").trim().trim_start_matches("FATAL: ");
        Error::program(&self.path, reason)
    }
}

/// `sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)`, or without the part in brackets.
fn version(text: &str) -> Option<&str> {
    text.split_once("sysbench ")?.1.split_whitespace().next()
}

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.split(['.', '-']).map(|number| number.parse().unwrap_or(0));
    [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)] >= OLDEST
}

/// The figure of a line of a report: `    transactions:            1234   (1233.55 per sec.)` has `1234`.
pub(crate) fn figure<'s>(report: &'s str, name: &str) -> Option<&'s str> {
    let line = report.lines().find_map(|line| line.trim().strip_prefix(name));
    line?.split_whitespace().next()
}

/// `    total time:                          1.0003s`
pub(crate) fn total_seconds(report: &str) -> Option<f64> {
    figure(report, "total time:")?.trim_end_matches('s').parse().ok()
}

/// The bars of the histogram: a latency in milliseconds, and its number of events.
///
/// `       1.759 |*                                        1`
pub(crate) fn histogram(report: &str) -> impl Iterator<Item = (f64, u64)> {
    let bars = report.lines().skip_while(|line| !line.starts_with("Latency histogram"));
    bars.take_while(|line| !line.starts_with("SQL statistics")).filter_map(|line| {
        let (value, bar) = line.split_once('|')?;
        Some((value.trim().parse().ok()?, bar.split_whitespace().last()?.trim_start_matches('*').parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       1.759 |*                                        1
       4.176 |**************************************** 39
     170.479 |                                         1

SQL statistics:
    transactions:                        41     (20.50 per sec.)
    queries:                             820    (410.00 per sec.)
General statistics:
    total time:                          2.0004s
";

    #[test]
    fn a_report_has_figures_and_a_histogram() {
        assert_eq!((figure(REPORT, "transactions:"), figure(REPORT, "queries:")), (Some("41"), Some("820")));
        assert_eq!(total_seconds(REPORT), Some(2.0004));
        assert_eq!(histogram(REPORT).collect::<Vec<_>>(), [(1.759, 1), (4.176, 39), (170.479, 1)]);
        assert_eq!((figure("", "transactions:"), total_seconds(""), histogram("").count()), (None, None, 0));
    }

    #[test]
    fn versions_before_1_0_are_too_old() {
        assert_eq!(version("sysbench 1.0.20 (using system LuaJIT 2.1)\n"), Some("1.0.20"));
        assert_eq!(version("something else"), None);
        assert!(["1.0.20", "1.1.0-df89d34", "2.0"].into_iter().all(is_new_enough));
        assert!(!["0.4.12", "0.5", "x"].into_iter().any(is_new_enough));
    }
}
