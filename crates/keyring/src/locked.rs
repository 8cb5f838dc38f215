//! Memory that is neither swapped out nor written into core dumps. The only unsafe code of this crate.
//!
//! It is a mapping of its own, because `mlock` and `madvise` work on whole pages: on the heap they would affect other
//! data, and outlive the allocation.

use std::{io, ptr, ptr::NonNull, slice};

use rustix::mm::{MapFlags, ProtFlags, mlock, mmap_anonymous, munmap};
use zeroize::Zeroize;

/// Bytes, initially zero, wiped before they are unmapped.
pub(crate) struct LockedMemory {
    start: NonNull<u8>,
    len: usize,
    locked: bool,
}

impl LockedMemory {
    /// Maps `len` bytes. If the system refuses to lock them (`RLIMIT_MEMLOCK`), that is not an error; see
    /// [`Self::is_locked`].
    pub(crate) fn new(len: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // The system does not map empty ranges.
        let mapped = len.max(1);
        // SAFETY: a new mapping of no file, at an address the system chooses, touches no other memory.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), mapped, protection, MapFlags::PRIVATE) }?;
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: exactly the range mapped above, which nobody else knows yet.
        let locked = unsafe { mlock(start.as_ptr().cast(), mapped) }.is_ok();
        #[cfg(target_os = "linux")]
        // SAFETY: as above; this advice changes what a core dump holds, not the memory.
        let _ = unsafe { rustix::mm::madvise(start.as_ptr().cast(), mapped, rustix::mm::Advice::LinuxDontDump) };
        Ok(Self { start, len, locked })
    }

    /// Whether the memory is locked against swapping.
    pub(crate) const fn is_locked(&self) -> bool {
        self.locked
    }

    pub(crate) const fn bytes(&self) -> &[u8] {
        // SAFETY: at least `len` bytes are mapped, readable and initialised (zero at first) for as
        // long as `self` lives, and are written only through `&mut self`.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    pub(crate) const fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` is the only way to this memory.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        self.bytes_mut().zeroize();
        // SAFETY: the range mapped in `new`; no reference into it outlives `self`. A lock ends with
        // its mapping. An error leaves zeros mapped, which harms nobody.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len.max(1)) };
    }
}

// SAFETY: the memory belongs to `self` alone and is shared only as `&[u8]`, like a `Box<[u8]>`.
unsafe impl Send for LockedMemory {}
// SAFETY: as above: no interior mutability.
unsafe impl Sync for LockedMemory {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_begins_as_zeros_and_keeps_what_is_written() {
        for len in [0, 1, 32, 4096, 100_000] {
            let mut memory = LockedMemory::new(len).unwrap();
            assert_eq!(memory.bytes(), vec![0; len]);
            memory.bytes_mut().fill(0xa5);
            assert_eq!(memory.bytes(), vec![0xa5; len]);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_neither_swaps_nor_dumps_it() {
        let memory = LockedMemory::new(1).unwrap();
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let begin = format!("{:x}-", memory.start.as_ptr().addr());
        let current = maps.lines().skip_while(|line| !line.starts_with(&begin));
        let flags = current.clone().find(|line| line.starts_with("VmFlags:")).unwrap();
        assert!(flags.contains(" dd"), "not dumped: {flags}");
        assert_eq!(flags.contains(" lo"), memory.is_locked(), "{flags}");
    }
}
