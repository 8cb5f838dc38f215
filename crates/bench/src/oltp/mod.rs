//! Transactions like those of sysbench, on servers that this program starts: the same data encrypted and in clear text,
//! and the same server over a socket, TCP and TLS.

mod arms;
mod bench_server;
mod keys;
mod load;
mod preset;
mod rotation;
mod sysbench_load;
mod tables;
mod timing;
mod usage;
mod volume;
mod workload;

pub use arms::{Arms, ServerArm, WireArm};
pub(crate) use bench_server::{BenchServer, PURGE_PAUSE, ServerSetup, disk_bytes};
pub use load::{Driver, Pace};
pub(crate) use load::{Load, Wire};
pub use preset::{Changes, Preset, Scale};
pub(crate) use sysbench_load::SysbenchLoad;
pub use tables::{TableFormat, TableSet};
pub(crate) use timing::{observation_of, preparation};
pub use workload::Workload;
