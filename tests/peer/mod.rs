//! Misbehaving peers of `sealant send` and `sealant receive`: a network that breaks, and a sender that pairs correctly
//! and then sends arbitrary data.

pub(crate) mod flip;
pub(crate) mod relay;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned};
use transfer::pairing::{PairingCode, Side};
use transfer::wire::frame::{self, HEADER_BYTES};
use transfer::wire::{Control, Data, TOKEN_BYTES, VERSION};

/// Time limit of an answer in seconds.
const SECONDS: u64 = 20;

/// A TLS connection.
pub(crate) type Tls = StreamOwned<ClientConnection, TcpStream>;

/// A sender that has proven the secret of the pairing code.
pub(crate) struct Rogue {
    pub(crate) control: Tls,
    address: SocketAddr,
    config: Arc<ClientConfig>,
    token: [u8; TOKEN_BYTES],
}

impl Rogue {
    pub(crate) fn pair(code: &PairingCode) -> Self {
        Self::try_pair(code).expect("a welcome")
    }

    /// As `pair`, but the network may make it fail.
    pub(crate) fn try_pair(code: &PairingCode) -> Option<Self> {
        Self::pair_by(code, harness::limit(SECONDS), |hello| hello)
    }

    /// As `try_pair`, with another first frame.
    pub(crate) fn pair_by(
        code: &PairingCode,
        time_limit: Duration,
        change: impl FnOnce(Vec<u8>) -> Vec<u8>,
    ) -> Option<Self> {
        let address = code.sockets().next().expect("an address");
        let config = config(true);
        let mut control = connect(address, &config)?;
        let exporter = control.conn.export_keying_material([0; 32], b"EXPORTER-sealant-transfer-1", None);
        let proof = code.secret.proof(Side::Sender, &exporter.expect("an exporter"));
        let mut hello = Vec::new();
        let kind = Control::Hello { version: VERSION, proof, speeds: [1; 3], streams: 2 }.encode(&mut hello);
        say_bytes(&mut control, &change([&frame::header(kind, hello.len())[..], &hello].concat()));
        control.sock.set_read_timeout(Some(time_limit)).expect("a time limit");
        let (kind, body) = hear(&mut control)?;
        let Ok(Control::Welcome { token, .. }) = Control::decode(kind, &body) else { return None };
        control.sock.set_read_timeout(Some(harness::limit(SECONDS))).expect("a time limit");
        Some(Self { control, address, config, token })
    }

    pub(crate) fn say(&mut self, message: &Control) {
        say(&mut self.control, message);
    }

    /// Waits until the receiver is ready for data.
    pub(crate) fn wait_until_ready(&mut self) {
        while let Some((kind, body)) = hear(&mut self.control) {
            match Control::decode(kind, &body) {
                Ok(Control::Ready { .. }) => return,
                Ok(Control::Failed { reason }) => panic!("refused before any data: {reason}"),
                _ => {}
            }
        }
        panic!("no word from the receiver");
    }

    /// Opens a data connection.
    pub(crate) fn data(&self) -> Tls {
        let mut data = self.data_with(self.token).expect("a data connection");
        hear(&mut data).expect("an answer");
        data
    }

    /// Opens a data connection, if it is answered in time.
    pub(crate) fn data_within(&self, time_limit: Duration) -> Option<Tls> {
        let mut data = connect_within(self.address, &self.config, time_limit)?;
        say_data(&mut data, &Data::Attach { token: self.token }, &[]);
        hear(&mut data).map(|_| data)
    }

    pub(crate) fn data_with(&self, token: [u8; TOKEN_BYTES]) -> Option<Tls> {
        let mut data = connect(self.address, &self.config)?;
        say_data(&mut data, &Data::Attach { token }, &[]);
        Some(data)
    }
}

pub(crate) fn say(to: &mut Tls, message: &Control) {
    let mut body = Vec::new();
    let kind = message.encode(&mut body);
    say_raw(to, kind, &body);
}

pub(crate) fn say_data(to: &mut Tls, message: &Data<'_>, payload: &[u8]) {
    let mut body = Vec::new();
    let kind = message.encode(&mut body);
    body.extend(payload);
    say_raw(to, kind, &body);
}

/// Sends a frame; the receiver may have closed the connection already.
pub(crate) fn say_raw(to: &mut Tls, kind: u8, body: &[u8]) {
    say_bytes(to, &frame::header(kind, body.len()));
    say_bytes(to, body);
}

/// Sends bytes that may or may not be a frame.
pub(crate) fn say_bytes(to: &mut Tls, bytes: &[u8]) {
    let _ = to.write_all(bytes);
    let _ = to.flush();
}

/// Receives the next frame; `None` at the end.
pub(crate) fn hear(from: &mut Tls) -> Option<(u8, Vec<u8>)> {
    let mut header = [0; HEADER_BYTES];
    from.read_exact(&mut header).ok()?;
    let (kind, length) = frame::parse_header(header).expect("a header");
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    Some((kind, body))
}

pub(crate) fn connect(address: SocketAddr, config: &Arc<ClientConfig>) -> Option<Tls> {
    connect_within(address, config, harness::limit(SECONDS))
}

fn connect_within(address: SocketAddr, config: &Arc<ClientConfig>, time_limit: Duration) -> Option<Tls> {
    let socket = TcpStream::connect(address).ok()?;
    socket.set_read_timeout(Some(time_limit)).expect("a time limit");
    socket.set_nodelay(true).expect("an option");
    let name = ServerName::try_from("sealant").expect("a name");
    let mut tls = StreamOwned::new(ClientConnection::new(config.clone(), name).expect("a client"), socket);
    while tls.conn.is_handshaking() {
        tls.conn.complete_io(&mut tls.sock).ok()?;
    }
    Some(tls)
}

/// Accepts any receiver; with or without a client certificate.
pub(crate) fn config(with_certificate: bool) -> Arc<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)));
    if !with_certificate {
        return Arc::new(builder.with_no_client_auth());
    }
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = rcgen::CertificateParams::default().self_signed(&key).expect("a certificate");
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    Arc::new(builder.with_client_auth_cert(vec![certificate.der().clone()], private).expect("a client"))
}

#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
