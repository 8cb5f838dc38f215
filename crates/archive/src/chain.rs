//! The chain of receipts: checks that each names its predecessor and that none is missing.

use std::collections::BTreeMap;

use crate::{Digest, names::Number, receipt::Summary};

/// A receipt, and the SHA-256 of its stored bytes.
#[derive(Clone, Debug)]
pub struct Link {
    /// SHA-256 of the stored bytes.
    pub sha256: Digest,
    /// What these bytes say, without the list of packs.
    pub receipt: Summary,
}

/// A break of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainBreak {
    /// The receipt names a predecessor that does not exist.
    #[error("the receipt before receipt {number} is missing: it was lost or replaced")]
    Lost {
        /// Number of the receipt.
        number: Number,
    },
    /// Several receipts name the same predecessor, or none.
    #[error("receipt {number} does not follow the one before it: the chain was restarted or forked")]
    Forked {
        /// Number of the receipt.
        number: Number,
    },
    /// The receipt belongs to another host or repository.
    #[error("receipt {number} belongs to another host or repository")]
    Foreign {
        /// Number in the receipt's name.
        number: Number,
    },
}

/// Finds all breaks. `links` are all existing receipts, sorted by number. `removed` has the hash of each pruned receipt
/// with that of its predecessor. The oldest receipts may be missing without such an entry.
#[must_use]
pub fn breaks(repo: &str, host: &str, links: &[Link], removed: &BTreeMap<Digest, Option<Digest>>) -> Vec<ChainBreak> {
    let mut found = Vec::new();
    for (at, link) in links.iter().enumerate() {
        let (receipt, number) = (&link.receipt, link.receipt.number);
        if receipt.repo != repo || receipt.host != host {
            found.push(ChainBreak::Foreign { number });
        }
        let before = at.checked_sub(1).and_then(|before| links.get(before));
        let Some(before) = before else { continue };
        let previous = existing(receipt.previous, &before.sha256, removed);
        if previous == Some(before.sha256) {
            continue;
        }
        let earlier = links.iter().take(at).any(|earlier| previous == Some(earlier.sha256));
        found.push(if previous.is_none() || earlier {
            ChainBreak::Forked { number }
        } else {
            ChainBreak::Lost { number }
        });
    }
    found
}

/// Follows `previous` back over pruned receipts, up to a receipt that was not pruned or to `before`, which exists.
fn existing(previous: Option<Digest>, before: &Digest, removed: &BTreeMap<Digest, Option<Digest>>) -> Option<Digest> {
    let mut previous = previous;
    // Declarations could form a cycle.
    for _ in 0..=removed.len() {
        match previous.filter(|digest| digest != before).and_then(|digest| removed.get(&digest)) {
            Some(earlier) => previous = *earlier,
            None => break,
        }
    }
    previous
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipt::tests::receipt;

    fn chain(count: u64) -> Vec<Link> {
        let mut links: Vec<Link> = Vec::new();
        for number in 1..=count {
            let receipt = receipt(number, links.last().map(|last| last.sha256));
            links.push(Link { sha256: Digest::compute(&receipt.encode().unwrap()), receipt: receipt.summary() });
        }
        links
    }

    fn found(links: &[Link]) -> Vec<ChainBreak> {
        breaks(&links[0].receipt.repo.clone(), "db1", links, &BTreeMap::new())
    }

    #[test]
    fn what_was_pruned_is_no_loss() {
        let all = chain(9);
        let removed_of = |numbers: &[usize]| -> BTreeMap<Digest, Option<Digest>> {
            numbers.iter().map(|number| (all[number - 1].sha256, all[number - 1].receipt.previous)).collect()
        };
        let without = |numbers: &[usize]| -> Vec<Link> {
            all.iter().filter(|link| !numbers.contains(&(link.receipt.number as usize))).cloned().collect()
        };
        let found = |gone: &[usize], declared: &[usize]| {
            breaks(&all[0].receipt.repo, "db1", &without(gone), &removed_of(declared))
        };
        assert_eq!(found(&[2, 3, 5, 7], &[2, 3, 5, 7]), []);
        assert_eq!(found(&[2, 3, 5], &[2, 5]), [ChainBreak::Lost { number: 4 }]);
        assert_eq!(found(&[5], &[4, 5]), [], "declared, and still there");
        let circle = BTreeMap::from([(all[3].sha256, Some(all[4].sha256)), (all[4].sha256, Some(all[3].sha256))]);
        assert_eq!(breaks(&all[0].receipt.repo, "db1", &without(&[4, 5]), &circle), [ChainBreak::Lost { number: 6 }]);
    }

    #[test]
    fn a_chain_holds_whole_and_without_its_front() {
        assert_eq!(found(&chain(5)), []);
        assert_eq!(found(&chain(5)[2..]), []);
    }

    #[test]
    fn what_was_lost_replaced_or_begun_again_is_found() {
        let mut links = chain(5);
        links.remove(2);
        assert_eq!(found(&links), [ChainBreak::Lost { number: 4 }]);
        let mut links = chain(4);
        links[1].sha256 = Digest::compute(b"another");
        assert_eq!(found(&links), [ChainBreak::Lost { number: 3 }]);
        let mut links = chain(3);
        links[2].receipt.previous = None;
        assert_eq!(found(&links), [ChainBreak::Forked { number: 3 }]);
        let mut links = chain(3);
        links[2].receipt.previous = Some(links[0].sha256);
        assert_eq!(found(&links), [ChainBreak::Forked { number: 3 }]);
        let mut links = chain(2);
        links[1].receipt.host = "db2".to_owned();
        assert_eq!(found(&links), [ChainBreak::Foreign { number: 2 }]);
    }
}
