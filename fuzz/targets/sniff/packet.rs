//! A captured packet: its link type, then its bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sniff::packet::{Link, parse};

fuzz_target!(|data: &[u8]| {
    let Some((link, packet)) = data.split_first() else { return };
    let links = [Link::Ethernet, Link::LinuxCooked, Link::LinuxCooked2, Link::Ip, Link::Loopback];
    if let Some(segment) = parse(links[usize::from(*link) % links.len()], packet) {
        assert!(u64::from(segment.wire_bytes) >= segment.payload.len() as u64);
    }
});
