//! Manifests on disks that others may write to. One that parses is written, and parses to the same result.

use transfer::manifest::Manifest;

pub(crate) fn run(input: &[u8]) {
    let Ok(manifest) = Manifest::read(&mut &*input) else { return };
    let _ = manifest.bytes();
    let mut text = Vec::new();
    manifest.write(&mut text).expect("memory can be written to");
    assert_eq!(Manifest::read(&mut text.as_slice()).expect("our own reads back"), manifest);
}
