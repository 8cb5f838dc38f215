//! Any text as a manifest: if it parses, it can be written and parsed again.

use archive::Manifest;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(manifest) = Manifest::read(&mut &*bytes) else { return };
    for file in &manifest.files {
        for run in file.runs.iter() {
            let run = run.expect("it is in memory");
            assert!(run.end() <= file.file_bytes() && (run.pack as usize) < manifest.packs.len());
        }
    }
    let mut text = Vec::new();
    manifest.write(&mut text).expect("memory takes it");
    assert_eq!(Manifest::read(&mut text.as_slice()).expect("our own"), manifest);
}
