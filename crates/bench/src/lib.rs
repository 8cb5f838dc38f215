//! Experiments: arms, interleaving, statistics, environment record.
//!
//! An [`Arm`] is what is measured: a closure or a program that processes bytes, opens connections or runs queries. An
//! [`Experiment`] runs its arms in interleaved rounds (A B B A …) until the interval of every median is narrow, and
//! compares them round by round, so that disturbances affect all arms. Every sample is kept; [`Environment`] describes
//! the machine.
//!
//! The crate does not format reports for display.
#![forbid(unsafe_code)]

pub mod arms;
mod backup;
mod cache;
mod cluster;
mod copy;
pub mod cost;
pub mod disk;
mod environment;
mod error;
mod experiment;
mod fio;
mod judge;
mod migrate;
mod oltp;
mod operations;
mod peer;
mod perf;
pub mod predict;
mod processor;
mod program;
mod random;
mod range;
mod record;
mod samples;
mod stats;
pub mod suite;
mod sysbench;
mod tls;

pub use cache::{Residency, drop_cache, residency, warm};
pub use cluster::{Installation, Node, Writer};
pub use copy::{
    COPY_PEERS, CopyJob, CopyPeer, Link, Namespaces, Program, Rate, RunningServer, SealantCopy, TemporaryDirectory,
    Tree, programs_of,
};
pub use environment::Environment;
pub use error::Error;
pub use experiment::{Arm, Experiment, Progress, Rounds, Settings, Work};
pub use judge::{SamplesHead, judge};
pub use oltp::{Arms, Changes, Driver, Pace, Preset, Scale, ServerArm, TableFormat, TableSet, WireArm, Workload};
pub use operations::{Latencies, LatencyRecord, Operations, OperationsRecord, ServerWork, WorkRecord};
pub use peer::{Peer, PeerKind, PeerVerdicts};
pub use program::{Peak, peak_memory};
pub use record::{
    ArmRecord, Cause, CauseRecord, ComparedBy, DetailRecord, ExperimentRecord, FigureRatios, PredictionRecord,
    RatioRecord, Record, SCHEMA, Stop, Subject, Unit,
};
pub use samples::{Detail, Sample, Samples};
pub use stats::{Difference, Interval, median, median_interval, ratio_interval};
pub use tls::{
    Address, Certificates, Client, ClientKind, KeyPairFiles, Oltp, Proxy, Relay, Route, Security, TemporaryServer,
    TlsSettings, TlsVersion, connections, queries, results, ssh_forward, stunnel_pair, tunnel_pair,
};
