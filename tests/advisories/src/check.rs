//! Compares the lock file with the known advisories.

use std::path::Path;

use anyhow::{Context, Result};
use semver::Version;
use serde::Deserialize;

use crate::state::State;

/// A crate version in the lock file.
#[derive(Deserialize)]
pub(crate) struct Package {
    name: String,
    version: Version,
}

/// The reason in `deny.toml` to keep an advisory's crate.
#[derive(Debug, Deserialize)]
pub(crate) struct Reason {
    id: String,
    reason: String,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Policy {
    advisories: Accepted,
}

#[derive(Deserialize)]
struct Accepted {
    ignore: Vec<Reason>,
}

/// The lock file, relative to the repository root.
const LOCK_FILE: &str = "Cargo.lock";

/// The packages in the lock file.
pub(crate) fn locked(top: &Path) -> Result<Vec<Package>> {
    packages(&crate::read(&top.join(LOCK_FILE))?)
}

/// Parses a lock file.
fn packages(text: &str) -> Result<Vec<Package>> {
    let locked: Lock = toml::from_str(text).context(LOCK_FILE)?;
    Ok(locked.package)
}

/// The reasons in `deny.toml`.
pub(crate) fn reasons(policy: &str) -> Result<Vec<Reason>> {
    let policy: Policy = toml::from_str(policy).context("deny.toml")?;
    Ok(policy.advisories.ignore)
}

/// Crates with an advisory but without a reason, and reasons that are no longer needed.
pub(crate) fn faults(state: &State, packages: &[Package], reasons: &[Reason]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut needed = Vec::new();
    for advisory in &state.advisories {
        for package in packages.iter().filter(|package| package.name == advisory.package) {
            if !advisory.affects(&package.version) {
                continue;
            }
            needed.push(&advisory.id);
            if reasons.iter().any(|one| one.id == advisory.id && !one.reason.trim().is_empty()) {
                continue;
            }
            let Package { name, version } = package;
            faults.push(format!("{LOCK_FILE}: {name} {version}: {} ({})", advisory.id, advisory.kind));
        }
    }
    let stale = reasons.iter().filter(|one| !needed.contains(&&one.id));
    faults.extend(stale.map(|one| format!("deny.toml: {}: no crate here has it any more", one.id)));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committed() -> State {
        State::parse(&crate::read(&crate::top().join(crate::STATE)).unwrap()).unwrap()
    }

    fn lock(name: &str, version: &str) -> Vec<Package> {
        let text = format!("version = 4\n\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
        packages(&text).unwrap()
    }

    #[test]
    fn a_crate_with_an_advisory_fails_unless_a_reason_is_given() {
        let state = committed();
        // A vulnerability, and an unmaintained crate.
        for (name, version, id, kind) in [
            ("time", "0.1.43", "RUSTSEC-2020-0071", "vulnerability"),
            ("net2", "0.2.39", "RUSTSEC-2020-0016", "unmaintained"),
        ] {
            let found = faults(&state, &lock(name, version), &[]);
            assert_eq!(found, [format!("Cargo.lock: {name} {version}: {id} ({kind})")]);
            let reason = |text: &str| [Reason { id: id.to_owned(), reason: text.to_owned() }];
            assert_eq!(faults(&state, &lock(name, version), &reason("it is not reached")), [""; 0]);
            assert_eq!(faults(&state, &lock(name, version), &reason(" ")).len(), 1, "a reason says something");
            let stale = faults(&state, &lock("time", "0.3.55"), &reason("it was needed once"));
            assert_eq!(stale, [format!("deny.toml: {id}: no crate here has it any more")]);
        }
    }

    #[test]
    fn the_lock_file_has_no_advisories() {
        let top = crate::top();
        let reasons = reasons(&crate::read(&top.join("deny.toml")).unwrap()).unwrap();
        let all = locked(&top).unwrap();
        assert!(all.len() > 300, "all of them: {}", all.len());
        assert_eq!(faults(&committed(), &all, &reasons), [""; 0]);
    }
}
