//! Follows open connections. Their number and the bytes kept in memory are limited.

use std::collections::HashMap;
use std::mem;
use std::net::SocketAddr;

use jiff::Timestamp;

use crate::classify::{Class, Side, State, classify};
use crate::packet::Segment;
use crate::service::{Ports, Service};
use crate::stream::Stream;
use crate::traffic::{Counts, Ended, Rows, Traffic};

/// Maximum number of connections that are followed at once.
const MAX_FLOWS: usize = 16_384;

/// Number of connections to drop when [`MAX_FLOWS`] is reached: ended ones first, then those idle longest.
const EVICTED: usize = MAX_FLOWS / 8;

/// Maximum number of bytes kept of all connections together.
const MAX_HELD_BYTES: usize = 32 << 20;

/// When [`MAX_HELD_BYTES`] is exceeded, connections are classified early until at most this many bytes are kept.
const FREED_TO_BYTES: usize = MAX_HELD_BYTES / 2;

/// A connection is first classified after this many bytes, and again each time the number has doubled.
const FIRST_LOOK_BYTES: usize = 256;

/// Both ends, the smaller address first.
type Key = (SocketAddr, SocketAddr);

#[derive(Debug)]
struct Flow {
    client: SocketAddr,
    server: SocketAddr,
    to_server: Stream,
    to_client: Stream,
    /// The final classification; `None` while more bytes may change it.
    class: Option<Class>,
    first_seen: Timestamp,
    last_seen: Timestamp,
    /// Number of bytes at which the connection is classified again.
    next_look: usize,
    /// Number of bytes that [`Self::class`] is based on.
    judged_bytes: usize,
    client_ended: bool,
    server_ended: bool,
    /// Whether the connection has ended. The flow is kept so that late packets do not count as a new connection.
    has_ended: bool,
}

/// Follows connections, packet by packet.
#[derive(Debug)]
pub struct FlowTable {
    ports: Ports,
    flows: HashMap<Key, Flow>,
    held_bytes: usize,
    rows: Rows,
    packets: u64,
    skipped: u64,
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
    /// Packets that could not be read.
    pub skipped: u64,
    /// Time of the first packet.
    pub first: Option<Timestamp>,
    /// Time of the last packet.
    pub last: Option<Timestamp>,
}

impl FlowTable {
    /// Creates an empty table for connections on these ports.
    #[must_use]
    pub fn new(ports: Ports) -> Self {
        Self {
            ports,
            flows: HashMap::new(),
            held_bytes: 0,
            rows: Rows::default(),
            packets: 0,
            skipped: 0,
            first: None,
            last: None,
        }
    }

    /// Counts a packet that could not be parsed. It may belong to a watched connection, so
    /// [`Verdict::Encrypted`](crate::Verdict::Encrypted) is no longer possible.
    pub fn skip(&mut self) {
        self.skipped = self.skipped.saturating_add(1);
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
        if self.flows.get(&key).is_some_and(|flow| flow.is_followed_by(segment)) {
            self.end(&key);
        }
        if !self.flows.contains_key(&key) {
            // A packet without data that does not open a connection shows nothing.
            if segment.wire_bytes == 0 && !segment.syn {
                return;
            }
            self.make_room();
            self.flows.insert(key, Flow::new(&self.ports, time, segment));
        }
        let Some(flow) = self.flows.get_mut(&key) else { return };
        let before = flow.held_bytes();
        flow.push(time, segment);
        self.held_bytes = self.held_bytes.saturating_sub(before).saturating_add(flow.held_bytes());
        if self.held_bytes > MAX_HELD_BYTES {
            self.free_memory();
        }
    }

    /// Ends all connections and returns the result.
    #[must_use]
    pub fn finish(mut self) -> Seen {
        let keys: Vec<Key> = self.flows.keys().copied().collect();
        keys.iter().for_each(|key| self.end(key));
        let (traffic, connections, left_out) = mem::take(&mut self.rows).finish();
        let Self { packets, skipped, first, last, .. } = self;
        Seen { traffic, connections, left_out, packets, skipped, first, last }
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
        let by_age = self.ordered(|flow| flow.has_ended);
        by_age.iter().take(EVICTED).for_each(|key| self.end(key));
    }

    /// Classifies connections early to free memory: first those already known to be in clear, since more bytes do not
    /// change that; then those idle longest.
    fn free_memory(&mut self) {
        for key in self.ordered(|flow| flow.class.is_none() && flow.classify().state == State::Clear) {
            if self.held_bytes <= FREED_TO_BYTES {
                return;
            }
            if let Some(flow) = self.flows.get_mut(&key) {
                self.held_bytes = self.held_bytes.saturating_sub(flow.held_bytes());
                flow.settle_early();
            }
        }
    }

    /// All connections, the preferred ones first; within each group, those idle longest first.
    fn ordered(&self, is_preferred: impl Fn(&Flow) -> bool) -> Vec<Key> {
        let rank = |(key, flow): (&Key, &Flow)| (!is_preferred(flow), flow.last_seen, *key);
        let mut ranked: Vec<(bool, Timestamp, Key)> = self.flows.iter().map(rank).collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|(.., key)| key).collect()
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
            next_look: FIRST_LOOK_BYTES,
            judged_bytes: 0,
            client_ended: false,
            server_ended: false,
            has_ended: false,
        }
    }

    /// Whether a packet opens a new connection between the same ports. A retransmission of this connection's SYN does
    /// not.
    fn is_followed_by(&self, segment: &Segment<'_>) -> bool {
        let stream = if segment.to == self.server { &self.to_server } else { &self.to_client };
        let first = segment.sequence.wrapping_add(1);
        segment.syn && stream.base().map_or(!segment.ack, |base| base != first)
    }

    fn push(&mut self, time: Timestamp, segment: &Segment<'_>) {
        if self.has_ended {
            return;
        }
        self.last_seen = self.last_seen.max(time);
        let is_to_server = segment.to == self.server;
        let stream = if is_to_server { &mut self.to_server } else { &mut self.to_client };
        let mut sequence = segment.sequence;
        if segment.syn {
            sequence = sequence.wrapping_add(1);
            stream.open(sequence);
        }
        let was_full = stream.is_full();
        stream.push(sequence, segment.payload, segment.wire_bytes);
        let is_full_now = stream.is_full() && !was_full;
        if self.class.is_none() && (is_full_now || self.known_bytes() >= self.next_look) {
            self.settle_if_known();
        }
        self.client_ended |= segment.fin && is_to_server;
        self.server_ended |= segment.fin && !is_to_server;
        if segment.rst || (self.client_ended && self.server_ended) {
            self.has_ended = true;
            self.settle();
        }
    }

    fn held_bytes(&self) -> usize {
        self.to_server.held_bytes().saturating_add(self.to_client.held_bytes())
    }

    /// Number of bytes that can be classified: those before the first gap of each direction.
    fn known_bytes(&self) -> usize {
        self.to_server.bytes().len().saturating_add(self.to_client.bytes().len())
    }

    fn classify(&self) -> Class {
        classify(side(&self.to_server), side(&self.to_client))
    }

    /// Classifies the connection. If more bytes cannot change the result, keeps it and releases the bytes.
    fn settle_if_known(&mut self) {
        let class = self.classify();
        if class.is_settled || (self.to_server.is_full() && self.to_client.is_full()) {
            self.keep(class);
        } else {
            self.next_look = self.known_bytes().saturating_mul(2).max(FIRST_LOOK_BYTES);
        }
    }

    /// Classifies the connection for good and releases its bytes.
    fn settle(&mut self) {
        if self.class.is_none() {
            let class = self.classify();
            self.keep(class);
        }
    }

    /// As [`Self::settle`], before the connection has ended. [`State::Opening`] becomes unknown, because the connection
    /// may continue in clear.
    fn settle_early(&mut self) {
        if self.class.is_none() {
            let class = self.classify();
            let state = if class.state == State::Opening { State::Unknown } else { class.state };
            self.keep(Class { state, ..class });
        }
    }

    fn keep(&mut self, class: Class) {
        self.judged_bytes = self.known_bytes();
        self.class = Some(class);
        self.to_server.release();
        self.to_client.release();
    }

    fn service(&self, ports: &Ports) -> Service {
        ports.service(self.server.port()).unwrap_or(Service::Other)
    }

    /// The ended connection, to be counted in a row; `None` if it carried no data.
    fn ended(mut self, service: Service) -> Option<Ended> {
        let (bytes_to_server, bytes_to_client) = (self.to_server.seen_bytes(), self.to_client.seen_bytes());
        if bytes_to_server == 0 && bytes_to_client == 0 {
            return None;
        }
        self.settle();
        let class = self.class?;
        // If some bytes were not captured or not kept, they may have been in clear.
        let judged_bytes = u64::try_from(self.judged_bytes).unwrap_or(u64::MAX);
        let is_judged = self.to_server.reach().saturating_add(self.to_client.reach()) <= judged_bytes;
        let state = match class.state {
            State::Opening if class.evidence.is_empty() || !is_judged => State::Unknown,
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

/// Whether the sender is the client. The client sends the SYN. Without a SYN, the client is the side whose port is not
/// watched, or else the one with the higher port.
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
        let from = |first: u32| {
            [
                Segment { sequence: first - 1, ..syn(40000, 3306, false) },
                Segment { sequence: first - 1, ..syn(3306, 40000, true) },
                segment(3306, 40000, first, GREETING),
                segment(40000, 3306, first, &login),
            ]
        };
        let seen = seen(&[from(100), from(5000)].concat());
        assert_eq!((seen.traffic.len(), seen.traffic[0].connections, seen.connections.clear), (1, 2, 2));
    }

    /// Follows a connection up to the server's greeting, then these segments.
    fn greeted(more: &[Segment<'_>]) -> Seen {
        let opened = [syn(40000, 3306, false), syn(3306, 40000, true), segment(3306, 40000, 100, GREETING)];
        seen(&[&opened[..], more].concat())
    }

    #[test]
    fn bytes_that_were_not_judged_leave_an_opening_unknown() {
        assert_eq!(greeted(&[]).connections, Counts { opening: 1, ..Counts::default() });
        let unknown = Counts { unknown: 1, ..Counts::default() };
        // The login is missing, or none of its bytes were captured.
        assert_eq!(greeted(&[segment(40000, 3306, 144, b"\x09\0\0\0\x03SELECT 1")]).connections, unknown);
        let cut = Segment { wire_bytes: 44, ..segment(40000, 3306, 100, b"") };
        assert_eq!(greeted(&[cut]).connections, unknown);
    }

    #[test]
    fn a_syn_that_is_sent_again_changes_nothing() {
        let login = login();
        let again = greeted(&[syn(40000, 3306, false), syn(3306, 40000, true), segment(40000, 3306, 100, &login)]);
        assert_eq!(again.connections, Counts { clear: 1, ..Counts::default() });
    }

    #[test]
    fn what_comes_after_the_end_is_no_connection() {
        let login = login();
        let straggler = segment(3306, 40000, 100 + u32::try_from(GREETING.len()).unwrap(), b"late");
        let aborted = Segment { rst: true, ..segment(40000, 3306, 144, b"") };
        let closed = |from, to| Segment { fin: true, ..segment(from, to, 500, b"") };
        for end in [vec![aborted], vec![closed(40000, 3306), closed(3306, 40000)]] {
            let more = [&[segment(40000, 3306, 100, &login)][..], &end[..], &[straggler]].concat();
            let seen = greeted(&more);
            assert_eq!(seen.connections, Counts { clear: 1, ..Counts::default() }, "{end:?}");
            assert_eq!(seen.traffic[0].bytes_to_client, GREETING.len() as u64);
        }
    }

    #[test]
    fn a_login_in_clear_and_a_server_hello_free_their_bytes() {
        let mut table = FlowTable::new(Ports::usual());
        let opened = [syn(40000, 3306, false), syn(3306, 40000, true), segment(3306, 40000, 100, GREETING)];
        let (login, query) = (login(), [&[0xf9, 0, 0, 0, 3][..], &[b'x'; 248]].concat());
        opened.iter().for_each(|segment| table.push(Timestamp::UNIX_EPOCH, segment));
        table.push(Timestamp::UNIX_EPOCH, &segment(40000, 3306, 100, &login));
        let mut sequence = 100 + u32::try_from(login.len()).unwrap();
        for _ in 0..40 {
            table.push(Timestamp::UNIX_EPOCH, &segment(40000, 3306, sequence, &query));
            sequence += u32::try_from(query.len()).unwrap();
        }
        assert_eq!(table.held_bytes, 0);
        let hello = [&[0x16, 3, 3, 0x20, 0, 2, 0, 0, 38, 3, 3][..], &[5; 32], &[0, 0xc0, 0x30, 0], &[0; 300]].concat();
        table.push(Timestamp::UNIX_EPOCH, &syn(40001, 3306, false));
        table.push(Timestamp::UNIX_EPOCH, &syn(3306, 40001, true));
        table.push(Timestamp::UNIX_EPOCH, &segment(40001, 3306, 100, b"\x16\x03\x01\0\x40\x01"));
        table.push(Timestamp::UNIX_EPOCH, &segment(3306, 40001, 100, &hello));
        assert_eq!(table.held_bytes, 0);
        assert_eq!(table.finish().connections, Counts { clear: 1, encrypted: 1, ..Counts::default() });
    }

    #[test]
    fn a_connection_that_is_judged_early_is_never_only_opened() {
        let mut table = FlowTable::new(Ports::usual());
        let opened = [syn(40000, 3306, false), syn(3306, 40000, true), segment(3306, 40000, 100, GREETING)];
        opened.iter().for_each(|segment| table.push(Timestamp::UNIX_EPOCH, segment));
        table.held_bytes += MAX_HELD_BYTES;
        table.free_memory();
        assert_eq!(table.finish().connections, Counts { unknown: 1, ..Counts::default() });
    }

    #[test]
    fn memory_is_freed_of_what_is_clear_before_what_is_open() {
        let mut table = FlowTable::new(Ports::usual());
        let (login, times) = (login(), [0, 1].map(|second| Timestamp::from_second(second).unwrap()));
        for (port, time) in [(40000, times[0]), (40001, times[1])] {
            let opened = [syn(port, 3306, false), syn(3306, port, true), segment(3306, port, 100, GREETING)];
            opened.iter().for_each(|segment| table.push(time, segment));
        }
        table.push(times[1], &segment(40001, 3306, 100, &login));
        table.held_bytes = FREED_TO_BYTES + 1;
        table.free_memory();
        assert_eq!(table.finish().connections, Counts { clear: 1, opening: 1, ..Counts::default() });
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
