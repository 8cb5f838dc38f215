//! A message of the X Protocol: its type, then its body.

use server::probe::x_messages::parse;

pub(crate) fn run(data: &[u8]) {
    if let Some((kind, body)) = data.split_first() {
        let _ = parse(*kind, body);
    }
}
