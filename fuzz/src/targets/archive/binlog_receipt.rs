//! Any text as a receipt of binary logs: if it parses, it can be written and parsed again.

use archive::binlog::BinlogReceipt;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(receipt) = BinlogReceipt::parse(bytes) else { return };
    for part in &receipt.segments {
        let _ = part.name(&receipt.host, &receipt.server);
        let _ = part.follows(&receipt.end);
    }
    let encoded = receipt.encode().expect("it can be written");
    assert_eq!(BinlogReceipt::parse(&encoded).expect("our own"), receipt);
}
