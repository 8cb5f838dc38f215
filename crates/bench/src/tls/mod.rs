//! What TLS costs a client of a database server: per connection, per packet, per byte.

mod arms;
mod carriers;
mod client;
mod daemon;
mod oltp;
mod relay;

pub use arms::{ClientKind, Way, connections, queries, results};
pub use carriers::{Carrier, Certificates, ssh_forward, stunnel_pair, tunnel_pair};
pub use client::{Address, Client, Security, TlsSettings, TlsVersion};
pub use daemon::{Daemon, KeyPairFiles};
pub use oltp::Oltp;
pub use relay::Relay;
