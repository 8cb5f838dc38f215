//! A captured packet: its link type, then its bytes.

use sniff::packet::{Link, is_fragment, parse};

pub(crate) fn run(data: &[u8]) {
    let Some((link, packet)) = data.split_first() else { return };
    let links = [Link::Ethernet, Link::LinuxCooked, Link::LinuxCooked2, Link::Ip, Link::Loopback];
    let link = links[usize::from(*link) % links.len()];
    if let Some(segment) = parse(link, packet) {
        assert!(!is_fragment(link, packet));
        assert!(u64::from(segment.wire_bytes) >= segment.payload.len() as u64);
    }
}
