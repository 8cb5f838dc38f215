//! Transactions like those of sysbench, on servers that this program starts: the same data, encrypted and in the clear,
//! and the same server over a socket, TCP and TLS.

mod arms;
mod keys;
mod load;
mod site;
mod tables;
mod usage;
mod workload;

pub use arms::{Arms, ServerArm, WireArm};
pub use load::Pace;
pub(crate) use load::{Load, Wire};
pub(crate) use site::{ArmServer, REDO_BYTES, Site};
pub use tables::TableSet;
pub(crate) use usage::TICKS;
pub use workload::Workload;
