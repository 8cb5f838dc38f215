//! Buffers for data in transit, reused from one session of a thread to the next: allocating them
//! for each packet costs more than processing it.

use std::cell::RefCell;

/// Number of buffers that a thread keeps.
const SPARE: usize = 4;
/// Maximum length of buffers that are kept.
const LARGEST_BYTES: usize = 512 << 10;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer whose content and length are undefined.
fn borrow() -> Vec<u8> {
    KEPT.with(|kept| kept.borrow_mut().pop()).unwrap_or_default()
}

/// An empty buffer.
pub(crate) fn empty() -> Vec<u8> {
    let mut memory = borrow();
    memory.clear();
    memory
}

/// Returns a buffer that is not needed any more.
pub(crate) fn give_back(memory: Vec<u8>) {
    KEPT.with(|kept| {
        let mut kept = kept.borrow_mut();
        if kept.len() < SPARE && (1..=LARGEST_BYTES).contains(&memory.capacity()) {
            kept.push(memory);
        }
    });
}

/// Bytes that wait to be written: `memory[begin..end]`.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    memory: Vec<u8>,
    begin: usize,
    end: usize,
}

impl Outgoing {
    /// Number of pending bytes.
    pub(crate) fn len(&self) -> usize {
        self.end - self.begin
    }

    /// The pending bytes.
    pub(crate) fn waiting(&self) -> &[u8] {
        self.memory.get(self.begin..self.end).unwrap_or_default()
    }

    /// Appends `bytes` bytes of undefined content for the caller to overwrite.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.memory.is_empty() {
            self.memory = borrow();
        }
        let begin = self.end;
        self.end += bytes;
        if self.memory.len() < self.end {
            self.memory.resize(self.end, 0);
        }
        self.memory.get_mut(begin..self.end).unwrap_or_default()
    }

    /// Removes unused space from the end.
    pub(crate) fn truncate_by(&mut self, bytes: usize) {
        self.end = self.end.saturating_sub(bytes).max(self.begin);
    }

    /// Removes bytes from the front, which were written.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.begin = self.end.min(self.begin + bytes);
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        }
    }

    /// Releases the buffer if nothing is pending.
    pub(crate) fn release_if_empty(&mut self) {
        if self.len() == 0 {
            give_back(std::mem::take(&mut self.memory));
        }
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        give_back(std::mem::take(&mut self.memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_order() {
        let mut outgoing = Outgoing::default();
        outgoing.room(3).copy_from_slice(b"abc");
        outgoing.room(2).copy_from_slice(b"de");
        assert_eq!((outgoing.waiting(), outgoing.len()), (&b"abcde"[..], 5));
        outgoing.consume(4);
        assert_eq!(outgoing.waiting(), b"e");
        outgoing.room(1).copy_from_slice(b"f");
        outgoing.release_if_empty();
        assert_eq!(outgoing.waiting(), b"ef");
        outgoing.consume(2);
        assert!(outgoing.waiting().is_empty());
        outgoing.release_if_empty();
        assert!(outgoing.memory.is_empty());
    }

    #[test]
    fn buffers_are_reused_by_the_next_session() {
        let mut first = empty();
        first.extend_from_slice(&[7; 1000]);
        let at = first.as_ptr();
        give_back(first);
        let second = empty();
        assert_eq!((second.as_ptr(), second.len()), (at, 0));
        give_back(Vec::with_capacity(LARGEST_BYTES + 1));
        assert!(empty().capacity() == 0, "too large to keep");
    }
}
