//! Every kind of JSON document has a published schema, and a test that validates real documents with it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust files in a directory.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for item in fs::read_dir(directory).expect("a directory") {
        let path = item.expect("an entry").path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn texts(directories: &[&str]) -> Vec<String> {
    let mut paths = Vec::new();
    directories.iter().for_each(|directory| sources(&top().join(directory), &mut paths));
    paths.iter().map(|path| fs::read_to_string(path).expect("text")).collect()
}

/// Schema names such as `verify-1`, from the ids such as `"sealant.verify/1"` in the code.
fn ids() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in texts(&["crates"]) {
        // Documents in tests may be invalid on purpose.
        let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for rest in product.split("\"sealant.").skip(1) {
            let id = rest.split('"').next().unwrap_or_default();
            if let Some((name, version)) = id.split_once('/')
                && version.parse::<u32>().is_ok()
            {
                found.insert(format!("{name}-{version}"));
            }
        }
    }
    found
}

#[test]
fn every_document_has_its_schema() {
    let published: BTreeSet<String> = fs::read_dir(top().join("docs/schema"))
        .expect("a directory")
        .filter_map(|item| item.expect("an entry").file_name().to_str()?.strip_suffix(".json").map(str::to_owned))
        .collect();
    assert!(published.len() >= 20, "{published:?}");
    assert_eq!(published, ids());
}

#[test]
fn every_schema_validates_real_documents() {
    let tests = texts(&["tests"]).concat();
    let unused: Vec<_> = ids().into_iter().filter(|id| !tests.contains(&format!("\"{id}\""))).collect();
    assert_eq!(unused, [""; 0], "has_its_schema(&report, NAME)");
}
