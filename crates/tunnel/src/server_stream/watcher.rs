//! Follows a session at a server's unix socket, to provide a key for logins.

use std::sync::Arc;

use super::{
    compressed::Compressed,
    password::{ForwardedBytes, FramingAfterLogin, Login, PasswordKey, is_change_of_user},
};

/// A session, followed from the server's greeting on.
pub(super) struct Watch {
    key: Arc<PasswordKey>,
    state: State,
}

enum State {
    /// A login is in progress.
    Login(Box<Login>),
    /// Logged in with this challenge.
    Packets(Vec<u8>),
    /// Logged in with compressed packets.
    Compressed(Box<Compressed>),
    /// The session can no longer be followed.
    Blind,
}

impl Watch {
    pub(super) fn new(key: &Arc<PasswordKey>) -> Self {
        Self { key: Arc::clone(key), state: State::Login(Box::new(Login::new(Arc::clone(key)))) }
    }

    /// Whether bytes must go through here because they may be changed; otherwise they pass directly
    /// and are only recorded.
    pub(super) fn holds(&self) -> bool {
        match &self.state {
            State::Login(_) => true,
            State::Compressed(session) => session.is_changing(),
            State::Packets(_) | State::Blind => false,
        }
    }

    /// Records what was sent to the server directly.
    pub(super) fn client_sent(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Packets(challenge) if is_change_of_user(bytes) => {
                let login = Login::for_change_of_user(Arc::clone(&self.key), std::mem::take(challenge));
                self.state = State::Login(Box::new(login));
            }
            State::Compressed(session) => session.client_sent(bytes),
            _ => {}
        }
    }

    /// Records what was sent to the client directly.
    pub(super) fn server_sent(&mut self, bytes: &[u8]) {
        if let State::Compressed(session) = &mut self.state {
            session.server_sent(bytes);
        }
    }

    /// Processes bytes of the client.
    pub(super) fn client_sends(&mut self, bytes: &[u8], out: &mut ForwardedBytes) {
        match &mut self.state {
            State::Login(login) => login.client_sends(bytes, out),
            State::Compressed(session) => session.client_sends(bytes, out),
            State::Packets(_) | State::Blind => out.to_server.extend_from_slice(bytes),
        }
        self.go_on();
    }

    /// Processes bytes of the server.
    pub(super) fn server_sends(&mut self, bytes: &[u8], out: &mut ForwardedBytes) {
        match &mut self.state {
            State::Login(login) => login.server_sends(bytes, out),
            State::Compressed(session) => session.server_sends(bytes, out),
            State::Packets(_) | State::Blind => out.to_client.extend_from_slice(bytes),
        }
        self.go_on();
    }

    /// Handles the end of the server's side.
    pub(super) fn server_ends(&mut self, out: &mut ForwardedBytes) {
        match std::mem::replace(&mut self.state, State::Blind) {
            State::Login(mut login) => login.server_ends(out),
            State::Compressed(mut session) => session.end(out),
            State::Packets(_) | State::Blind => {}
        }
    }

    fn go_on(&mut self) {
        if !matches!(&self.state, State::Login(login) if login.is_over()) {
            return;
        }
        let State::Login(login) = std::mem::replace(&mut self.state, State::Blind) else { return };
        self.state = match login.framing_after_login() {
            FramingAfterLogin::Packets(challenge) => State::Packets(challenge),
            FramingAfterLogin::Compressed(challenge) => {
                State::Compressed(Box::new(Compressed::new(Arc::clone(&self.key), challenge)))
            }
            FramingAfterLogin::Unknown => State::Blind,
        };
    }
}

/// Feeds a connection from its first byte on, in pieces. Each piece is preceded by one byte: the highest bit marks
/// bytes of the client, the others are the length. Asserts that each side receives exactly what the other sent, unless
/// the client got a key. Returns whether it did.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn watch_of(mut input: &[u8]) -> bool {
    static KEY: std::sync::OnceLock<Arc<PasswordKey>> = std::sync::OnceLock::new();
    let (mut watch, mut out) = (Watch::new(KEY.get_or_init(Arc::default)), ForwardedBytes::default());
    let (mut by_client, mut by_server) = (Vec::new(), Vec::new());
    while let Some((head, rest)) = input.split_first() {
        let (piece, behind) = rest.split_at(rest.len().min(usize::from(head & 0x7f)));
        input = behind;
        watch.piece(head & 0x80 != 0, piece, &mut out);
        if head & 0x80 != 0 { &mut by_client } else { &mut by_server }.extend_from_slice(piece);
    }
    watch.server_ends(&mut out);
    let handed_out = out.to_client.windows(16).any(|bytes| bytes == b"BEGIN PUBLIC KEY");
    assert!(handed_out || (*out.to_server == by_client && out.to_client == by_server));
    handed_out
}

#[cfg(any(test, feature = "fuzzing"))]
impl Watch {
    /// Feeds a piece like one end of a connection.
    fn piece(&mut self, is_client: bool, piece: &[u8], out: &mut ForwardedBytes) {
        match (self.holds(), is_client) {
            (true, true) => self.client_sends(piece, out),
            (true, false) => self.server_sends(piece, out),
            (false, true) => {
                out.to_server.extend_from_slice(piece);
                self.client_sent(piece);
            }
            (false, false) => {
                out.to_client.extend_from_slice(piece);
                self.server_sent(piece);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_byte_is_lost_or_added(input in proptest::collection::vec(any::<u8>(), 0..600)) {
            watch_of(&input);
        }
    }

    #[test]
    fn the_seed_corpus_of_the_fuzz_target_passes() {
        let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/tunnel_password");
        let inputs: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(inputs.len() >= 10);
        for input in inputs {
            let asks = ["asked", "changed", "compressed-stored", "compressed-zlib", "switched"];
            let asks = asks.iter().any(|name| input.ends_with(name));
            assert_eq!(watch_of(&std::fs::read(&input).unwrap()), asks, "{input:?}");
        }
    }
}
