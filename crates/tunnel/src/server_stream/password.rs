//! Passwords that a client encrypts with a key while the server expects them in plaintext.
//!
//! `caching_sha2_password` sends the whole password in plaintext over a secure channel, and otherwise encrypts it with
//! the server's RSA key. A server considers its unix socket secure and provides no key there. A client on a TCP port of
//! the near end considers its connection insecure and asks for a key. It gets a key of the far end. The far end
//! decrypts the password and sends it to the server in plaintext, as any client at the socket does.
//!
//! The client has then sent and received one packet more than the server, so sequence numbers differ by two until the
//! login is over.
//!
//! `sha256_password` needs none of this: the server provides its key at the socket, too.
//!
//! Source: MySQL's "Caching_sha2_password information", "Protocol::AuthSwitchRequest"; OAEP with
//! SHA-1; the zero-terminated password is first XORed with the challenge, as `xor_string` of its
//! clients does.

use std::sync::{Arc, OnceLock};

use aws_lc_rs::{
    encoding::{AsDer, PublicKeyX509Der},
    rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey},
};
use data_encoding::BASE64;
use server::greeting::capability;
use zeroize::Zeroizing;

use super::login::{ERROR, HEAD_BYTES, OK};
use crate::greeting::{self, HEADER_BYTES, put};

/// Maximum length of a packet in a login.
pub(super) const MAX_PACKET_BYTES: usize = 64 << 10;
/// Difference of the sequence numbers after the client has requested and received the key.
const AHEAD: u8 = 2;
/// Capability of clients whose packets are compressed after the login.
const CLIENT_COMPRESS: u32 = 0x20;
const CLIENT_ZSTD: u32 = 1 << 26;
/// Command that starts a login inside a session.
pub(super) const CHANGE_USER: u8 = 17;

const AUTH_MORE_DATA: u8 = 1;
const AUTH_SWITCH_REQUEST: u8 = 0xfe;
/// `caching_sha2_password` has no cached hash and requests the full password.
const FULL_AUTHENTICATION: [u8; 2] = [AUTH_MORE_DATA, 4];
/// A client's request for the key.
const PUBLIC_KEY_REQUEST: [u8; 1] = [2];

/// The key with which clients encrypt passwords: generated once per run, and never leaves this
/// process.
#[derive(Default)]
pub(crate) struct PasswordKey(OnceLock<Option<(OaepPrivateDecryptingKey, String)>>);

impl PasswordKey {
    /// Generates the key if necessary; that takes a tenth of a second.
    pub(crate) fn get(&self) -> Option<&(OaepPrivateDecryptingKey, String)> {
        self.0.get_or_init(|| new_key().ok()).as_ref()
    }

    /// Decrypts a client's password.
    fn open(&self, sealed: &[u8], challenge: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (key, _) = self.get()?;
        let mut room = Zeroizing::new(vec![0; key.min_output_size()]);
        let length = key.decrypt(&OAEP_SHA1_MGF1SHA1, sealed, &mut room, None).ok()?.len();
        room.truncate(length);
        for (byte, with) in room.iter_mut().zip(challenge.iter().cycle()) {
            *byte ^= with;
        }
        Some(room)
    }
}

fn new_key() -> Result<(OaepPrivateDecryptingKey, String), aws_lc_rs::error::Unspecified> {
    let key = PrivateDecryptingKey::generate(KeySize::Rsa2048)?;
    let der: PublicKeyX509Der<'_> = key.public_key().as_der()?;
    let text = BASE64.encode(der.as_ref());
    let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"));
    Ok((OaepPrivateDecryptingKey::new(key)?, pem))
}

/// Bytes to forward to either side.
#[derive(Default)]
pub(super) struct ForwardedBytes {
    pub(super) to_client: Vec<u8>,
    /// May contain a password.
    pub(super) to_server: Zeroizing<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The server has not sent its greeting.
    Begin,
    /// Everything passes unchanged.
    Watching,
    /// The server has requested the full password.
    Wanted,
    /// The client has received the key.
    Given,
    /// The password was sent to the server, and sequence numbers differ.
    Ahead,
    /// The login is over, or is of an unknown kind.
    Over,
}

/// How packets are framed after the login, with the challenge for changes of user.
pub(super) enum FramingAfterLogin {
    /// Plain packets.
    Packets(Vec<u8>),
    /// Compressed packets.
    Compressed(Vec<u8>),
    /// The session cannot be followed.
    Unknown,
}

/// A login that is followed.
pub(super) struct Login {
    key: Arc<PasswordKey>,
    from_server: Vec<u8>,
    from_client: Vec<u8>,
    challenge: Vec<u8>,
    /// Capabilities of the server.
    server_capabilities: u32,
    /// The session continues with TLS.
    encrypted: bool,
    /// Packets are compressed after the login.
    compressed: bool,
    /// The server has accepted the login and sent nothing after that.
    done: bool,
    stage: Stage,
}

impl Login {
    pub(super) fn new(key: Arc<PasswordKey>) -> Self {
        Self {
            key,
            from_server: Vec::new(),
            from_client: Vec::new(),
            challenge: Vec::new(),
            server_capabilities: 0,
            encrypted: false,
            compressed: false,
            done: false,
            stage: Stage::Begin,
        }
    }

    /// Follows a session that had a login with this challenge and has just sent a change of user.
    pub(super) fn for_change_of_user(key: Arc<PasswordKey>, challenge: Vec<u8>) -> Self {
        Self { challenge, stage: Stage::Watching, ..Self::new(key) }
    }

    /// How to follow the session after the login.
    pub(super) fn framing_after_login(self) -> FramingAfterLogin {
        match (self.encrypted, self.compressed) {
            (true, _) => FramingAfterLogin::Unknown,
            (false, false) => FramingAfterLogin::Packets(self.challenge),
            // Otherwise the start of the first compressed packet is unknown.
            (false, true) if self.done => FramingAfterLogin::Compressed(self.challenge),
            (false, true) => FramingAfterLogin::Unknown,
        }
    }

    /// The challenge for the next login.
    pub(super) fn into_challenge(self) -> Vec<u8> {
        self.challenge
    }

    /// How much higher the client's sequence numbers are than the server's.
    pub(super) fn ahead(&self) -> u8 {
        if matches!(self.stage, Stage::Given | Stage::Ahead) { AHEAD } else { 0 }
    }

    /// Whether the login is over: later bytes need no processing.
    pub(super) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Processes bytes of the server.
    pub(super) fn server_sends(&mut self, bytes: &[u8], out: &mut ForwardedBytes) {
        self.from_server.extend_from_slice(bytes);
        while let Some((number, body)) = self.next(|login| &mut login.from_server) {
            put(&mut out.to_client, number.wrapping_add(self.ahead()), &body);
            self.handle_server_packet(&body);
        }
        self.release_held(out);
    }

    fn handle_server_packet(&mut self, body: &[u8]) {
        match (self.stage, body) {
            (Stage::Begin, _) => match greeting::challenge(body) {
                Some(challenge) => {
                    self.challenge = challenge;
                    self.server_capabilities = greeting::server_capabilities(body);
                    self.stage = Stage::Watching;
                }
                None => self.stage = Stage::Over,
            },
            (_, [OK | ERROR, ..]) => {
                self.stage = Stage::Over;
                self.done = self.from_server.is_empty() && self.from_client.is_empty();
            }
            (Stage::Watching, [AUTH_SWITCH_REQUEST, rest @ ..]) => {
                let data = rest.iter().skip_while(|byte| **byte != 0);
                self.challenge = data.copied().filter(|byte| *byte != 0).collect();
            }
            (Stage::Watching, body) if body == FULL_AUTHENTICATION => self.stage = Stage::Wanted,
            _ => {}
        }
    }

    /// Processes bytes of the client.
    pub(super) fn client_sends(&mut self, bytes: &[u8], out: &mut ForwardedBytes) {
        self.from_client.extend_from_slice(bytes);
        while let Some((number, body)) = self.next(|login| &mut login.from_client) {
            let body = Zeroizing::new(body);
            if number == 1 {
                self.begins(&body);
            }
            // The packet is a command, or TLS.
            if number == 0 || self.encrypted {
                put(&mut out.to_server, number, &body);
                self.stage = Stage::Over;
                break;
            }
            self.handle_client_packet(number, &body, out);
        }
        self.release_held(out);
    }

    fn handle_client_packet(&mut self, number: u8, body: &[u8], out: &mut ForwardedBytes) {
        if self.stage == Stage::Wanted
            && body == PUBLIC_KEY_REQUEST
            && let Some((_, pem)) = self.key.get()
        {
            put(&mut out.to_client, number.wrapping_add(1), &[&[AUTH_MORE_DATA], pem.as_bytes()].concat());
            self.stage = Stage::Given;
            return;
        }
        match self.stage {
            Stage::Given => {
                // If decryption fails, the server gets an empty password, which it rejects.
                let password = self.key.open(body, &self.challenge);
                put(&mut out.to_server, number.wrapping_sub(AHEAD), password.as_deref().map_or(&[0], Vec::as_slice));
                self.stage = Stage::Ahead;
            }
            Stage::Ahead => put(&mut out.to_server, number.wrapping_sub(AHEAD), body),
            _ => {
                put(&mut out.to_server, number, body);
                if self.stage == Stage::Wanted {
                    self.stage = Stage::Watching;
                }
            }
        }
    }

    /// Examines the client's first packet.
    fn begins(&mut self, body: &[u8]) {
        let capabilities = body.first_chunk().map_or(0, |capabilities| u32::from_le_bytes(*capabilities));
        self.encrypted = body.len() == HEAD_BYTES && capabilities & capability::SSL != 0;
        self.compressed = capabilities & self.server_capabilities & (CLIENT_COMPRESS | CLIENT_ZSTD) != 0;
    }

    /// The next complete packet: sequence number and body.
    fn next(&mut self, side: impl Fn(&mut Self) -> &mut Vec<u8>) -> Option<(u8, Vec<u8>)> {
        if self.stage == Stage::Over {
            return None;
        }
        let came = side(self);
        let [a, b, c, number] = *came.first_chunk()?;
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        if length > MAX_PACKET_BYTES {
            self.stage = Stage::Over;
            return None;
        }
        let end = HEADER_BYTES + length;
        let body = came.get(HEADER_BYTES..end)?.to_vec();
        came.drain(..end);
        Some((number, body))
    }

    /// Passes held bytes on unchanged once the login is over.
    fn release_held(&mut self, out: &mut ForwardedBytes) {
        if self.is_over() {
            out.to_client.append(&mut self.from_server);
            out.to_server.append(&mut self.from_client);
        }
    }

    /// Handles the end of the server's side.
    pub(super) fn server_ends(&mut self, out: &mut ForwardedBytes) {
        self.stage = Stage::Over;
        self.release_held(out);
    }
}

/// Whether the bytes are exactly one packet with a change of user.
pub(super) fn is_change_of_user(bytes: &[u8]) -> bool {
    let Some(([a, b, c, 0], body)) = bytes.split_first_chunk() else { return false };
    body.first() == Some(&CHANGE_USER) && body.len() == u32::from_le_bytes([*a, *b, *c, 0]) as usize
}

#[cfg(test)]
pub(super) mod tests {
    use aws_lc_rs::rsa::{OaepPublicEncryptingKey, PublicEncryptingKey};
    use proptest::prelude::*;

    use super::*;

    pub(crate) const CHALLENGE: &[u8; 20] = b"abcdefgh123456789012";

    pub(crate) fn packet(number: u8, body: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        put(&mut packet, number, body);
        packet
    }

    pub(crate) fn greeting() -> Vec<u8> {
        let mut body = b"\x0a9.7.4\0\x07\0\0\0".to_vec();
        body.extend_from_slice(&CHALLENGE[..8]);
        body.extend_from_slice(&[0, 0xff, 0xff, 0xff, 2, 0, 0xff, 0xdf, 21]);
        body.extend_from_slice(&[0; 10]);
        body.extend_from_slice(&CHALLENGE[8..]);
        body.extend_from_slice(b"\0caching_sha2_password\0");
        packet(0, &body)
    }

    pub(crate) fn sealed(pem: &str, password: &[u8], challenge: &[u8]) -> Vec<u8> {
        let text: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let key = PublicEncryptingKey::from_der(&BASE64.decode(text.as_bytes()).unwrap()).unwrap();
        let key = OaepPublicEncryptingKey::new(key).unwrap();
        let mixed: Vec<u8> = password.iter().zip(challenge.iter().cycle()).map(|(a, b)| a ^ b).collect();
        let mut room = vec![0; key.ciphertext_size()];
        key.encrypt(&OAEP_SHA1_MGF1SHA1, &mixed, &mut room, None).unwrap().to_vec()
    }

    /// Feeds both sides' bytes in pieces; returns what each side received.
    struct Sides {
        login: Login,
        piece: usize,
    }

    impl Sides {
        fn server(&mut self, bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
            self.both(bytes, Login::server_sends)
        }

        fn client(&mut self, bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
            self.both(bytes, Login::client_sends)
        }

        fn both(&mut self, bytes: &[u8], side: impl Fn(&mut Login, &[u8], &mut ForwardedBytes)) -> (Vec<u8>, Vec<u8>) {
            let mut out = ForwardedBytes::default();
            bytes.chunks(self.piece).for_each(|bytes| side(&mut self.login, bytes, &mut out));
            (out.to_client, out.to_server.to_vec())
        }
    }

    #[test]
    fn a_client_that_requests_a_key_gets_one_and_the_server_the_password() {
        let key = Arc::new(PasswordKey::default());
        let other = *b"zyxwvutsrqponmlkjihg";
        let switch = packet(2, &[b"\xfecaching_sha2_password\0", other.as_slice(), b"\0"].concat());
        for piece in [1, 3, 1000] {
            for (before, challenge) in [(vec![], CHALLENGE), (switch.clone(), &other)] {
                let mut sides = Sides { login: Login::new(Arc::clone(&key)), piece };
                assert_eq!(sides.server(&greeting()), (greeting(), vec![]));
                let login = packet(1, b"\x0d\xa2\0\0 and so on");
                assert_eq!(sides.client(&login), (vec![], login));
                let wants = [before, packet(4, &FULL_AUTHENTICATION)].concat();
                assert_eq!(sides.server(&wants), (wants, vec![]));
                let (answer, nothing) = sides.client(&packet(5, &PUBLIC_KEY_REQUEST));
                assert!(nothing.is_empty(), "the server is not asked");
                assert_eq!(answer[3..5], [6, AUTH_MORE_DATA]);
                let pem = String::from_utf8(answer[5..].to_vec()).unwrap();
                let sent = packet(7, &sealed(&pem, b"Secret-1\0", challenge));
                assert_eq!(sides.client(&sent), (vec![], packet(5, b"Secret-1\0")));
                assert_eq!(sides.server(&packet(6, b"\0ok")), (packet(8, b"\0ok"), vec![]));
                assert!(sides.login.is_over());
            }
        }
    }

    #[test]
    fn logins_without_a_key_request_pass_unchanged() {
        let mut sides = Sides { login: Login::new(Arc::default()), piece: 7 };
        sides.server(&greeting());
        let sent =
            [packet(1, b"login"), packet(3, b"Secret-1\0"), packet(0, b"\x03SELECT 1"), packet(9, b"\x02")].concat();
        assert_eq!(sides.client(&sent[..9]), (vec![], sent[..9].to_vec()));
        let came = [packet(2, &FULL_AUTHENTICATION), packet(4, b"\0ok"), packet(1, b"\x01raw")].concat();
        assert_eq!(sides.server(&came), (came, vec![]));
        assert_eq!(sides.client(&sent[9..]), (vec![], sent[9..].to_vec()));
        // A password that is not a ciphertext, and a client that continues with TLS.
        let mut sides = Sides { login: Login::new(Arc::default()), piece: 1000 };
        sides.server(&greeting());
        sides.server(&packet(2, &FULL_AUTHENTICATION));
        sides.client(&packet(3, &PUBLIC_KEY_REQUEST));
        assert_eq!(sides.client(&packet(5, b"no ciphertext")), (vec![], packet(3, b"\0")));
        let mut sides = Sides { login: Login::new(Arc::default()), piece: 1000 };
        sides.server(&greeting());
        let request = packet(1, &[vec![0x8d, 0xaa, 0xff, 0], vec![0; 28]].concat());
        sides.client(&request);
        assert!(sides.login.is_over());
    }

    #[test]
    fn a_change_of_user_is_another_login() {
        let key = Arc::new(PasswordKey::default());
        let mut sides = Sides { login: Login::new(Arc::clone(&key)), piece: 1000 };
        sides.server(&greeting());
        sides.client(&packet(1, b"\x0d\xa2\0\0 and so on"));
        sides.server(&packet(2, b"\0ok"));
        let FramingAfterLogin::Packets(challenge) = sides.login.framing_after_login() else {
            panic!("they can be read")
        };
        assert_eq!(challenge, CHALLENGE);
        let change = packet(0, b"\x11two\0");
        assert!(is_change_of_user(&change) && !is_change_of_user(&change[..7]));
        assert!(!is_change_of_user(&packet(0, b"\x03SELECT 1")) && !is_change_of_user(&packet(1, b"\x11two\0")));
        let mut sides = Sides { login: Login::for_change_of_user(key, challenge), piece: 1000 };
        sides.server(&packet(1, &FULL_AUTHENTICATION));
        let (answer, _) = sides.client(&packet(2, &PUBLIC_KEY_REQUEST));
        assert_eq!(answer[3..5], [3, AUTH_MORE_DATA]);
    }

    #[test]
    fn the_framing_after_a_login_is_known() {
        let after = |capabilities: &[u8], end: &[u8]| {
            let mut sides = Sides { login: Login::new(Arc::default()), piece: 1000 };
            let mut greeting = greeting();
            // The server does not offer zstd.
            greeting[30] &= !4;
            sides.server(&greeting);
            sides.client(&packet(1, &[capabilities, b" and so on"].concat()));
            sides.server(end);
            sides.login.framing_after_login()
        };
        let (plain, zlib, zstd) = ([0x0d, 0xa2, 0, 0], [0x2d, 0xa2, 0, 0], [0x0d, 0xa2, 0, 4]);
        let ok = packet(2, b"\0ok");
        assert!(matches!(after(&plain, &ok), FramingAfterLogin::Packets(_)));
        assert!(matches!(after(&zlib, &ok), FramingAfterLogin::Compressed(challenge) if challenge == CHALLENGE));
        assert!(matches!(after(&zstd, &ok), FramingAfterLogin::Packets(_)));
        assert!(
            matches!(after(&zlib, &[ok, vec![1]].concat()), FramingAfterLogin::Unknown),
            "it says more than it should"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_pass_unless_a_key_was_requested(server: Vec<u8>, client: Vec<u8>, piece in 1_usize..40) {
            let mut sides = Sides { login: Login::new(Arc::default()), piece };
            let (mut to_client, mut to_server) = sides.server(&server);
            let (also_client, also_server) = sides.client(&client);
            to_client.extend(also_client);
            to_server.extend(also_server);
            let mut rest = ForwardedBytes::default();
            sides.login.server_ends(&mut rest);
            to_client.extend(rest.to_client);
            to_server.extend(rest.to_server.iter());
            prop_assert_eq!((to_client, to_server), (server, client));
        }
    }
}
