//! Any bytes as the plain text of a pack: everything read has the announced length.

use archive::PackReader;

pub(crate) fn run(bytes: &[u8]) {
    let mut reader = PackReader::new(bytes).expect("there is memory");
    while let Ok(Some(frame)) = reader.next_frame() {
        assert_eq!(frame.data.len() as u64, frame.description.bytes());
        let mut end = 0;
        for extent in &frame.description.extents {
            assert!(extent.at >= end && extent.bytes > 0);
            end = extent.at + extent.bytes;
        }
    }
}
