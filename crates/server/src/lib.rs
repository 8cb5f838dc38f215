//! Connect to and describe a MySQL-family server.
//!
//! - [`connect`]: a small blocking client that shows what it saw of the server;
//! - [`probe`]: looks at a listener without an account;
//! - [`dialect`]: what to ask which server, with one set of columns for all;
//! - [`Grants`]: whether an answer can be complete;
//! - [`login`]: which server, as whom and how, from what was asked for and option files;
//! - [`option_file`]: `my.cnf` and its kin;
//! - [`certificate`]: what an X.509 certificate says.
//!
//! Everything read from a peer is taken as hostile: lengths are checked before
//! memory is taken, and every wait has an end.

#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]
#![warn(clippy::arithmetic_side_effects)]

mod auth;
pub mod auto_cnf;
mod bytes;
pub mod certificate;
pub mod connect;
pub mod dialect;
mod endpoint;
mod error;
pub mod greeting;
mod identity;
pub mod login;
pub mod option_file;
pub mod option_group;
mod packet;
mod privileges;
pub mod probe;
mod secret;
mod socket;
pub mod tls;
mod version;

pub use certificate::Certificate;
pub use connect::{Connection, Options, Rows, TlsMode, TlsOptions};
pub use endpoint::{DEFAULT_PORT, Endpoint, Target};
pub use error::{Error, Phase, Seen, Stranger, Untrusted};
pub use identity::{Identity, describe};
pub use privileges::Grants;
pub use secret::Password;
pub use version::{Flavor, ServerVersion, Signs};
