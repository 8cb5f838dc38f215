//! Every check has one definition: its id occurs in its own file, and nowhere else in the product's code.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use audit::checks;

fn crates_directory() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates' directory")
}

/// Every source file of every crate, except those used only by tests.
fn sources() -> Vec<PathBuf> {
    let crates = crates_directory();
    let mut directories: Vec<PathBuf> =
        fs::read_dir(crates).expect("crates").map(|entry| entry.expect("a crate").path().join("src")).collect();
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("testing.rs") {
                files.push(path);
            }
        }
    }
    files
}

/// The lines of code before a file's tests, without comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source file");
    let product = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    product.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<&str>>().join("\n")
}

/// The file that defines a check: `rest-page-damaged` is `checks/rest/page_damaged.rs`.
fn defines(path: &Path, id: &str) -> bool {
    // Waivers, which checks use, must know the check that they cannot cover.
    if id == "ev-waiver-expired" {
        return path.ends_with("audit/src/waiver.rs");
    }
    let (area, what) = id.split_once('-').expect("an area and what is wrong");
    path.ends_with(format!("audit/src/checks/{area}/{}.rs", what.replace('-', "_")))
}

#[test]
fn no_other_code_names_a_check_by_its_id() {
    let mut homes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut strays = Vec::new();
    for path in sources() {
        let code = code(&path);
        for check in checks::all().filter(|check| code.contains(&format!("\"{}\"", check.id))) {
            if defines(&path, check.id) {
                *homes.entry(check.id).or_default() += 1;
            } else {
                strays.push(format!("{}: {}", path.display(), check.id));
            }
        }
    }
    assert!(strays.is_empty(), "ask for the check's definition instead:\n{}", strays.join("\n"));
    assert_eq!(homes.len(), checks::all().count(), "each check has a file that is named like it");
}

#[test]
fn no_text_outside_of_the_checks_names_one_that_does_not_exist() {
    let areas: Vec<&str> = checks::all().filter_map(|check| check.id.split('-').next()).collect();
    let judges = |path: &PathBuf| {
        let name = path.strip_prefix(crates_directory()).expect("a path in a crate").iter().next();
        ["audit", "change", "report"].iter().any(|judge| name.is_some_and(|name| name == *judge))
    };
    for path in sources().into_iter().filter(judges) {
        for word in code(&path).split('"').skip(1).step_by(2) {
            let parts: Vec<&str> = word.split('-').collect();
            let like_an_id = parts.len() > 2
                && areas.contains(&parts[0])
                && parts.iter().all(|part| part.bytes().all(|b| b.is_ascii_lowercase()) && !part.is_empty());
            assert!(!like_an_id || checks::find(word).is_some(), "{}: there is no check {word}", path.display());
        }
    }
}
