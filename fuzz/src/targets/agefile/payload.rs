//! Chunks encrypted with the right key, with any lengths and flags: three bytes each, flags (1 the last one, 2 damaged,
//! 4 truncated) and a length. The output is checked against the format's rules.

pub(crate) fn run(input: &[u8]) {
    agefile::fuzzing::payload(input);
}
