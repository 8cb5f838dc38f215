//! Which packs which backups need.
//!
//! Each of a host's backups names nearly all packs of the one before it. So for each pack one bit a backup is kept,
//! instead of all receipts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use archive::{
    Digest, Receipt,
    names::{self, Number},
};

/// Number of backups in a word.
const WORD: usize = 64;

/// The objects that each of a host's backups needs.
#[derive(Debug)]
pub(super) struct Uses {
    /// Words for each pack.
    stride: usize,
    /// The numbers of the backups, in the order of their bits.
    numbers: Vec<Number>,
    /// Index of each pack.
    packs: HashMap<Digest, usize>,
    /// For each pack [`Self::stride`] words, with a bit for each backup that needs it.
    words: Vec<u64>,
    /// The objects that only one backup needs.
    own: BTreeMap<Number, Vec<String>>,
}

impl Uses {
    /// Of at most `count` backups.
    pub(super) fn new(count: usize) -> Self {
        let stride = count.div_ceil(WORD);
        Self { stride, numbers: Vec::new(), packs: HashMap::new(), words: Vec::new(), own: BTreeMap::new() }
    }

    /// Adds the objects of the next backup.
    pub(super) fn add(&mut self, receipt: &Receipt) {
        let (word, mask) = place(self.numbers.len());
        self.numbers.push(receipt.number);
        self.own.insert(receipt.number, receipt.own_objects().map(|(object, _)| object).collect());
        for pack in &receipt.packs {
            let next = self.packs.len();
            let index = *self.packs.entry(pack.sha256).or_insert(next);
            if index == next {
                self.words.resize(self.words.len().saturating_add(self.stride), 0);
            }
            let at = index.saturating_mul(self.stride).saturating_add(word);
            self.words.get_mut(at).into_iter().for_each(|word| *word |= mask);
        }
    }

    /// The objects that the backups with these numbers need.
    pub(super) fn live(&self, host: &str, kept: &BTreeSet<Number>) -> Live {
        let mut masks = vec![0_u64; self.stride];
        for (index, _) in self.numbers.iter().enumerate().filter(|(_, number)| kept.contains(number)) {
            let (word, mask) = place(index);
            masks.get_mut(word).into_iter().for_each(|word| *word |= mask);
        }
        let is_live = |index: usize| {
            let words = self.words.iter().skip(index.saturating_mul(self.stride));
            words.zip(&masks).any(|(word, mask)| word & mask != 0)
        };
        let packs = self.packs.iter().filter(|(_, index)| is_live(**index)).map(|(sha256, _)| *sha256).collect();
        let own = self.own.iter().filter(|(number, _)| kept.contains(number)).flat_map(|(_, own)| own).cloned();
        Live { host: host.to_owned(), packs, own: own.collect() }
    }
}

/// The word of a backup, and its bit there.
const fn place(index: usize) -> (usize, u64) {
    (index / WORD, 1 << (index % WORD))
}

/// The objects that some backups need.
#[derive(Debug)]
pub(super) struct Live {
    host: String,
    packs: HashSet<Digest>,
    own: BTreeSet<String>,
}

impl Live {
    /// Whether it has an object.
    pub(super) fn contains(&self, object: &str) -> bool {
        names::pack_digest(&self.host, object)
            .map_or_else(|| self.own.contains(object), |sha256| self.packs.contains(&sha256))
    }
}

#[cfg(test)]
mod tests {
    use archive::receipt::{Object, Pack};

    use super::*;

    /// A receipt with packs of these contents.
    fn receipt(number: Number, packs: &[u64]) -> Receipt {
        let object = Object { sha256: Digest::compute(b""), bytes: 1 };
        let text = format!(
            r#"{{"schema":"sealant.receipt/1","repo":"r","host":"db1","number":{number},"kind":"backup",
            "began":"2026-11-23T01:00:00Z","ended":"2026-11-23T01:00:00Z","full":true,"provider":"stopped",
            "manifest":{},"packs":[],"bytes":{{"data":0,"read":0,"changed":0,"stored":0}},
            "pages":{{"seen":0,"changed":0,"damaged":0,"unproven":0}},"recipients":[],"tool":"sealant"}}"#,
            serde_json::to_string(&object).unwrap()
        );
        let pack = |of: &u64| Pack { sha256: digest(*of), bytes: 1, live_bytes: 1, new: false };
        Receipt { packs: packs.iter().map(pack).collect(), ..Receipt::parse(text.as_bytes()).unwrap() }
    }

    fn digest(pack: u64) -> Digest {
        Digest::compute(&pack.to_le_bytes())
    }

    #[test]
    fn what_kept_backups_need_is_live() {
        // Each of 150 backups needs a pack of its own, that of the one before it, and one that all need.
        let mut uses = Uses::new(150);
        for number in 1..=150 {
            uses.add(&receipt(number, &[1000, number, number - 1]));
        }
        for kept in [vec![], vec![1], vec![64, 65], vec![2, 128, 150]] {
            let live = uses.live("db1", &kept.iter().copied().collect());
            let needed: BTreeSet<u64> = kept.iter().flat_map(|number| [1000, *number, number - 1]).collect();
            for pack in (0..=150).chain([1000]) {
                let name = names::pack("db1", &digest(pack));
                assert_eq!(live.contains(&name), needed.contains(&pack), "{kept:?} {pack}");
            }
            for number in 1..=150 {
                assert_eq!(live.contains(&names::manifest("db1", number)), kept.contains(&number));
            }
        }
    }
}
