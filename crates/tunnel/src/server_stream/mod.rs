//! Connections to the server, and the processing of logins that pass through them.

mod compressed;
mod login;
mod password;
mod socket;
pub(crate) mod tls;
mod watcher;

#[cfg(feature = "fuzzing")]
pub(crate) use self::{login::login_of, tls::tls_stream_of, watcher::watch_of};
pub(crate) use self::{password::PasswordKey, socket::SocketServerStream, tls::TlsServerStream};
