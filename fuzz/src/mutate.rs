//! Changed copies of inputs, as fuzzers make them, but without feedback: the same for the same seed.

use fastrand::Rng;

/// Inputs do not grow over this.
const MAX_BYTES: usize = 256 * 1024;
/// Lengths, counts and offsets at which parsers go wrong.
const EDGES: [u64; 10] = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 0x7fff_ffff_ffff_ffff];

/// One of `corpus` with one to eight changes.
///
/// # Panics
/// If `corpus` is empty.
pub fn mutated(corpus: &[(String, Vec<u8>)], rng: &mut Rng) -> Vec<u8> {
    let one = |rng: &mut Rng| corpus[rng.usize(..corpus.len())].1.as_slice();
    let mut input = one(rng).to_vec();
    for _ in 0..rng.usize(1..=8) {
        match rng.u8(..8) {
            0 => flip_a_bit(&mut input, rng),
            1 => overwrite(&mut input, &[rng.u8(..)], rng),
            2..=4 => write_edge(&mut input, rng),
            5 => input.truncate(rng.usize(..=input.len())),
            6 => repeat_a_part(&mut input, rng),
            _ => {
                let other = one(rng);
                let from = rng.usize(..=other.len());
                overwrite(&mut input, &other[from..], rng);
            }
        }
    }
    input.truncate(MAX_BYTES);
    input
}

fn flip_a_bit(input: &mut [u8], rng: &mut Rng) {
    if let Some(at) = rng.choice(0..input.len()) {
        input[at] ^= 1 << rng.u8(..8);
    }
}

fn write_edge(input: &mut [u8], rng: &mut Rng) {
    let width = 1_usize << rng.u8(..4);
    let value = EDGES[rng.usize(..EDGES.len())];
    let bytes = if rng.bool() { value.to_le_bytes() } else { value.rotate_right(width as u32 * 8).to_be_bytes() };
    overwrite(input, &bytes[..width], rng);
}

/// At any position, as far as `input` goes.
fn overwrite(input: &mut [u8], bytes: &[u8], rng: &mut Rng) {
    let at = rng.usize(..=input.len());
    for (old, new) in input[at..].iter_mut().zip(bytes) {
        *old = *new;
    }
}

fn repeat_a_part(input: &mut Vec<u8>, rng: &mut Rng) {
    let from = rng.usize(..=input.len());
    let to = rng.usize(from..=input.len());
    let part = input[from..to].to_vec();
    let at = rng.usize(..=input.len());
    input.splice(at..at, part);
}
