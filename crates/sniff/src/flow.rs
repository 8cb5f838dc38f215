//! The connections that are open, within bounds: of their number, and of the bytes that are kept of them.

use std::collections::HashMap;
use std::net::SocketAddr;

use jiff::Timestamp;

use crate::classify::{Class, Side, State, classify};
use crate::packet::Segment;
use crate::service::{Ports, Service};
use crate::stream::Stream;
use crate::traffic::{Counts, Ended, Rows, Traffic};

/// Connections that are followed at once.
const MAX_FLOWS: usize = 16_384;

/// When there are too many, this share of them ends, those that were silent longest.
const EVICTED: usize = MAX_FLOWS / 8;

/// Bytes that are kept of all connections together.
const MAX_HELD_BYTES: usize = 32 << 20;

/// Both ends, the smaller address first.
type Key = (SocketAddr, SocketAddr);

/// A connection.
#[derive(Debug)]
struct Flow {
    client: SocketAddr,
    server: SocketAddr,
    to_server: Stream,
    to_client: Stream,
    /// What it is, as soon as more bytes would change nothing.
    class: Option<Class>,
    first_seen: Timestamp,
    last_seen: Timestamp,
    client_ended: bool,
    server_ended: bool,
}

/// Follows connections, packet by packet.
#[derive(Debug)]
pub struct FlowTable {
    ports: Ports,
    flows: HashMap<Key, Flow>,
    held_bytes: usize,
    rows: Rows,
    packets: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

/// What a [`FlowTable`] has seen.
#[derive(Debug)]
pub struct Seen {
    /// Rows, the clear ones first.
    pub traffic: Vec<Traffic>,
    /// Numbers of connections.
    pub connections: Counts,
    /// Connections without a row.
    pub left_out: u64,
    /// Packets of the watched ports.
    pub packets: u64,
    /// Earliest of them.
    pub first: Option<Timestamp>,
    /// Latest of them.
    pub last: Option<Timestamp>,
}

impl FlowTable {
    /// Follows connections of these ports.
    #[must_use]
    pub fn new(ports: Ports) -> Self {
        Self { ports, flows: HashMap::new(), held_bytes: 0, rows: Rows::default(), packets: 0, first: None, last: None }
    }

    /// Adds a packet. Packets of other ports are ignored.
    pub fn push(&mut self, time: Timestamp, segment: &Segment<'_>) {
        if !self.ports.watches(segment.from.port(), segment.to.port()) {
            return;
        }
        self.packets = self.packets.saturating_add(1);
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
        let key = (segment.from.min(segment.to), segment.from.max(segment.to));
        if segment.syn && !segment.ack {
            self.end(&key);
        }
        if !self.flows.contains_key(&key) {
            // A connection that ends, or a bare acknowledgement, tells nothing.
            if segment.wire_bytes == 0 && !segment.syn {
                return;
            }
            self.make_room();
            self.flows.insert(key, Flow::new(&self.ports, time, segment));
        }
        let Some(flow) = self.flows.get_mut(&key) else { return };
        let before = flow.held_bytes();
        let has_ended = flow.push(time, segment);
        self.held_bytes = self.held_bytes.saturating_sub(before).saturating_add(flow.held_bytes());
        if self.held_bytes > MAX_HELD_BYTES {
            self.held_bytes = self.held_bytes.saturating_sub(flow.settle());
        }
        if has_ended {
            self.end(&key);
        }
    }

    /// Ends all connections.
    #[must_use]
    pub fn finish(mut self) -> Seen {
        let keys: Vec<Key> = self.flows.keys().copied().collect();
        keys.iter().for_each(|key| self.end(key));
        let (traffic, connections, left_out) = self.rows.finish();
        Seen { traffic, connections, left_out, packets: self.packets, first: self.first, last: self.last }
    }

    fn end(&mut self, key: &Key) {
        if let Some(flow) = self.flows.remove(key) {
            self.held_bytes = self.held_bytes.saturating_sub(flow.held_bytes());
            let service = flow.service(&self.ports);
            if let Some(ended) = flow.ended(service) {
                self.rows.add(ended);
            }
        }
    }

    fn make_room(&mut self) {
        if self.flows.len() < MAX_FLOWS {
            return;
        }
        let mut by_age: Vec<(Timestamp, Key)> = self.flows.iter().map(|(key, flow)| (flow.last_seen, *key)).collect();
        by_age.sort_unstable();
        by_age.iter().take(EVICTED).for_each(|(_, key)| self.end(key));
    }
}

impl Flow {
    fn new(ports: &Ports, time: Timestamp, segment: &Segment<'_>) -> Self {
        let (client, server) =
            if is_from_client(ports, segment) { (segment.from, segment.to) } else { (segment.to, segment.from) };
        Self {
            client,
            server,
            to_server: Stream::default(),
            to_client: Stream::default(),
            class: None,
            first_seen: time,
            last_seen: time,
            client_ended: false,
            server_ended: false,
        }
    }

    /// Adds a packet. Returns whether the connection has ended.
    fn push(&mut self, time: Timestamp, segment: &Segment<'_>) -> bool {
        self.last_seen = self.last_seen.max(time);
        let is_to_server = segment.to == self.server;
        let stream = if is_to_server { &mut self.to_server } else { &mut self.to_client };
        let mut sequence = segment.sequence;
        if segment.syn {
            sequence = sequence.wrapping_add(1);
            stream.open(sequence);
        }
        stream.push(sequence, segment.payload, segment.wire_bytes);
        if self.class.is_none() && stream.is_full() {
            self.settle_if_known();
        }
        self.client_ended |= segment.fin && is_to_server;
        self.server_ended |= segment.fin && !is_to_server;
        segment.rst || (self.client_ended && self.server_ended)
    }

    fn held_bytes(&self) -> usize {
        self.to_server.held_bytes().saturating_add(self.to_client.held_bytes())
    }

    fn classify(&self) -> Class {
        classify(side(&self.to_server), side(&self.to_client))
    }

    /// Forgets the bytes if more of them would change nothing.
    fn settle_if_known(&mut self) {
        let class = self.classify();
        if class.is_settled || (self.to_server.is_full() && self.to_client.is_full()) {
            self.keep(class);
        }
    }

    /// Forgets the bytes, and takes what they show so far. Returns how many there were.
    fn settle(&mut self) -> usize {
        let held = self.held_bytes();
        if self.class.is_none() {
            let class = self.classify();
            self.keep(class);
        }
        held
    }

    fn keep(&mut self, class: Class) {
        self.class = Some(class);
        self.to_server.release();
        self.to_client.release();
    }

    fn service(&self, ports: &Ports) -> Service {
        ports.service(self.server.port()).unwrap_or(Service::Other)
    }

    /// The connection as a row counts it; `None` if it carried nothing.
    fn ended(mut self, service: Service) -> Option<Ended> {
        let (bytes_to_server, bytes_to_client) = (self.to_server.seen_bytes(), self.to_client.seen_bytes());
        if bytes_to_server == 0 && bytes_to_client == 0 {
            return None;
        }
        self.settle();
        let class = self.class?;
        // Bytes passed, but none of them was captured.
        let state = match class.state {
            State::Opening if class.evidence.is_empty() => State::Unknown,
            state => state,
        };
        Some(Ended {
            client: self.client.ip(),
            server: self.server,
            service,
            class: Class { state, ..class },
            bytes_to_server,
            bytes_to_client,
            first_seen: self.first_seen,
            last_seen: self.last_seen,
        })
    }
}

fn side(stream: &Stream) -> Side<'_> {
    Side { bytes: stream.bytes(), is_from_start: stream.is_from_start(), starts: stream.starts() }
}

/// Whether the sender is the client: the one that sent the SYN; or else the one whose port is not watched, or higher.
fn is_from_client(ports: &Ports, segment: &Segment<'_>) -> bool {
    if segment.syn {
        return !segment.ack;
    }
    let (from, to) = (segment.from.port(), segment.to.port());
    match (ports.service(from), ports.service(to)) {
        (None, Some(_)) => true,
        (Some(_), None) => false,
        _ => from >= to,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Protocol;

    const GREETING: &[u8] =
        b"\x49\0\0\0\x0a9.7.4\0\x07\0\0\0abcdefgh\0\xff\xff\x2d\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0\
        ijklmnopqrst\0caching_sha2_password\0";

    fn segment(from: u16, to: u16, sequence: u32, payload: &[u8]) -> Segment<'_> {
        let address = |port| SocketAddr::from(([10, 0, 0, 1], port));
        let wire_bytes = u32::try_from(payload.len()).unwrap();
        let (from, to) = (address(from), address(to));
        Segment { from, to, sequence, syn: false, ack: true, fin: false, rst: false, payload, wire_bytes }
    }

    fn syn(from: u16, to: u16, ack: bool) -> Segment<'static> {
        Segment { syn: true, ack, ..segment(from, to, 99, b"") }
    }

    fn seen(segments: &[Segment<'_>]) -> Seen {
        let mut table = FlowTable::new(Ports::usual());
        for (second, segment) in segments.iter().enumerate() {
            table.push(Timestamp::from_second(i64::try_from(second).unwrap()).unwrap(), segment);
        }
        table.finish()
    }

    fn login() -> Vec<u8> {
        [&b"\x28\0\0\x01\0\x82\0\0\0\0\0\x01\x2d"[..], &[0; 23], b"name\0\0\0\0"].concat()
    }

    #[test]
    fn a_connection_is_one_row_with_its_bytes_and_times() {
        let login = login();
        let segments = [
            syn(40000, 3306, false),
            syn(3306, 40000, true),
            segment(3306, 40000, 100, GREETING),
            segment(3306, 40000, 100, GREETING),
            segment(40000, 3306, 100, &login),
            segment(40000, 80, 100, b"of another port"),
        ];
        let seen = seen(&segments);
        let [row] = &seen.traffic[..] else { panic!("{seen:?}") };
        assert_eq!((row.protocol, row.state, row.connections), (Protocol::Mysql, State::Clear, 1));
        assert_eq!((row.bytes_to_client, row.bytes_to_server), (GREETING.len() as u64, login.len() as u64));
        assert_eq!((row.first_seen.as_second(), row.last_seen.as_second(), seen.packets), (0, 4, 5));
        assert_eq!(row.server.port(), 3306);
    }

    #[test]
    fn connections_of_one_kind_are_one_row_and_a_port_can_be_used_again() {
        let login = login();
        let once = [
            syn(40000, 3306, false),
            syn(3306, 40000, true),
            segment(3306, 40000, 100, GREETING),
            segment(40000, 3306, 100, &login),
        ];
        let seen = seen(&[once, once].concat());
        assert_eq!((seen.traffic.len(), seen.traffic[0].connections, seen.connections.clear), (1, 2, 2));
    }

    #[test]
    fn a_server_is_known_by_its_port_if_no_syn_was_seen() {
        let seen = seen(&[segment(3306, 500, 1, b"\x05\0\0\x01\0\0\0\x02\0")]);
        assert_eq!(seen.traffic[0].server.port(), 3306);
    }

    #[test]
    fn scans_and_acknowledgements_are_no_connections() {
        let seen = seen(&[syn(40000, 3306, false), segment(40001, 3306, 1, b"")]);
        assert_eq!((seen.traffic.len(), seen.connections), (0, Counts::default()));
    }

    #[test]
    fn any_number_of_connections_needs_bounded_memory() {
        let mut table = FlowTable::new(Ports::usual());
        let filler = vec![0xee; 1400];
        for number in 0..20_000_u32 {
            let [_, a, b, c] = number.to_be_bytes();
            let mut one = segment(40000, 3306, 5, &filler);
            one.from = SocketAddr::from(([10, a, b, c], 40000));
            for part in 0..3 {
                one.sequence = 5 + part * 1400;
                table.push(Timestamp::UNIX_EPOCH, &one);
            }
            assert!(table.flows.len() <= MAX_FLOWS && table.held_bytes <= MAX_HELD_BYTES + crate::stream::KEPT_BYTES);
        }
        let seen = table.finish();
        assert_eq!(seen.connections.unknown, 20_000);
        assert_eq!(u64::try_from(seen.traffic.len()).unwrap() + seen.left_out, 20_000);
    }
}
