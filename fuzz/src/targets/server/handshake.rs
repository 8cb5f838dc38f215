//! A server's first flight: records, messages, and their content.

use server::tls::{
    record::{Deframer, Message},
    server_hello,
};

pub(crate) fn run(data: &[u8]) {
    let mut deframer = Deframer::default();
    let mut suite = 0xc02f;
    for part in data.chunks(97) {
        if deframer.push(part).is_err() {
            return;
        }
        while let Ok(Some(message)) = deframer.next_message() {
            let Message::Handshake { kind, body } = message else { continue };
            match kind {
                2 => suite = server_hello::parse(&body).map_or(suite, |hello| hello.suite),
                11 => {
                    let _ = server_hello::certificates(&body);
                }
                _ => {
                    let _ = server_hello::key_exchange(suite, &body);
                }
            }
        }
    }
}
