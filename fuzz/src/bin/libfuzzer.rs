//! The target that `SEALANT_FUZZ_TARGET` names, for libFuzzer: `tests/fuzz` builds and runs it.
#![no_main]

use std::sync::LazyLock;

use fuzz::Target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("SEALANT_FUZZ_TARGET").expect("SEALANT_FUZZ_TARGET is the name of a target");
    Target::named(&name).expect("SEALANT_FUZZ_TARGET is the name of a target")
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| (TARGET.run)(input));
