//! Servers with workloads, their logs, and their own tools that print them.

#![allow(clippy::unwrap_used, dead_code, reason = "tests; each binary uses a part")]

pub(crate) mod chance;
pub(crate) mod tool;
pub(crate) mod verbose;
pub(crate) mod workload;

use std::path::PathBuf;

use harness::Server;

/// The binary logs of a server, in order. The last one is still open.
pub(crate) fn logs(server: &Server) -> Vec<PathBuf> {
    let rows = server.sql("SHOW BINARY LOGS").unwrap();
    rows.lines().map(|row| server.datadir().join(row.split('\t').next().unwrap())).collect()
}
