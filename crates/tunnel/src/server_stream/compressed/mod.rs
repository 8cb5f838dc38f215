//! Logins inside sessions with compressed packets.
//!
//! After the login of such a session, packets are wrapped in compressed packets, which have headers and sequence
//! numbers of their own. Both directions are followed from the first packet, so every packet boundary is known; this
//! neither delays nor changes data. A packet that starts a command is examined after it has passed. If it was a change
//! of user, later packets are held until they are complete, and their content goes through a [`Login`], until that
//! login is over. Changed content is sent uncompressed, everything else as received.

mod packet;

use std::sync::Arc;

use zeroize::Zeroizing;

use self::packet::{HEADER_BYTES, Header, Packet, append_uncompressed, are_packets};
use super::password::{ForwardedBytes, Login, MAX_PACKET_BYTES, PasswordKey};

/// A session after its login.
pub(super) struct Compressed {
    key: Arc<PasswordKey>,
    challenge: Vec<u8>,
    from_client: Stream,
    from_server: Stream,
    /// The change of user in progress.
    login: Option<Box<Login>>,
}

impl Compressed {
    /// Follows a session that has had a login with this challenge and nothing since.
    pub(super) fn new(key: Arc<PasswordKey>, challenge: Vec<u8>) -> Self {
        Self { key, challenge, from_client: Stream::default(), from_server: Stream::default(), login: None }
    }

    /// Whether a change of user is in progress: bytes must go through this state machine.
    pub(super) fn is_changing(&self) -> bool {
        self.login.is_some()
    }

    /// Records bytes that were sent to the server.
    pub(super) fn client_sent(&mut self, bytes: &[u8]) {
        let last = self.from_client.follow(bytes);
        // Clients that send commands without waiting for answers are not followed.
        if last.is_some_and(|packet| packet.is_change_of_user()) && self.from_server.is_at_packet_boundary() {
            let login = Login::for_change_of_user(Arc::clone(&self.key), std::mem::take(&mut self.challenge));
            self.login = Some(Box::new(login));
        }
    }

    /// Records bytes that were sent to the client.
    pub(super) fn server_sent(&mut self, bytes: &[u8]) {
        self.from_server.follow(bytes);
    }

    /// Processes bytes of the client during a change of user.
    pub(super) fn client_sends(&mut self, bytes: &[u8], out: &mut ForwardedBytes) {
        self.from_client.held.extend_from_slice(bytes);
        while let Some(login) = &mut self.login {
            let (packet, plain) = match self.from_client.next() {
                Next::Incomplete => return,
                Next::Unknown => return self.end(out),
                Next::Packet(packet, plain) => (packet, plain),
            };
            let (ahead, mut inner) = (login.ahead(), ForwardedBytes::default());
            login.client_sends(&plain, &mut inner);
            packet.append_renumbered(&mut out.to_server, packet.number().wrapping_sub(ahead), &plain, &inner.to_server);
            append_uncompressed(&mut out.to_client, packet.number().wrapping_add(1), &inner.to_client);
            if login.is_over() {
                self.end(out);
            }
        }
    }

    /// Processes bytes of the server during a change of user.
    pub(super) fn server_sends(&mut self, bytes: &[u8], out: &mut ForwardedBytes) {
        self.from_server.held.extend_from_slice(bytes);
        while let Some(login) = &mut self.login {
            let (packet, plain) = match self.from_server.next() {
                Next::Incomplete => return,
                Next::Unknown => return self.end(out),
                Next::Packet(packet, plain) => (packet, plain),
            };
            let (ahead, mut inner) = (login.ahead(), ForwardedBytes::default());
            login.server_sends(&plain, &mut inner);
            packet.append_renumbered(&mut out.to_client, packet.number().wrapping_add(ahead), &plain, &inner.to_client);
            if login.is_over() {
                self.end(out);
            }
        }
    }

    /// Ends the change of user: held bytes are passed on, and later ones pass directly.
    pub(super) fn end(&mut self, out: &mut ForwardedBytes) {
        let Some(login) = self.login.take() else { return };
        self.challenge = login.into_challenge();
        let (to_client, to_server) =
            (std::mem::take(&mut self.from_server.held), std::mem::take(&mut self.from_client.held));
        out.to_client.extend_from_slice(&to_client);
        out.to_server.extend_from_slice(&to_server);
        self.server_sent(&to_client);
        self.client_sent(&to_server);
    }
}

/// Compressed packets of one direction.
#[derive(Default)]
struct Stream {
    /// The packet that is passing: its header, and its body if it may start a command.
    kept: Vec<u8>,
    /// Bytes of its body that are still to come.
    left: usize,
    /// Held bytes, from the start of a packet.
    held: Zeroizing<Vec<u8>>,
}

impl Stream {
    fn is_at_packet_boundary(&self) -> bool {
        self.kept.is_empty()
    }

    /// Follows passing bytes. Returns the packet that ends with them; without its body if it cannot start a command.
    fn follow(&mut self, mut bytes: &[u8]) -> Option<Packet> {
        let mut last = None;
        while !bytes.is_empty() {
            let known = Header::parse(&self.kept);
            let wanted = if known.is_some() { self.left } else { HEADER_BYTES.saturating_sub(self.kept.len()) };
            let (part, rest) = bytes.split_at(wanted.min(bytes.len()));
            if known.is_none_or(|header| header.number == 0 && header.length <= MAX_PACKET_BYTES) {
                self.kept.extend_from_slice(part);
            }
            self.left = match known {
                Some(_) => self.left.saturating_sub(part.len()),
                None => Header::parse(&self.kept).map_or(0, |header| header.length),
            };
            let ends = self.left == 0 && self.kept.len() >= HEADER_BYTES;
            last = ends.then(|| Packet(std::mem::take(&mut self.kept).into()));
            bytes = rest;
        }
        last
    }

    /// The next held packet.
    fn next(&mut self) -> Next {
        let Some(header) = Header::parse(&self.held) else { return Next::Incomplete };
        let end = HEADER_BYTES.saturating_add(header.length);
        match self.held.get(..end) {
            _ if header.length > MAX_PACKET_BYTES => Next::Unknown,
            None => Next::Incomplete,
            Some(bytes) => {
                let packet = Packet(bytes.to_vec().into());
                let Some(plain) = packet.open().filter(|plain| are_packets(plain)) else { return Next::Unknown };
                self.held.drain(..end);
                Next::Packet(packet, plain)
            }
        }
    }
}

/// The next item in the held bytes.
enum Next {
    /// Incomplete packet.
    Incomplete,
    /// Not a packet of a login.
    Unknown,
    /// A complete packet and its content, which consists of whole packets.
    Packet(Packet, Zeroizing<Vec<u8>>),
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::ZlibEncoder};
    use proptest::prelude::*;

    use super::{
        super::password::tests::{CHALLENGE, packet, sealed},
        *,
    };

    const FULL_AUTHENTICATION: [u8; 2] = [1, 4];
    const OTHER: &[u8; 20] = b"zyxwvutsrqponmlkjihg";

    #[derive(Clone, Copy, Debug)]
    enum Method {
        Stored,
        Zlib,
        Zstd,
    }

    const METHODS: [Method; 3] = [Method::Stored, Method::Zlib, Method::Zstd];

    fn compressed(method: Method, number: u8, plain: &[u8]) -> Vec<u8> {
        let (before, body) = match method {
            Method::Stored => (0, plain.to_vec()),
            Method::Zlib => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(plain).unwrap();
                (plain.len(), encoder.finish().unwrap())
            }
            Method::Zstd => (plain.len(), zstd::bulk::compress(plain, 3).unwrap()),
        };
        framed(number, before, &body)
    }

    fn framed(number: u8, before: usize, body: &[u8]) -> Vec<u8> {
        let [a, b, c, _] = u32::try_from(body.len()).unwrap().to_le_bytes();
        let [d, e, f, _] = u32::try_from(before).unwrap().to_le_bytes();
        [&[a, b, c, number, d, e, f], body].concat()
    }

    /// A packet, alone in a compressed packet of the same number.
    fn one(method: Method, number: u8, body: &[u8]) -> Vec<u8> {
        compressed(method, number, &packet(number, body))
    }

    /// Feeds both sides' bytes in pieces; returns what each side received.
    struct Sides {
        session: Compressed,
        piece: usize,
    }

    impl Sides {
        fn new(key: &Arc<PasswordKey>, piece: usize) -> Self {
            Self { session: Compressed::new(Arc::clone(key), CHALLENGE.to_vec()), piece }
        }

        fn client(&mut self, bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
            let mut out = ForwardedBytes::default();
            for piece in bytes.chunks(self.piece) {
                if self.session.is_changing() {
                    self.session.client_sends(piece, &mut out);
                } else {
                    out.to_server.extend_from_slice(piece);
                    self.session.client_sent(piece);
                }
            }
            (out.to_client, out.to_server.to_vec())
        }

        fn server(&mut self, bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
            let mut out = ForwardedBytes::default();
            for piece in bytes.chunks(self.piece) {
                if self.session.is_changing() {
                    self.session.server_sends(piece, &mut out);
                } else {
                    out.to_client.extend_from_slice(piece);
                    self.session.server_sent(piece);
                }
            }
            (out.to_client, out.to_server.to_vec())
        }

        /// Checks that everything passes unchanged.
        #[track_caller]
        fn pass(&mut self, client: &[u8], server: &[u8]) {
            assert_eq!(self.client(client), (vec![], client.to_vec()));
            assert_eq!(self.server(server), (server.to_vec(), vec![]));
        }
    }

    fn query() -> Vec<u8> {
        [b"\x03SELECT '".as_slice(), &[b'x'; 300], b"'"].concat()
    }

    #[test]
    fn a_change_of_user_that_requests_a_key_gets_one() {
        let key = Arc::default();
        for (method, piece) in METHODS.into_iter().flat_map(|method| [1, 3, 9, 5000].map(|piece| (method, piece))) {
            let mut sides = Sides::new(&key, piece);
            for (switched, challenge) in [(false, CHALLENGE), (true, OTHER), (false, OTHER)] {
                sides.pass(&one(method, 0, &query()), &one(method, 1, &[b'y'; 100_000]));
                sides.pass(&one(method, 0, b"\x11two\0 and so on"), &[]);
                assert!(sides.session.is_changing(), "{method:?} in pieces of {piece}");
                let mut number = 0;
                if switched {
                    let switch = [b"\xfecaching_sha2_password\0", OTHER.as_slice(), b"\0"].concat();
                    sides.pass(&[], &one(method, 1, &switch));
                    sides.pass(&one(method, 2, b"a hash"), &[]);
                    number = 2;
                }
                sides.pass(&[], &one(method, number + 1, &FULL_AUTHENTICATION));
                let (answer, nothing) = sides.client(&one(method, number + 2, &[2]));
                assert!(nothing.is_empty(), "the server is not asked");
                let (header, answer) = answer.split_at(HEADER_BYTES);
                assert_eq!(header[2..], [0, number + 3, 0, 0, 0]);
                let pem = String::from_utf8(answer[5..].to_vec()).unwrap();
                assert_eq!(answer, packet(number + 3, &[&[1], pem.as_bytes()].concat()));
                let sent = one(method, number + 4, &sealed(&pem, b"Secret-1\0", challenge));
                assert_eq!(sides.client(&sent), (vec![], one(Method::Stored, number + 2, b"Secret-1\0")));
                let (ok, shown) = (b"\0ok", one(Method::Stored, number + 5, b"\0ok"));
                assert_eq!(sides.server(&one(method, number + 3, ok)), (shown, vec![]));
                assert!(!sides.session.is_changing());
            }
        }
    }

    /// Whether the packet is recognised as the start of a change of user, in a session without earlier commands.
    #[track_caller]
    fn is_seen(packet: &[u8]) -> bool {
        [1, 7, 5000]
            .map(|piece| {
                let mut sides = Sides::new(&Arc::default(), piece);
                sides.pass(packet, &[]);
                sides.session.is_changing()
            })
            .into_iter()
            .reduce(|one, other| {
                assert_eq!(one, other, "whatever the pieces");
                one
            })
            .unwrap()
    }

    #[test]
    fn a_change_of_user_is_recognised_only_alone_in_its_packet() {
        let body = [b"\x11two\0".as_slice(), &[b'x'; 300]].concat();
        let change = packet(0, &body);
        for method in METHODS {
            assert!(is_seen(&compressed(method, 0, &change)));
            assert!(!is_seen(&compressed(method, 1, &change)), "the middle of something");
            assert!(!is_seen(&one(method, 0, &query())));
            assert!(!is_seen(&compressed(method, 0, &packet(1, &body))));
            assert!(!is_seen(&compressed(method, 0, &change[..90])), "it is not all there");
            assert!(!is_seen(&compressed(method, 0, &[change.clone(), packet(0, b"\x0e")].concat())), "there is more");
            assert!(!is_seen(&compressed(method, 0, &[])));
            let long = packet(0, &[body.clone(), vec![b'y'; MAX_PACKET_BYTES]].concat());
            assert!(!is_seen(&compressed(method, 0, &long)));
            let codes =
                [b"\x11two\0".to_vec(), (0..30_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect()].concat();
            assert!(is_seen(&one(method, 0, &codes)), "what does not compress well");
            // Inside another packet, and followed by another one.
            let change = compressed(method, 0, &change);
            assert!(!is_seen(&compressed(Method::Stored, 0, &change)));
            let (mut sides, two) =
                (Sides::new(&Arc::default(), 5000), [change.clone(), one(method, 0, b"\x0e")].concat());
            sides.pass(&two, &[]);
            assert!(!sides.session.is_changing());
            // While the server is sending something else.
            sides.pass(&[], &one(method, 1, b"\x01 and so on")[..9]);
            sides.pass(&change, &[]);
            assert!(!sides.session.is_changing());
        }
    }

    #[test]
    fn everything_passes_after_a_packet_that_is_no_login() {
        let (change, mut damaged) = (one(Method::Zlib, 0, b"\x11two\0"), one(Method::Zlib, 2, &query()));
        damaged[20] ^= 0x40;
        let bomb = framed(2, 100, &compressed(Method::Zlib, 0, &[0; 60_000])[HEADER_BYTES..]);
        let large = compressed(Method::Zstd, 2, &[0; MAX_PACKET_BYTES + 1]);
        let half = compressed(Method::Zstd, 2, &packet(2, &query())[..100]);
        let long = framed(2, 0, &[2; MAX_PACKET_BYTES + 1]);
        let short = framed(2, 500, &one(Method::Zstd, 2, &query())[HEADER_BYTES..]);
        let command = one(Method::Zstd, 0, &query());
        for (odd, piece) in
            [damaged, bomb, large, half, long, short, command].iter().flat_map(|odd| [(odd, 9), (odd, 100_000)])
        {
            for by_client in [true, false] {
                let mut sides = Sides::new(&Arc::default(), piece);
                sides.pass(&change, &one(Method::Zlib, 1, &FULL_AUTHENTICATION));
                if by_client {
                    sides.pass(odd, &[])
                } else {
                    sides.pass(&[], odd)
                }
                // Only clients send commands.
                assert_eq!(sides.session.is_changing(), !by_client && odd[3] == 0);
                sides.session.end(&mut ForwardedBytes::default());
                // The next change of user is recognised.
                sides.pass(&change, &[]);
                assert!(sides.session.is_changing());
            }
        }
        // Packets that are too long to be a login are not held.
        let mut sides = Sides::new(&Arc::default(), 1000);
        sides.pass(&change, &[]);
        sides.client(&framed(2, 0, &[2; MAX_PACKET_BYTES])[..MAX_PACKET_BYTES]);
        assert_eq!(sides.session.from_client.held.len(), MAX_PACKET_BYTES);
        let mut out = ForwardedBytes::default();
        sides.session.end(&mut out);
        assert_eq!(out.to_server.len(), MAX_PACKET_BYTES);
        let mut sides = Sides::new(&Arc::default(), 1000);
        sides.pass(&change, &framed(1, 0, &[2; MAX_PACKET_BYTES + 1])[..HEADER_BYTES]);
    }

    /// Packets that can occur in a login, and packets that cannot, from either side.
    fn any_packet() -> impl Strategy<Value = Vec<u8>> {
        let bodies = prop_oneof![
            4 => Just(b"\x11two\0".to_vec()),
            3 => Just(FULL_AUTHENTICATION.to_vec()),
            1 => Just(vec![2]),
            1 => Just(b"\0ok".to_vec()),
            1 => Just(b"\xfecaching_sha2_password\0abcdefgh123456789012\0".to_vec()),
            2 => proptest::collection::vec(any::<u8>(), 0..90),
        ];
        let methods = prop_oneof![Just(Method::Stored), Just(Method::Zlib), Just(Method::Zstd)];
        let numbers = prop_oneof![3 => Just(0), 2 => 1_u8..5, 1 => any::<u8>()];
        (bodies, methods, numbers, proptest::option::weighted(0.2, 0_usize..100)).prop_map(
            |(body, method, number, cut)| {
                let mut whole = one(method, number, &body);
                whole.truncate(cut.unwrap_or(whole.len()));
                whole
            },
        )
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_or_added(
            said in proptest::collection::vec((any::<bool>(), any_packet()), 0..12),
            piece in 1_usize..60,
        ) {
            let key: Arc<PasswordKey> = SHARED.with(Arc::clone);
            let mut sides = Sides::new(&key, piece);
            let (mut to_client, mut to_server, mut by_client, mut by_server) = (vec![], vec![], vec![], vec![]);
            for (is_client, bytes) in said {
                let (came, went) = if is_client { sides.client(&bytes) } else { sides.server(&bytes) };
                to_client.extend(came);
                to_server.extend(went);
                if is_client { &mut by_client } else { &mut by_server }.extend(bytes);
            }
            let mut rest = ForwardedBytes::default();
            sides.session.end(&mut rest);
            to_client.extend(rest.to_client);
            to_server.extend(rest.to_server.iter());
            let handed_out = to_client.windows(16).any(|bytes| bytes == b"BEGIN PUBLIC KEY");
            prop_assert!(handed_out || (to_client == by_server && to_server == by_client));
        }
    }

    thread_local! {
        static SHARED: Arc<PasswordKey> = Arc::default();
    }
}
