//! A client of MySQL's compressed protocol, without TLS: no available driver compresses with zstd and can change the
//! user.
//!
//! It rejects packets that are out of order.

use std::io::{Read, Write};
use std::net::TcpStream;

use aws_lc_rs::{
    digest::{SHA256, digest},
    rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey},
};
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use rustls::pki_types::{SubjectPublicKeyInfoDer, pem::PemObject};

const PLUGIN: &[u8] = b"caching_sha2_password\0";
/// Long passwords, protocol 4.1, transactions, secure connection, plug-ins.
const CAPABILITIES: u32 = 1 | 0x200 | 0x2000 | 0x8000 | 0x80000;

/// How packets are compressed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Method {
    Zlib,
    Zstd,
}

/// Result of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The server knew the password.
    Known,
    /// The server requested the full password, and got it.
    Report,
    /// Number of the error.
    Refused(u16),
}

/// A session.
pub(crate) struct Client {
    stream: TcpStream,
    method: Method,
    /// Whether packets are compressed.
    compresses: bool,
    /// Starts a login.
    enters: bool,
    /// Sequence numbers of the next compressed packet, and of the next packet inside.
    outer: u8,
    inner: u8,
    /// Decompressed data that was not read yet.
    plain: Vec<u8>,
    challenge: Vec<u8>,
}

impl Client {
    pub(crate) fn log_in(port: u16, user: &str, password: &str, method: Method) -> (Self, Entry) {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("connected");
        stream.set_read_timeout(Some(harness::limit(20))).expect("set");
        let (plain, challenge) = (Vec::new(), Vec::new());
        let mut client = Self { stream, method, compresses: false, enters: true, outer: 0, inner: 0, plain, challenge };
        let greeting = client.packet();
        let version_end = greeting.iter().position(|byte| *byte == 0).expect("a version");
        let first = version_end + 5;
        client.challenge = [&greeting[first..first + 8], &greeting[first + 27..first + 39]].concat();
        let (capability, level) = match method {
            Method::Zlib => (0x20, &[][..]),
            Method::Zstd => (1 << 26, &[3][..]),
        };
        let head = [(CAPABILITIES | capability).to_le_bytes(), (1_u32 << 24).to_le_bytes()].concat();
        let hash = client.hash(password);
        let name = [user.as_bytes(), &[0, 32], &hash, PLUGIN].concat();
        client.send(&[&head, [45].as_slice(), &[0; 23], &name, level].concat());
        let entry = client.enter(password);
        client.compresses = true;
        (client, entry)
    }

    pub(crate) fn change_user(&mut self, user: &str, password: &str) -> Entry {
        let hash = self.hash(password);
        self.command(&[b"\x11", user.as_bytes(), &[0, 32], &hash, &[0, 45, 0], PLUGIN].concat());
        self.enter(password)
    }

    /// The first value of the first row.
    pub(crate) fn value(&mut self, sql: &str) -> Vec<u8> {
        self.command(&[b"\x03", sql.as_bytes()].concat());
        let columns = self.packet();
        assert_eq!(columns, [1], "one column");
        // Column count, definitions, an end, and the row, whose value comes in parts if it is long.
        self.packet();
        self.packet();
        let mut row = self.packet();
        while row.len().is_multiple_of(0xff_ffff) {
            row.extend(self.packet());
        }
        assert_eq!(self.packet()[0], 0xfe, "the end");
        let from = match row[0] {
            0xfc => 3,
            0xfd => 4,
            0xfe => 9,
            _ => 1,
        };
        row.split_off(from)
    }

    fn command(&mut self, body: &[u8]) {
        (self.outer, self.inner, self.enters) = (0, 0, false);
        self.send(body);
    }

    fn hash(&self, password: &str) -> Vec<u8> {
        let once = digest(&SHA256, password.as_bytes());
        let twice = digest(&SHA256, once.as_ref());
        let mixed = digest(&SHA256, &[twice.as_ref(), &self.challenge].concat());
        once.as_ref().iter().zip(mixed.as_ref()).map(|(a, b)| a ^ b).collect()
    }

    fn enter(&mut self, password: &str) -> Entry {
        let mut entry = Entry::Known;
        self.enters = true;
        loop {
            let answer = self.packet();
            match answer.as_slice() {
                [0, ..] => return entry,
                [0xff, low, high, ..] => return Entry::Refused(u16::from_le_bytes([*low, *high])),
                [0xfe, switch @ ..] => {
                    self.challenge = switch.strip_prefix(PLUGIN).expect("no other")[..20].to_vec();
                    self.send(&self.hash(password));
                }
                [1, 3] => {}
                [1, 4] => {
                    self.send(&[2]);
                    let key = self.packet();
                    assert_eq!(key.first(), Some(&1), "a key");
                    self.send(&self.sealed(password, &key[1..]));
                    entry = Entry::Report;
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn sealed(&self, password: &str, pem: &[u8]) -> Vec<u8> {
        let key = SubjectPublicKeyInfoDer::from_pem_slice(pem).expect("PEM");
        let key = PublicEncryptingKey::from_der(&key).expect("a key");
        let key = OaepPublicEncryptingKey::new(key).expect("of its kind");
        let clear = [password.as_bytes(), &[0]].concat();
        let mixed: Vec<u8> = clear.iter().zip(self.challenge.iter().cycle()).map(|(a, b)| a ^ b).collect();
        let mut room = vec![0; key.ciphertext_size()];
        key.encrypt(&OAEP_SHA1_MGF1SHA1, &mixed, &mut room, None).expect("encrypted").to_vec()
    }

    fn send(&mut self, body: &[u8]) {
        let packet = [&length(body.len()), [self.inner].as_slice(), body].concat();
        self.inner = self.inner.wrapping_add(1);
        if !self.compresses {
            return self.stream.write_all(&packet).expect("sent");
        }
        packet.chunks(1 << 20).for_each(|part| self.send_compressed(part));
    }

    fn send_compressed(&mut self, part: &[u8]) {
        let (before, content) = match self.method {
            _ if part.len() < 50 => (0, part.to_vec()),
            Method::Zlib => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(part).expect("compressed");
                (part.len(), encoder.finish().expect("compressed"))
            }
            Method::Zstd => (part.len(), zstd::bulk::compress(part, 3).expect("compressed")),
        };
        // Header and content separately, as some drivers send them.
        let header = [&length(content.len()), [self.outer].as_slice(), &length(before)].concat();
        self.stream.write_all(&header).expect("sent");
        self.stream.write_all(&content).expect("sent");
        self.outer = self.outer.wrapping_add(1);
    }

    fn packet(&mut self) -> Vec<u8> {
        let [a, b, c, number] = self.take(4).try_into().expect("four");
        // After a statement in several compressed packets, MySQL continues with their number.
        assert!(number == self.inner || !self.enters, "{number}, not {}", self.inner);
        self.inner = number.wrapping_add(1);
        self.take(u32::from_le_bytes([a, b, c, 0]) as usize)
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        while self.plain.len() < count {
            self.read(count - self.plain.len());
        }
        let rest = self.plain.split_off(count);
        std::mem::replace(&mut self.plain, rest)
    }

    fn read(&mut self, wanted: usize) {
        if !self.compresses {
            let at = self.plain.len();
            self.plain.resize(at + wanted, 0);
            return self.stream.read_exact(&mut self.plain[at..]).expect("answered");
        }
        let mut header = [0; 7];
        self.stream.read_exact(&mut header).expect("answered");
        let [a, b, c, number, d, e, f] = header;
        assert_eq!(number, self.outer, "compressed packets come in their order");
        self.outer = number.wrapping_add(1);
        let mut content = vec![0; u32::from_le_bytes([a, b, c, 0]) as usize];
        self.stream.read_exact(&mut content).expect("answered");
        let before = u32::from_le_bytes([d, e, f, 0]) as usize;
        match (before, self.method) {
            (0, _) => self.plain.extend(content),
            (_, Method::Zlib) => {
                ZlibDecoder::new(content.as_slice()).read_to_end(&mut self.plain).expect("of zlib");
            }
            (_, Method::Zstd) => self.plain.extend(zstd::bulk::decompress(&content, before).expect("of zstd")),
        }
    }
}

fn length(bytes: usize) -> [u8; 3] {
    let [a, b, c, _] = u32::try_from(bytes).expect("short").to_le_bytes();
    [a, b, c]
}
