//! Collects facts: the only I/O of this crate.
//!
//! [`live()`] queries a server and examines its files, host and ports, as far as permitted; [`offline()`] examines the
//! files of a directory. Neither judges, and neither keeps a secret. What could not be examined becomes a gap, which
//! checks turn into UNKNOWN.
//!
//! It uses one connection and read-only statements, each once; it opens files without following links or blocking, and
//! without changing their access time where the kernel permits.

mod content;
mod disks;
mod file_facts;
mod file_proofs;
mod files;
mod host;
mod live;
mod location;
mod luks;
mod modes;
mod offline;
mod options;
mod page_proofs;
pub mod placement;
mod process;
mod proofs;
mod register;
mod request;
mod roots;
mod secret;
mod sql;
mod stores;
mod traffic;
mod unit;
mod unlinked;
mod view;
mod wire;

pub use live::live;
pub use offline::offline;
pub use request::{Limits, LiveOptions, OfflineOptions, Progress};
pub use stores::KeyCopies;
pub use traffic::Packets;
