//! What cipher sets of dm-crypt cost: the processor, by loops of our own over sectors in memory, and a disk with
//! device-mapper in front of it, by `fio`.

mod cpu;
mod device;
mod load;
mod set;
mod volume;

pub use cpu::{Way, sectors};
pub use device::{Disk, device_mapper};
pub use load::{FioLoad, Pattern};
pub use set::{CipherSet, UnknownSet};
pub use volume::{OpenVolume, Refusal, TestVolume};
