//! The cost of TLS for a client: per connection, per packet, per byte.

mod arms;
mod client;
mod daemon;
mod oltp;
mod proxies;
mod relay;
mod security;

pub use arms::{ClientKind, Route, connections, queries, results};
pub use client::Client;
pub(crate) use client::{Prepared, ServerError, Value};
pub(crate) use daemon::{ADMINISTRATOR, Custom, OLTP_DATABASE, USER, version_of};
pub use daemon::{Daemon, KeyPairFiles};
pub use oltp::Oltp;
pub use proxies::{Certificates, Proxy, ssh_forward, stunnel_pair, tunnel_pair};
pub use relay::Relay;
pub use security::{Address, Security, TlsSettings, TlsVersion};
