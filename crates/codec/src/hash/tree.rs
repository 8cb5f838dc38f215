//! The hash of a file whose chunks arrive in any order.

use blake3::hazmat::{ChainingValue, Mode, merge_subtrees_non_root, merge_subtrees_root};

use super::Hash;

/// The hashes of a file's chunks, each added once, in any order. Complete subtrees are merged, so
/// chunks in nearly ascending order take memory for the logarithm of their number. The file may
/// grow by more chunks, unless it had only one.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    chunks: u64,
}

/// The subtree over `2^level` chunks from `index * 2^level` on.
#[derive(Clone, Copy, Debug)]
struct Node {
    level: u32,
    index: u64,
    hash: Hash,
}

impl Tree {
    /// Adds a chunk of a file that currently has `all` chunks.
    pub fn add(&mut self, all: u64, chunk: u64, hash: Hash) {
        self.chunks += 1;
        let mut node = Node { level: 0, index: chunk, hash };
        // The two children of the root are merged differently, and only when no more chunks can
        // follow.
        while node.has_parent_below_root(all) {
            let Some(location) = self.nodes.iter().position(|other| other.is_left_sibling_of(&node)) else { break };
            node = merged(node, self.nodes.swap_remove(location));
        }
        self.nodes.push(node);
    }

    /// Whether this chunk was added.
    pub fn has(&self, chunk: u64) -> bool {
        self.nodes.iter().any(|node| chunk >> node.level == node.index)
    }

    /// Whether all chunks of a file with `all` chunks were added.
    pub fn is_whole(&self, all: u64) -> bool {
        self.chunks == all
    }

    /// Hash of a file with `all` chunks; `None` if some are missing.
    pub fn hash(&self, all: u64) -> Option<Hash> {
        if !self.is_whole(all) {
            return None;
        }
        let mut sorted = self.nodes.clone();
        sorted.sort_unstable_by_key(|node| node.index << node.level);
        let mut nodes: Vec<Node> = Vec::new();
        for mut node in sorted {
            // These were the children of the root before the file grew.
            while let Some(left) =
                nodes.pop_if(|left| left.is_left_sibling_of(&node) && node.has_parent_below_root(all))
            {
                node = merged(left, node);
            }
            nodes.push(node);
        }
        // From the right: the last subtree, however small, is joined with the one before it.
        let mut right = nodes.pop()?.hash;
        while let Some(left) = nodes.pop() {
            let (left, last) = (left.hash.0, nodes.is_empty());
            right = Hash(if last {
                *merge_subtrees_root(&left, &right.0, Mode::Hash).as_bytes()
            } else {
                merge_subtrees_non_root(&left, &right.0, Mode::Hash)
            });
        }
        Some(right)
    }

    #[cfg(test)]
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }
}

impl Node {
    fn is_left_sibling_of(&self, other: &Self) -> bool {
        (self.level, self.index) == (other.level, other.index ^ 1)
    }

    /// Whether the parent of this subtree is not the root of the whole file.
    fn has_parent_below_root(&self, all: u64) -> bool {
        self.index > 1 || 2_u64.checked_shl(self.level).is_some_and(|chunks| chunks < all)
    }
}

fn merged(one: Node, other: Node) -> Node {
    let (left, right) = if one.index < other.index { (one, other) } else { (other, one) };
    let hash: ChainingValue = merge_subtrees_non_root(&left.hash.0, &right.hash.0, Mode::Hash);
    Node { level: one.level + 1, index: one.index / 2, hash: Hash(hash) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{HASH_BYTES, file_hash};

    #[test]
    fn a_tree_of_any_shape_grows_in_any_order() {
        let hashes: Vec<Hash> = (0..200_u64).map(|chunk| Hash::compute(&chunk.to_be_bytes())).collect();
        for all in 1..hashes.len() {
            let hashes = &hashes[..all];
            let expected = file_hash(hashes);
            let mut tree = Tree::default();
            for at in 0..all {
                let chunk = at * 197 % all;
                // If the number is taken, use the next free one.
                let chunk = (chunk..all).chain(0..all).find(|chunk| !tree.has(*chunk as u64)).unwrap();
                assert_eq!(tree.hash(all as u64), None);
                tree.add(all as u64, chunk as u64, hashes[chunk]);
                assert!(tree.has(chunk as u64));
            }
            assert_eq!(tree.hash(all as u64), expected, "{all}");
        }
        let mut grows = Tree::default();
        for (chunk, hash) in hashes.iter().enumerate() {
            let all = (chunk as u64 + 1).next_multiple_of(7).max(2);
            grows.add(all, chunk as u64, *hash);
        }
        assert_eq!(grows.hash(200), file_hash(&hashes));
    }

    #[test]
    fn a_large_file_takes_little_memory() {
        let (all, streams, range) = (1 << 20, 64, 16);
        let (mut tree, mut most) = (Tree::default(), 0);
        // Each connection has a range, and they alternate.
        for round in 0..all / streams / range {
            for at in 0..range {
                for stream in 0..streams {
                    tree.add(all, (round * streams + stream) * range + at, Hash([7; HASH_BYTES]));
                    most = most.max(tree.nodes());
                }
            }
        }
        assert!(tree.hash(all).is_some());
        assert!(most <= 4 * 64 + 20, "{most}");
    }
}
