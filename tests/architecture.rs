//! Compares docs/architecture.md with the workspace: every crate is listed with its dependencies, and all arrows point
//! down, between crates and between the modules of a crate.

mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const PAGE: &str = include_str!("../docs/architecture.md");

/// Packages that only tests use.
const TESTS: [&str; 3] = ["advisories", "fuzz", "harness"];

type Crates = BTreeMap<String, BTreeSet<String>>;

fn short(package: &str) -> &str {
    package.strip_prefix("sealant-").unwrap_or(package)
}

/// The packages of the workspace, as cargo describes them.
fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"];
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let output = Command::new(cargo).args(arguments).arg(manifest).output().expect("cargo starts");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

fn name(value: &Value) -> String {
    value["name"].as_str().expect("a name").to_owned()
}

/// Crates of the workspace, each with the crates it depends on.
fn workspace_crates() -> Crates {
    let packages = packages();
    let needs = |package: &Value| {
        let normal =
            package["dependencies"].as_array().expect("dependencies").iter().filter(|needed| needed["kind"].is_null());
        normal
            .map(name)
            .filter(|needed| needed.starts_with("sealant"))
            .map(|needed| short(&needed).to_owned())
            .collect()
    };
    let crates = packages.iter().map(|package| (short(&name(package)).to_owned(), needs(package)));
    crates.filter(|(name, _)| !TESTS.contains(&name.as_str())).collect()
}

/// Texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// Rows of the table.
fn page_crates() -> Crates {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        let [name, _, needs] = cells[..] else { panic!("three cells: {row}") };
        (quoted(name).next().expect("a name"), quoted(needs).collect())
    })
    .collect()
}

/// The layer of each crate in the picture, counted from the top.
fn layers() -> BTreeMap<String, usize> {
    let picture = PAGE.split("```").nth(1).expect("a picture");
    let lines = picture.lines().filter(|line| !line.is_empty()).enumerate();
    lines.flat_map(|(depth, line)| line[16..].split_whitespace().map(move |name| (name.to_owned(), depth))).collect()
}

#[test]
fn every_crate_is_on_the_page_with_its_dependencies() {
    assert_eq!(page_crates(), workspace_crates());
}

/// The package of the binary is described for those who install it.
#[test]
fn a_crate_is_described_as_on_the_page() {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `"));
    let described: BTreeMap<String, &str> = rows
        .map(|row| {
            let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
            (quoted(cells[0]).next().expect("a name"), cells[1].trim())
        })
        .collect();
    let packages = packages();
    assert!(packages.len() > described.len());
    for package in &packages {
        let (name, description) = (name(package), package["description"].as_str());
        let Some(sentence) = described.get(short(&name)).filter(|_| name != "sealant") else { continue };
        assert_eq!(description, Some(*sentence), "{name}");
    }
}

#[test]
fn crates_depend_only_on_lower_rows() {
    let layers = layers();
    let crates = workspace_crates();
    assert_eq!(layers.keys().collect::<Vec<_>>(), crates.keys().collect::<Vec<_>>());
    for (name, needs) in &crates {
        for needed in needs {
            assert!(layers[needed] > layers[name], "{name} depends on {needed}");
        }
    }
}

/// Public types of errors in the library of a crate.
fn errors_in(sources: &Path) -> Vec<String> {
    let entries = fs::read_dir(sources).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| match path.extension() {
            _ if path.is_dir() => errors_in(&path),
            Some(extension) if extension == "rs" => {
                let text = fs::read_to_string(&path).expect("text");
                let names = text.lines().filter_map(|line| {
                    let rest = line.strip_prefix("pub enum ").or_else(|| line.strip_prefix("pub struct "))?;
                    rest.split([' ', '<', '(', ';']).next()
                });
                names.filter(|name| name.ends_with("Error")).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        })
        .collect()
}

#[test]
fn a_crate_has_one_error() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in workspace_crates().keys() {
        let errors = errors_in(&crates.join(name).join("src"));
        assert!(errors.len() <= 1, "{name} has {errors:?}");
    }
}

#[test]
fn modules_of_a_crate_have_no_circles() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let circles = |name: &String| {
        let found = modules::circles(&crates.join(name).join("src"));
        found.into_iter().map(|circle| (name.clone(), circle)).collect::<Vec<_>>()
    };
    let found: BTreeSet<(String, String)> = workspace_crates().keys().flat_map(circles).collect();
    assert!(found.is_empty(), "modules that use each other, directly or through others: {found:?}");
}
