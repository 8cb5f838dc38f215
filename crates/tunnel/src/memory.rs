//! Memory that is in use while bytes are under way, and goes from one session of a thread to the next: asking the system
//! for it anew with each packet costs more than what is done with it.

use std::cell::RefCell;

/// How much of it a thread keeps.
const SPARE: usize = 4;
/// What is larger than anything usual is not kept.
const LARGEST_BYTES: usize = 512 << 10;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Memory, of whatever content and length.
fn borrow() -> Vec<u8> {
    KEPT.with(|kept| kept.borrow_mut().pop()).unwrap_or_default()
}

/// Memory to put bytes into, one behind the other.
pub(crate) fn empty() -> Vec<u8> {
    let mut memory = borrow();
    memory.clear();
    memory
}

/// Gives memory back that is not needed now.
pub(crate) fn give_back(memory: Vec<u8>) {
    KEPT.with(|kept| {
        let mut kept = kept.borrow_mut();
        if kept.len() < SPARE && (1..=LARGEST_BYTES).contains(&memory.capacity()) {
            kept.push(memory);
        }
    });
}

/// Bytes that wait for the system to take them: `memory[begin..end]`.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    memory: Vec<u8>,
    begin: usize,
    end: usize,
}

impl Outgoing {
    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.end - self.begin
    }

    /// Those that wait.
    pub(crate) fn waiting(&self) -> &[u8] {
        self.memory.get(self.begin..self.end).unwrap_or_default()
    }

    /// Room for so many behind them, of whatever content; it counts as filled.
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

    /// The last so many bytes of room were not filled.
    pub(crate) fn give_room_back(&mut self, bytes: usize) {
        self.end = self.end.saturating_sub(bytes).max(self.begin);
    }

    /// So many are taken.
    pub(crate) fn took(&mut self, bytes: usize) {
        self.begin = self.end.min(self.begin + bytes);
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        }
    }

    /// Keeps no memory if nothing waits.
    pub(crate) fn rest(&mut self) {
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
    fn bytes_go_out_in_their_order() {
        let mut outgoing = Outgoing::default();
        outgoing.room(3).copy_from_slice(b"abc");
        outgoing.room(2).copy_from_slice(b"de");
        assert_eq!((outgoing.waiting(), outgoing.len()), (&b"abcde"[..], 5));
        outgoing.took(4);
        assert_eq!(outgoing.waiting(), b"e");
        outgoing.room(1).copy_from_slice(b"f");
        outgoing.rest();
        assert_eq!(outgoing.waiting(), b"ef");
        outgoing.took(2);
        assert!(outgoing.waiting().is_empty());
        outgoing.rest();
        assert!(outgoing.memory.is_empty());
    }

    #[test]
    fn memory_goes_from_one_to_the_next() {
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
