//! Packets of a client's login.

use zeroize::Zeroizing;

use crate::{
    error::Error,
    greeting::{Greeting, UTF8MB4_GENERAL_CI, capability},
};

/// The maximum packet size that this client announces.
const MAX_PACKET_BYTES: u32 = 1 << 24;

pub(super) fn our_capabilities(greeting: &Greeting, tls: bool, bulk_load: bool) -> u32 {
    let optional = greeting.capabilities
        & (capability::PLUGIN_AUTH
            | capability::PLUGIN_AUTH_LENENC
            | capability::CONNECT_ATTRS
            | capability::MULTI_FACTOR);
    let ours = capability::LONG_PASSWORD
        | capability::LONG_FLAG
        | capability::PROTOCOL_41
        | capability::TRANSACTIONS
        | capability::SECURE_CONNECTION
        | optional;
    let tls = if tls { capability::SSL } else { 0 };
    let bulk_load = if bulk_load { capability::LOCAL_FILES } else { 0 };
    ours | tls | bulk_load
}

/// The common part of a TLS request and a login request.
pub(crate) fn request_head(capabilities: u32) -> Vec<u8> {
    let mut head = Vec::with_capacity(32);
    head.extend_from_slice(&capabilities.to_le_bytes());
    head.extend_from_slice(&MAX_PACKET_BYTES.to_le_bytes());
    head.push(UTF8MB4_GENERAL_CI);
    head.extend_from_slice(&[0; 23]);
    head
}

/// Encodes a login request. Source: MySQL's "Protocol::HandshakeResponse41".
pub(crate) fn login_request(
    user: &str,
    capabilities: u32,
    plugin: &str,
    answer: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    if user.contains('\0') {
        return Err(Error::Url { reason: "the user name contains a NUL" });
    }
    let mut request = Zeroizing::new(request_head(capabilities));
    request.extend_from_slice(user.as_bytes());
    request.push(0);
    // First answers have at most 64 bytes, so one length byte is right in both encodings.
    let length = u8::try_from(answer.len()).map_err(|_| Error::Malformed { what: "challenge" })?;
    request.push(length);
    request.extend_from_slice(answer);
    if capabilities & capability::PLUGIN_AUTH != 0 {
        request.extend_from_slice(plugin.as_bytes());
        request.push(0);
    }
    if capabilities & capability::CONNECT_ATTRS != 0 {
        let attributes =
            [("_client_name", "sealant"), ("_client_version", env!("CARGO_PKG_VERSION")), ("program_name", "sealant")];
        let mut encoded = Vec::new();
        for text in attributes.iter().flat_map(|(key, value)| [key, value]) {
            // All of these are shorter than 251 bytes.
            encoded.push(u8::try_from(text.len()).unwrap_or(0));
            encoded.extend_from_slice(text.as_bytes());
        }
        request.push(u8::try_from(encoded.len()).unwrap_or(0));
        request.extend_from_slice(&encoded);
    }
    Ok(request)
}
