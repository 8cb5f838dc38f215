//! Random moments and bytes, reproducible by their seed.

/// A number from an environment variable.
pub(crate) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Xorshift64*, by Vigna.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    #[allow(clippy::print_stdout, reason = "shown if the test fails")]
    /// Takes the seed from the test and the environment, so that a failure can be reproduced.
    pub(crate) fn new(test: u64) -> Self {
        let seed = number("SEALANT_FAULT_SEED", 4);
        println!("SEALANT_FAULT_SEED={seed}");
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (test << 32))
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }

    pub(crate) fn fill(&mut self, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|_| self.below(256) as u8).collect()
    }
}
