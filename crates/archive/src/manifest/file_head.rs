//! The first bytes of a file, without their zeros: a server can have a hundred thousand files, and most of a page 0 is
//! zero.

use std::sync::Arc;

use files::all_zero;

/// What is left out, if it is zero.
const BLOCK_BYTES: usize = 64;

/// The first bytes of a file whose pages are decrypted in the packs. A clone shares them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHead {
    length: usize,
    /// Offset and bytes of each part that is not zero.
    parts: Arc<[(usize, Box<[u8]>)]>,
}

impl FileHead {
    /// Keeps the parts that are not zero.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let mut parts: Vec<(usize, Vec<u8>)> = Vec::new();
        let blocks = (0..).step_by(BLOCK_BYTES).zip(bytes.chunks(BLOCK_BYTES));
        for (at, block) in blocks.filter(|(_, block)| !all_zero(block)) {
            match parts.last_mut() {
                Some((from, part)) if from.saturating_add(part.len()) == at => part.extend_from_slice(block),
                _ => parts.push((at, block.to_vec())),
            }
        }
        let parts = parts.into_iter().map(|(at, part)| (at, part.into_boxed_slice()));
        Self { length: bytes.len(), parts: parts.collect() }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.length];
        for (at, part) in &*self.parts {
            bytes.iter_mut().skip(*at).zip(part).for_each(|(to, from)| *to = *from);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_the_bytes_that_it_was_made_of_and_takes_little_memory() {
        let mut page = vec![0; 16384];
        page[..200].fill(7);
        page[10_390..10_500].fill(8);
        page[16_383] = 9;
        let samples =
            [page.clone(), Vec::new(), vec![0; 1000], vec![1; 1000], [vec![0; 63], vec![1], vec![0; 70]].concat()];
        for bytes in samples {
            assert_eq!(FileHead::new(&bytes).bytes(), bytes);
        }
        let kept: usize = FileHead::new(&page).parts.iter().map(|(_, part)| part.len()).sum();
        assert!(kept <= 600, "{kept} bytes of a page 0 are kept");
    }
}
