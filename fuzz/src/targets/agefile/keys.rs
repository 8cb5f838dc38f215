//! Any text as a recipient, an identity, or a file of identities.

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    agefile::fuzzing::keys(text);
}
