//! Tests this crate's record layer against rustls.

use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

use rustls::{ClientConnection, Connection, ServerConnection, Stream};

use super::*;
use crate::tls::{
    Pinned, Suite, client_config,
    identity::{Identity, pin_of},
    server_config,
};

const TIMEOUT: Duration = Duration::from_secs(5);

/// A side that uses rustls for its records.
struct Theirs {
    conn: Connection,
    sock: TcpStream,
}

impl Read for Theirs {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match &mut self.conn {
            Connection::Client(tls) => Stream::new(tls, &mut self.sock).read(into),
            Connection::Server(tls) => Stream::new(tls, &mut self.sock).read(into),
        }
    }
}

impl Write for Theirs {
    fn write(&mut self, from: &[u8]) -> std::io::Result<usize> {
        match &mut self.conn {
            Connection::Client(tls) => Stream::new(tls, &mut self.sock).write(from),
            Connection::Server(tls) => Stream::new(tls, &mut self.sock).write(from),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.conn {
            Connection::Client(tls) => Stream::new(tls, &mut self.sock).flush(),
            Connection::Server(tls) => Stream::new(tls, &mut self.sock).flush(),
        }
    }
}

fn configs(suite: usize) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let [sender, receiver] = [(); 2].map(|()| Identity::ephemeral().unwrap());
    let client = client_config(Some(suite), &sender, Pinned::to(pin_of(&receiver).unwrap())).unwrap();
    (client, server_config(&receiver, Pinned::to(pin_of(&sender).unwrap())).unwrap())
}

fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

fn name() -> ServerName<'static> {
    ServerName::try_from("sealant").unwrap()
}

/// Connects our implementation with rustls; `we_send` decides who is the sender.
fn pair(suite: usize, we_send: bool) -> (DataChannel, Theirs) {
    let (client, server) = configs(suite);
    let (near, far) = sockets();
    let peer = "peer".to_owned();
    if we_send {
        let theirs = Connection::from(ServerConnection::new(server).unwrap());
        let ours = thread::spawn(move || DataChannel::connect(near, client, name(), peer, TIMEOUT).unwrap());
        let theirs = complete_handshake(theirs, far);
        (ours.join().unwrap(), theirs)
    } else {
        let theirs = Connection::from(ClientConnection::new(client, name()).unwrap());
        let ours = thread::spawn(move || DataChannel::accept(near, server, peer, TIMEOUT).unwrap());
        let theirs = complete_handshake(theirs, far);
        (ours.join().unwrap(), theirs)
    }
}

fn complete_handshake(mut conn: Connection, mut sock: TcpStream) -> Theirs {
    sock.set_read_timeout(Some(TIMEOUT)).unwrap();
    while conn.is_handshaking() {
        conn.complete_io(&mut sock).unwrap();
    }
    Theirs { conn, sock }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|n| u8::try_from(n % 251).unwrap()).collect()
}

fn ours_to_theirs(ours: &mut DataChannel, theirs: &mut Theirs, length: usize) {
    let sent = pattern(length);
    let mut came = vec![0; length];
    thread::scope(|scope| {
        scope.spawn(|| {
            ours.write(&sent).unwrap();
            ours.socket.flush().unwrap();
        });
        theirs.read_exact(&mut came).unwrap();
    });
    assert!(came == sent, "{length} bytes");
}

fn theirs_to_ours(theirs: &mut Theirs, ours: &mut DataChannel, length: usize) {
    let sent = pattern(length);
    let mut came = vec![0; length];
    thread::scope(|scope| {
        scope.spawn(|| {
            theirs.write_all(&sent).unwrap();
            theirs.flush().unwrap();
        });
        ours.read_exact(&mut came).unwrap();
    });
    assert!(came == sent, "{length} bytes");
}

#[test]
fn each_suite_carries_all_lengths_in_both_directions() {
    for suite in 0..Suite::ALL.len() {
        for we_send in [true, false] {
            let (mut ours, mut theirs) = pair(suite, we_send);
            for length in [1, 15, 16_383, 16_384, 16_385, 100_000, 3 << 20] {
                ours_to_theirs(&mut ours, &mut theirs, length);
                theirs_to_ours(&mut theirs, &mut ours, length);
            }
        }
    }
}

#[test]
fn records_read_in_pieces_lose_nothing() {
    let (mut ours, mut theirs) = pair(0, false);
    let sent = pattern(200_000);
    theirs.write_all(&sent).unwrap();
    let mut came = Vec::new();
    for piece in [1, 5, 16_384, 16_385, 16_400, 3, 40_000].into_iter().cycle() {
        let mut part = vec![0; piece.min(sent.len() - came.len())];
        ours.read_exact(&mut part).unwrap();
        came.extend(part);
        if came.len() == sent.len() {
            break;
        }
    }
    assert!(came == sent);
}

/// The first data arrives in the same packet as the end of the handshake.
#[test]
fn data_in_the_last_packet_of_the_handshake_is_delivered() {
    let (client, server) = configs(1);
    let (near, far) = sockets();
    let mut theirs = Connection::from(ClientConnection::new(client, name()).unwrap());
    theirs.writer().write_all(b"at once").unwrap();
    let theirs = thread::spawn(move || complete_handshake(theirs, far));
    let mut ours = DataChannel::accept(near, server, "peer".to_owned(), TIMEOUT).unwrap();
    let mut came = [0; 7];
    ours.read_exact(&mut came).unwrap();
    assert_eq!(&came, b"at once");
    drop(theirs.join().unwrap());
}

#[test]
fn the_peer_may_update_its_key_and_request_an_update_of_ours() {
    let (mut ours, mut theirs) = pair(0, true);
    for _ in 0..40 {
        theirs.conn.refresh_traffic_keys().unwrap();
        theirs_to_ours(&mut theirs, &mut ours, 20_000);
        ours_to_theirs(&mut ours, &mut theirs, 20_000);
    }
}

#[test]
fn a_key_is_updated_before_its_limit() {
    let (mut ours, mut theirs) = pair(1, true);
    ours.keys.set_limit(3);
    ours_to_theirs(&mut ours, &mut theirs, 1 << 20);
    theirs_to_ours(&mut theirs, &mut ours, 1 << 20);
}

#[test]
fn a_key_at_its_limit_encrypts_nothing() {
    let (mut ours, _theirs) = pair(1, true);
    ours.keys.set_limit(0);
    assert!(ours.seal(record::APPLICATION_DATA, b"more").is_err());
}

#[test]
fn one_flipped_bit_ends_the_connection_and_both_sides_report_why() {
    for at in [0, 1, 4, 5, 30, 40] {
        let (mut ours, mut theirs) = pair(0, false);
        let mut record = Vec::new();
        theirs.conn.writer().write_all(b"thirty bytes that are authentic").unwrap();
        theirs.conn.write_tls(&mut record).unwrap();
        record[at] ^= 1;
        theirs.sock.write_all(&record).unwrap();
        theirs.sock.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(ours.read_exact(&mut [0; 31]).is_err(), "byte {at}");
        drop(ours);
        let last_received = theirs.read(&mut [0; 1]).unwrap_err();
        if at >= 5 {
            assert!(last_received.to_string().contains("BadRecordMac"), "byte {at}: {last_received}");
        }
    }
}

#[test]
fn a_repeated_or_reordered_record_is_refused() {
    let (mut ours, mut theirs) = pair(0, false);
    let mut record = Vec::new();
    theirs.conn.writer().write_all(b"once").unwrap();
    theirs.conn.write_tls(&mut record).unwrap();
    theirs.sock.write_all(&record).unwrap();
    theirs.sock.write_all(&record).unwrap();
    ours.read_exact(&mut [0; 4]).unwrap();
    assert!(ours.read_exact(&mut [0; 4]).is_err());
}

#[test]
fn padding_is_removed() {
    let (mut sender, mut receiver) = ours_both();
    let mut padded = b"data".to_vec();
    padded.extend([record::APPLICATION_DATA, 0, 0, 0]);
    sender.seal(0, &padded).unwrap();
    sender.write(b"more").unwrap();
    sender.socket.flush().unwrap();
    let mut came = [0; 8];
    receiver.read_exact(&mut came).unwrap();
    assert_eq!(&came, b"datamore");
}

#[test]
fn the_number_of_empty_records_is_limited() {
    for (kind, content) in [(record::APPLICATION_DATA, &b""[..]), (record::HANDSHAKE, &[NEW_SESSION_TICKET, 0, 0, 0])] {
        let (mut sender, mut receiver) = ours_both();
        for _ in 0..=MAX_IDLE_RECORDS {
            sender.seal(kind, content).unwrap();
        }
        sender.socket.flush().unwrap();
        assert!(matches!(receiver.read_exact(&mut [0]), Err(Error::Tls { .. })));
    }
}

#[test]
fn other_tls_messages_are_refused() {
    let cases: [(u8, &[u8]); 6] = [
        (0, &[0, 0, 0]),
        (20, &[1]),
        (record::HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 2]),
        (record::HANDSHAKE, &[1, 0, 0, 0]),
        (record::ALERT, &[1]),
        (99, b"?"),
    ];
    for (kind, content) in cases {
        let (mut sender, mut receiver) = ours_both();
        sender.seal(kind, content).unwrap();
        sender.socket.flush().unwrap();
        assert!(matches!(receiver.read_exact(&mut [0]), Err(Error::Tls { .. })), "kind {kind}");
    }
}

#[test]
fn a_close_is_distinguished_from_a_failure() {
    let (mut ours, mut theirs) = pair(2, false);
    theirs.conn.send_close_notify();
    theirs.flush().unwrap();
    assert!(matches!(ours.read_exact(&mut [0]), Err(Error::Disconnected { .. })));
}

fn ours_both() -> (DataChannel, DataChannel) {
    let (client, server) = configs(0);
    let (near, far) = sockets();
    let sender = thread::spawn(move || DataChannel::connect(near, client, name(), "peer".to_owned(), TIMEOUT));
    let receiver = DataChannel::accept(far, server, "peer".to_owned(), TIMEOUT).unwrap();
    (sender.join().unwrap().unwrap(), receiver)
}
