//! Installed online tools, and the servers they support.

use std::time::Duration;

use server::dialect::capability::Capability;

use server::ServerVersion;

/// A program that changes tables online.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// gh-ost, which uses the binary log.
    GhOst,
    /// pt-online-schema-change, which uses triggers.
    PtOsc,
}

/// An installed tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The program.
    pub tool: Tool,
    /// Its version; `None` for a build without one.
    pub version: Option<(u16, u16, u16)>,
}

/// Time limit for querying a tool's version.
const TIMEOUT: Duration = Duration::from_secs(20);

impl Tool {
    /// Name of the program.
    #[must_use]
    pub const fn program(self) -> &'static str {
        match self {
            Self::GhOst => "gh-ost",
            Self::PtOsc => "pt-online-schema-change",
        }
    }

    /// The oldest version that supports MySQL 8.4, which removed `SHOW MASTER STATUS`; from the release notes of gh-ost
    /// and Percona Toolkit.
    const fn oldest_for_8_4(self) -> (u16, u16, u16) {
        match self {
            Self::GhOst => (1, 1, 7),
            Self::PtOsc => (3, 7, 0),
        }
    }

    /// The installed tool, or why it cannot be used with this server.
    pub(crate) fn find(self, server: &ServerVersion) -> Result<Installed, String> {
        let program = self.program();
        let text = version_of(program).ok_or_else(|| format!("{program} is not installed"))?;
        let installed = Installed { tool: self, version: parse(&text) };
        let (major, minor, patch) = self.oldest_for_8_4();
        match installed.version {
            Some(version) if server.can(Capability::WithoutMasterStatements) && version < (major, minor, patch) => {
                Err(format!(
                    "{program} {}.{}.{} does not support {server}; {major}.{minor}.{patch} and later do",
                    version.0, version.1, version.2
                ))
            }
            _ => Ok(installed),
        }
    }
}

fn version_of(program: &str) -> Option<String> {
    let output = process::Program::at(program).arg("--version").limit(TIMEOUT).output().ok()?;
    Some(output.map(|output| output.stdout).unwrap_or_default())
}

/// Parses the first three numbers separated by dots.
fn parse(text: &str) -> Option<(u16, u16, u16)> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
        let mut numbers = word.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_the_programs_print_them() {
        assert_eq!(parse("pt-online-schema-change 3.2.1\n"), Some((3, 2, 1)));
        assert_eq!(parse("1.1.7 (git commit: ab12cd3)"), Some((1, 1, 7)));
        assert_eq!(parse("unversioned (git commit: unknown)"), None);
    }

    #[test]
    fn what_is_not_installed_is_said_so() {
        assert_eq!(version_of("no-such-program-of-sealant"), None);
    }
}
