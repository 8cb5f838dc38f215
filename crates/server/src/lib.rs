//! Connects to servers of the MySQL family and describes them.
//!
//! - [`connect`]: a small blocking client that reports what it observed;
//! - [`probe`]: examines a listener without an account;
//! - [`dialect`]: logical queries with the same columns for every server;
//! - [`Grants`]: whether a result can be complete;
//! - [`login`]: server, account and options, from the caller and option files;
//! - [`option_file`]: `my.cnf` and similar files;
//! - [`address`]: `HOST:PORT`, and the lists of `bind_address`;
//! - [`sql`]: the tokens of a statement.
//!
//! All input from a peer is untrusted: lengths are checked before memory is allocated, and every wait has a timeout.

#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]
#![warn(clippy::arithmetic_side_effects)]

mod account;
pub mod address;
mod auth;
pub mod auth_plugin;
pub mod auto_cnf;
mod bytes;
pub mod connect;
pub mod dialect;
mod endpoint;
mod error;
pub mod error_code;
mod galera_options;
pub mod greeting;
mod identity;
pub mod login;
pub mod option_file;
pub mod option_group;
pub mod option_name;
mod packet;
mod privileges;
pub mod probe;
pub mod program;
pub mod quote;
pub mod release_line;
mod secret;
pub mod secret_name;
mod server_process;
mod socket;
pub mod sql;
mod ssl_mode;
pub mod switch;
pub mod tls;
mod url;
mod version;

pub use account::Account;
pub use connect::{
    Connection, DumpFrom, EachRow, EventPackets, Executed, FIRST_EVENT, LOCAL_NAME, Options, Rows, TlsMode, TlsOptions,
};
pub use dialect::capability::Capability;
pub use endpoint::{
    DEFAULT_ADMIN_PORT, DEFAULT_GALERA_PORT, DEFAULT_GROUP_PORT, DEFAULT_IST_PORT, DEFAULT_PORT,
    DEFAULT_STATE_TRANSFER_PORT, DEFAULT_X_PORT, Endpoint, Target,
};
pub use error::{Error, OtherService, Phase, UnverifiedPeer};
pub use galera_options::ProviderOptions;
pub use identity::{Identity, describe};
pub use privileges::Grants;
pub use secret::Password;
pub use server_process::{NotStarted, ServerFiles, ServerProcess};
pub use ssl_mode::SslMode;
pub use version::{Flavor, MARIADB_PROGRAM, MYSQL_PROGRAM, PROGRAMS, ServerVersion, VersionHints};
