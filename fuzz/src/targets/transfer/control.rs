//! Messages of the control connection: the first byte is the type. A message that parses is written to the same bytes,
//! and a list of files that is accepted is sound.

use transfer::{
    plan::first_invalid,
    wire::{Control, frame},
};

pub(crate) fn run(input: &[u8]) {
    if let Some(header) = input.first_chunk() {
        let _ = frame::parse_header(*header);
    }
    let Some((kind, body)) = input.split_first() else { return };
    let Ok(message) = Control::decode(*kind, body) else { return };
    let mut back = Vec::new();
    assert_eq!(message.encode(&mut back), *kind);
    // The text may not have been UTF-8.
    if !matches!(message, Control::Failed { .. } | Control::Note { .. }) {
        assert_eq!(back, body);
    }
    if let Control::Entry(entry) = message {
        let escapes = entry.path.as_path().components().any(|part| !matches!(part, std::path::Component::Normal(_)));
        assert!(!escapes);
        assert!(first_invalid(&[entry.clone(), entry]).is_some());
    }
}
