//! Parses a captured packet down to its TCP segment. `etherparse` parses the headers and checks every length. Packets
//! that the capture truncated are parsed too.
//!
//! Source of the link types: <https://www.tcpdump.org/linktypes.html>.

use std::net::{IpAddr, SocketAddr};

use etherparse::{EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket, TcpSlice, TransportSlice};

/// The link type: the header that a captured packet begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// An Ethernet header.
    Ethernet,
    /// A header of the Linux "any" device, version 1: 16 bytes.
    LinuxCooked,
    /// A header of the Linux "any" device, version 2: 20 bytes.
    LinuxCooked2,
    /// An IP header.
    Ip,
    /// Four bytes with the address family: BSD's loopback device.
    Loopback,
}

impl Link {
    /// The type with this number in capture files.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        match number {
            0 | 108 => Some(Self::Loopback),
            1 => Some(Self::Ethernet),
            // OpenBSD and others use 12 and 14 for raw IP.
            12 | 14 | 101 | 228 | 229 => Some(Self::Ip),
            113 => Some(Self::LinuxCooked),
            276 => Some(Self::LinuxCooked2),
            _ => None,
        }
    }
}

/// A TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'p> {
    /// Address and port of the sender.
    pub from: SocketAddr,
    /// Address and port of the receiver.
    pub to: SocketAddr,
    /// Sequence number of the first byte of the payload; with [`Self::syn`], of the SYN itself.
    pub sequence: u32,
    /// SYN flag: opens a connection.
    pub syn: bool,
    /// ACK flag. A SYN without it comes from the client.
    pub ack: bool,
    /// FIN flag: closes this direction.
    pub fin: bool,
    /// RST flag: aborts the connection.
    pub rst: bool,
    /// The payload, as far as it was captured.
    pub payload: &'p [u8],
    /// Length of the payload on the wire, in bytes.
    pub wire_bytes: u32,
}

/// Whether a packet is a fragment of a larger TCP packet. Fragments are not reassembled.
#[must_use]
pub fn is_fragment(link: Link, packet: &[u8]) -> bool {
    let sliced = slice(link, packet);
    let payload = match sliced.as_ref().and_then(|sliced| sliced.net.as_ref()) {
        Some(LaxNetSlice::Ipv4(ip)) => ip.payload(),
        Some(LaxNetSlice::Ipv6(ip)) => ip.payload(),
        _ => return false,
    };
    payload.fragmented && payload.ip_number == IpNumber::TCP
}

/// The TCP segment in a packet; `None` if there is none, or only a fragment of one.
#[must_use]
pub fn parse(link: Link, packet: &[u8]) -> Option<Segment<'_>> {
    let sliced = slice(link, packet)?;
    let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { return None };
    let (from, to, missing_bytes) = match sliced.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let declared = usize::from(header.total_len()).saturating_sub(header.slice().len());
            (header.source_addr().into(), header.destination_addr().into(), missing(declared, ip.payload().payload))
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let declared = usize::from(header.payload_length()).saturating_sub(ip.extensions().slice().len());
            (header.source_addr().into(), header.destination_addr().into(), missing(declared, ip.payload().payload))
        }
        LaxNetSlice::Arp(_) => return None,
    };
    Some(segment(tcp, from, to, missing_bytes))
}

fn slice(link: Link, packet: &[u8]) -> Option<LaxSlicedPacket<'_>> {
    match link {
        Link::Ethernet => LaxSlicedPacket::from_ethernet(packet).ok(),
        Link::LinuxCooked => Some(by_ether_type(packet.get(14..16)?, packet.get(16..)?)),
        Link::LinuxCooked2 => Some(by_ether_type(packet.get(..2)?, packet.get(20..)?)),
        Link::Ip => LaxSlicedPacket::from_ip(packet).ok(),
        Link::Loopback => LaxSlicedPacket::from_ip(packet.get(4..)?).ok(),
    }
}

fn by_ether_type<'p>(ether_type: &[u8], rest: &'p [u8]) -> LaxSlicedPacket<'p> {
    let number = ether_type.iter().fold(0, |number, byte| number << 8 | u16::from(*byte));
    LaxSlicedPacket::from_ether_type(EtherType(number), rest)
}

/// Number of bytes that the IP header declares but that were not captured. The header says 0 if the network card
/// segments the packet later; then none are missing.
fn missing(declared: usize, captured: &[u8]) -> usize {
    declared.saturating_sub(captured.len())
}

fn segment<'p>(tcp: &TcpSlice<'p>, from: IpAddr, to: IpAddr, missing_bytes: usize) -> Segment<'p> {
    let payload = tcp.payload();
    Segment {
        from: SocketAddr::new(from.to_canonical(), tcp.source_port()),
        to: SocketAddr::new(to.to_canonical(), tcp.destination_port()),
        sequence: tcp.sequence_number(),
        syn: tcp.syn(),
        ack: tcp.ack(),
        fin: tcp.fin(),
        rst: tcp.rst(),
        payload,
        wire_bytes: u32::try_from(payload.len().saturating_add(missing_bytes)).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    use super::*;

    const BODY: &[u8] = b"\x05\0\0\0\x03SELE";

    fn ip_packet(v6: bool) -> Vec<u8> {
        let mut packet = Vec::new();
        let tcp = if v6 {
            PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(40000, 3306, 7, 1000)
        } else {
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(40000, 3306, 7, 1000)
        };
        tcp.ack(1).write(&mut packet, BODY).unwrap();
        packet
    }

    /// Headers of each link type in front of an IP packet.
    fn on_link(link: Link, v6: bool, ip: &[u8]) -> Vec<u8> {
        let ether_type: [u8; 2] = if v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
        let header = match link {
            Link::Ethernet => [&[0; 12][..], &ether_type].concat(),
            Link::LinuxCooked => [&[0; 14][..], &ether_type].concat(),
            Link::LinuxCooked2 => [&ether_type[..], &[0; 18]].concat(),
            Link::Ip => Vec::new(),
            Link::Loopback => vec![2, 0, 0, 0],
        };
        [&header[..], ip].concat()
    }

    const LINKS: [Link; 5] = [Link::Ethernet, Link::LinuxCooked, Link::LinuxCooked2, Link::Ip, Link::Loopback];

    #[test]
    fn a_segment_is_read_from_every_link_type() {
        for link in LINKS {
            for v6 in [false, true] {
                let packet = on_link(link, v6, &ip_packet(v6));
                let segment = parse(link, &packet).unwrap_or_else(|| panic!("{link:?} {v6}"));
                assert_eq!((segment.from.port(), segment.to.port(), segment.sequence), (40000, 3306, 7));
                assert_eq!((segment.payload, segment.wire_bytes), (BODY, 9), "{link:?} {v6}");
                assert!(segment.ack && !segment.syn && !segment.fin && !segment.rst);
            }
        }
    }

    #[test]
    fn tags_of_vlans_are_passed_over() {
        let single = [&[0; 12][..], &[0x81, 0x00, 0x00, 0x05, 0x08, 0x00], &ip_packet(false)].concat();
        let double =
            [&[0; 12][..], &[0x88, 0xa8, 0x00, 0x02, 0x81, 0x00, 0x00, 0x05, 0x86, 0xdd], &ip_packet(true)].concat();
        for packet in [single, double] {
            assert_eq!(parse(Link::Ethernet, &packet).unwrap().payload, BODY);
        }
    }

    #[test]
    fn a_packet_that_was_cut_keeps_its_length_on_the_wire() {
        for v6 in [false, true] {
            let packet = ip_packet(v6);
            let cut = parse(Link::Ip, &packet[..packet.len() - 4]).unwrap();
            assert_eq!((cut.payload, cut.wire_bytes), (&BODY[..5], 9));
        }
    }

    #[test]
    fn the_padding_of_a_short_frame_is_no_payload() {
        let mut bare = Vec::new();
        let tcp = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(40000, 3306, 7, 1000);
        tcp.syn().write(&mut bare, &[]).unwrap();
        let framed = [on_link(Link::Ethernet, false, &bare), vec![0; 6]].concat();
        let segment = parse(Link::Ethernet, &framed).unwrap();
        assert!(segment.syn && segment.payload.is_empty() && segment.wire_bytes == 0);
    }

    #[test]
    fn other_packets_have_no_segment() {
        let mut udp = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(1, 3306).write(&mut udp, b"x").unwrap();
        assert_eq!((parse(Link::Ip, &udp), is_fragment(Link::Ip, &udp)), (None, false));
        assert!(!is_fragment(Link::Ip, &ip_packet(false)));
        // The first fragment, and a later one.
        for offset in [0, 1] {
            let mut fragment = ip_packet(false);
            fragment[6] = 0x20;
            fragment[7] = offset;
            assert_eq!((parse(Link::Ip, &fragment), is_fragment(Link::Ip, &fragment)), (None, true));
        }
    }

    proptest! {
        #[test]
        fn arbitrary_packets_never_panic(bytes: Vec<u8>, v6: bool, at in 0_usize..80, value: u8) {
            for link in LINKS {
                let _ = parse(link, &bytes);
                let mut packet = on_link(link, v6, &ip_packet(v6));
                let at = at.min(packet.len() - 1);
                packet[at] = value;
                let _ = parse(link, &packet);
                let _ = parse(link, &packet[..at]);
            }
        }
    }
}
