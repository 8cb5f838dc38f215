//! The cost of TLS for a client: per connection, per packet, per byte.

mod accounts;
mod arms;
mod certificates;
mod client;
mod oltp;
mod proxies;
mod relay;
mod security;
mod system_tables;
mod temporary_server;

pub(crate) use accounts::{ADMINISTRATOR, OLTP_DATABASE, USER};
pub use arms::{ClientKind, Route, connections, queries, results};
pub(crate) use certificates::{authority, issue};
pub use client::Client;
pub(crate) use client::{Prepared, ServerError, Value};
pub use oltp::Oltp;
pub use proxies::{Certificates, Proxy, ssh_forward, stunnel_pair, tunnel_pair};
pub use relay::Relay;
pub use security::{Address, Security, TlsSettings, TlsVersion};
pub use temporary_server::{KeyPairFiles, TemporaryServer};
pub(crate) use temporary_server::{StartOptions, is_mariadb, version_of};
