//! Authentication: the exchange of the plug-ins' packets after the login request.

use std::time::Instant;

use pki::Fingerprint;

use super::{Connection, Options, TlsMode, login::login_request, proof};
use crate::{
    auth::{PluginLogin, TransportSecurity},
    auth_plugin,
    bytes::Bytes,
    error::{Error, Phase, UnverifiedPeer},
    packet,
    secret::Password,
};

impl Connection {
    /// Authenticates. If nothing else verifies the server's certificate, also checks MariaDB's proof by the password
    /// hash.
    pub(super) fn prove_account(
        &mut self,
        options: &Options,
        mode: TlsMode,
        capabilities: u32,
        sequence: u8,
    ) -> Result<(), Error> {
        let started = Instant::now();
        let empty = Password::new(Vec::new());
        let password = options.password.as_ref().unwrap_or(&empty);
        if mode == TlsMode::VerifyProof && password.is_empty() {
            return Err(Error::ProofMissing { why: "the account has no password, on which the proof is based" });
        }
        self.allow(options.connect_timeout);
        let security = self.security(options);
        let verified = options.tls.verifies(&self.target.endpoint);
        self.authenticate(password, security, capabilities, sequence)
            .and_then(|(login, ok_packet)| match &self.tls {
                Some(tls) if !verified => {
                    let demanded = mode == TlsMode::VerifyProof;
                    proof::judge(&ok_packet, &login, &self.greeting.challenge, tls, demanded)
                }
                _ => Ok(()),
            })
            .map_err(|error| self.with_seen(error))?;
        self.timings.login = started.elapsed();
        Ok(())
    }

    /// Returns the last plug-in and the final OK packet.
    fn authenticate<'p>(
        &mut self,
        password: &'p Password,
        security: TransportSecurity,
        capabilities: u32,
        mut sequence: u8,
    ) -> Result<(PluginLogin<'p>, Vec<u8>), Error> {
        let plugin = auth_plugin::unasked(&self.greeting.auth_plugin);
        let mut login = PluginLogin::new(plugin, &self.greeting.challenge, password, security)?;
        let first = login.first()?;
        let response = login_request(&self.target.user, capabilities, login.plugin(), &first)?;
        self.send(&mut sequence, &response, Phase::Login)?;

        // Every plug-in needs only a few packets.
        for _ in 0..16 {
            let packet = self.receive(&mut sequence, 1 << 16, Phase::Login)?;
            let mut bytes = Bytes::new(&packet);
            let answer = match bytes.u8() {
                Some(0) => return Ok((login, packet)),
                Some(0xff) => {
                    return Err(packet::server_error(&packet).unwrap_or(Error::Malformed { what: "error packet" }));
                }
                Some(0xfe) if bytes.is_empty() => {
                    return Err(PluginLogin::new(auth_plugin::OLD_PASSWORD, &[], password, security)
                        .err()
                        .unwrap_or(Error::Malformed { what: "authentication switch" }));
                }
                Some(0xfe) => {
                    let name = bytes.until_nul().ok_or(Error::Malformed { what: "authentication switch" })?;
                    let name = String::from_utf8_lossy(name);
                    login = PluginLogin::new(&name, bytes.rest(), password, security)?;
                    Some(login.first()?)
                }
                // MySQL's AuthNextFactor; MariaDB's dialog questions may also begin with 2.
                Some(2) if login.plugin() != auth_plugin::DIALOG => {
                    return Err(Error::PluginUnsupported {
                        plugin: "multi-factor authentication".to_owned(),
                        reason: "an audit can use one factor only",
                    });
                }
                Some(1) => login.next(bytes.rest())?,
                // MariaDB omits the leading 1 of plug-in data where that is unambiguous.
                Some(_) => login.next(&packet)?,
                None => login.next(&[])?,
            };
            if let Some(answer) = answer {
                self.send(&mut sequence, &answer, Phase::Login)?;
            }
        }
        Err(Error::Malformed { what: "authentication" })
    }

    fn security(&self, options: &Options) -> TransportSecurity {
        let endpoint = &self.target.endpoint;
        let known = endpoint.is_socket() || options.tls.verifies(endpoint) || options.password_to_unverified;
        match &self.tls {
            Some(_) if known => TransportSecurity::Tls,
            Some(_) => TransportSecurity::Unverified,
            None if endpoint.is_socket() => TransportSecurity::Socket,
            None => TransportSecurity::Clear,
        }
    }

    /// Adds the peer's certificate to a refusal to send the password.
    fn with_seen(&self, error: Error) -> Error {
        let certificate = self.tls.as_ref().and_then(|tls| tls.peer_certificates.first());
        match (error, certificate) {
            (Error::UnverifiedServer { plugin, .. }, Some(der)) => {
                let here = self.transport.get_ref().socket().leads_to_this_host();
                Error::UnverifiedServer {
                    plugin,
                    seen: Some(UnverifiedPeer { fingerprint: Fingerprint::from_der(der), here }),
                }
            }
            (other, _) => other,
        }
    }
}
