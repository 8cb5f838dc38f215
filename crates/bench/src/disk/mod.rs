//! The cost of dm-crypt ciphers: CPU time of encrypting sectors in memory, and the throughput of a disk through
//! device-mapper, measured with `fio`.

mod cpu;
mod device;
mod load;
mod set;
mod volume;

pub use cpu::{CipherDirection, sectors};
pub use device::{Disk, device_mapper};
pub use load::{FioLoad, Pattern};
pub use set::{CipherSet, UnknownSet};
pub use volume::{OpenVolume, Refusal, TestVolume};
