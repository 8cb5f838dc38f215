//! Any text as a manifest: if it parses, it can be written and parsed again.

use archive::Manifest;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(manifest) = Manifest::read(&mut &*bytes) else { return };
    for file in &manifest.files {
        assert!(file.runs.iter().all(|run| run.end() <= file.file_bytes()));
        assert!(file.runs.iter().all(|run| (run.pack as usize) < manifest.packs.len()));
    }
    let mut text = Vec::new();
    manifest.write(&mut text).expect("memory takes it");
    assert_eq!(Manifest::read(&mut text.as_slice()).expect("our own"), manifest);
}
