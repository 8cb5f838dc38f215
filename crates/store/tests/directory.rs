//! A directory as a store: the rules of every store.

#[path = "support/conformance.rs"]
mod conformance;

use store::Directory;

#[test]
fn a_directory_keeps_objects_as_every_store_does() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Directory::make(&directory.path().join("repository")).expect("a store");
    conformance::check(&store, true);
}
