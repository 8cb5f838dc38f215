//! Any text as a receipt: if it parses, all of its objects have names, and it can be written and parsed again.

use archive::{Receipt, names};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(receipt) = Receipt::parse(bytes) else { return };
    for (object, _) in receipt.objects() {
        assert_eq!(names::host(&object), Some(receipt.host.as_str()));
    }
    let encoded = receipt.encode().expect("it can be written");
    assert_eq!(Receipt::parse(&encoded).expect("our own"), receipt);
}
