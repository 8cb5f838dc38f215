//! Thousands of damaged headers cause no panic and no hang, and no report claims what the bytes do not show.

mod common;

use std::time::Instant;

use common::samples;
use luks::{Code, DeviceInfo, Readable, Report, audit};
use proptest::prelude::*;

fn judged(bytes: &[u8]) -> Report {
    let device = DeviceInfo { device_bytes: Some(1 << 43), physical_block_bytes: Some(4096), whole_device: false };
    audit(&bytes, &device, None).expect("memory can be read")
}

/// Invariants of every report.
fn check(report: &Report) {
    assert_eq!(report.readable == Readable::No, report.header.is_none(), "{report:?}");
    if report.readable == Readable::No {
        assert_eq!(report.findings.len(), 1, "{report:?}");
    }
    assert!(serde_json::to_string(report).is_ok());
}

/// A way to damage a header.
#[derive(Debug, Clone)]
enum Damage {
    Flip(usize, u8),
    Cut(usize),
    Fill(usize, usize, u8),
    Swap(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    // Twice as often where the fields are.
    let location = prop_oneof![0..600usize, 4096..6000usize, 16384..17000usize, 20480..22000usize, 0..300_000usize];
    prop_oneof![
        (location.clone(), 1..=255u8).prop_map(|(at, mask)| Damage::Flip(at, mask)),
        location.clone().prop_map(Damage::Cut),
        (location.clone(), 1..5000usize, any::<u8>()).prop_map(|(at, length, byte)| Damage::Fill(at, length, byte)),
        (location.clone(), location).prop_map(|(a, b)| Damage::Swap(a, b)),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    let length = bytes.len().max(1);
    match *damage {
        Damage::Flip(at, mask) => bytes[at % length] ^= mask,
        Damage::Cut(at) => bytes.truncate(at % length),
        Damage::Fill(at, count, byte) => {
            let from = at % length;
            let to = (from + count).min(bytes.len());
            bytes[from..to].fill(byte);
        }
        Damage::Swap(a, b) => bytes.swap(a % length, b % length),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_damage_causes_a_panic_or_a_false_report(sample in 0..60usize, damages in prop::collection::vec(damage(), 1..4)) {
        thread_local!(static ALL: Vec<Vec<u8>> = samples().into_iter().map(|sample| sample.bytes).collect());
        let mut bytes = ALL.with(|all| all[sample].clone());
        for damage in &damages {
            if !bytes.is_empty() {
                apply(&mut bytes, damage);
            }
        }
        check(&judged(&bytes));
    }
}

#[test]
fn one_flipped_byte_in_either_copy_is_detected_and_the_other_copy_is_used() {
    let good = samples().into_iter().find(|sample| sample.name == "luks2-good").expect("the sample").bytes;
    for at in (0..32768).step_by(97) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x20;
        let report = judged(&bytes);
        let wanted = match at {
            0..6 => Code::HeaderPrimaryMissing,
            // SHA-256 leaves this part of the checksum field empty, so the checksum does not cover it.
            480..512 | 16864..16896 => continue,
            6..16384 => Code::HeaderPrimaryBad,
            _ => Code::HeaderSecondaryBad,
        };
        let found: Vec<Code> = report.findings.iter().map(|finding| finding.code).collect();
        assert!(found.contains(&wanted), "byte {at}: {found:?}");
        assert!(report.header.is_some(), "byte {at}");
    }
}

#[test]
fn the_largest_header_and_absurd_costs_are_judged_quickly() {
    let begin = Instant::now();
    for sample in samples() {
        let each = Instant::now();
        check(&judged(&sample.bytes));
        assert!(each.elapsed() < harness::limit(10), "{}: {:?}", sample.name, each.elapsed());
    }
    assert!(begin.elapsed() < harness::limit(60));
}
