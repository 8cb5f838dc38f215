//! Every target on its corpus and on changed copies of it, a test for each. `SEALANT_FUZZ_INPUTS` is how many copies,
//! `SEALANT_FAULT_SEED` which.
//!
//! It finds what needs no luck: feedback from coverage and the address sanitizer are libFuzzer's, in `make soak`.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use fastrand::Rng;
use fuzz::{Target, mutate::mutated};
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::{Resource, Rlimit, setrlimit};

/// More memory than any parser may ask for, whatever its input says.
const MAX_MEMORY: u64 = 512 << 20;
/// Targets that do much for an input get fewer of them.
const MAX_TIME: Duration = Duration::from_secs(3);

fn main() -> ExitCode {
    let trials = Target::all().iter().map(|target| Trial::test(target.name, || check(target))).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn check(target: &Target) -> Result<(), Failed> {
    setrlimit(Resource::Data, Rlimit { current: Some(MAX_MEMORY), maximum: None })?;
    let corpus = target.corpus()?;
    for (_, input) in &corpus {
        run(target, input)?;
    }
    let mut rng = Rng::with_seed(number("SEALANT_FAULT_SEED", 1));
    let begun = Instant::now();
    for _ in 0..number("SEALANT_FUZZ_INPUTS", 2000) {
        if begun.elapsed() > MAX_TIME {
            break;
        }
        run(target, &mutated(&corpus, &mut rng))?;
    }
    Ok(())
}

/// An input that makes the target panic is kept, where libFuzzer would keep it.
fn run(target: &Target, input: &[u8]) -> Result<(), Failed> {
    let Err(_) = catch_unwind(AssertUnwindSafe(|| (target.run)(input))) else { return Ok(()) };
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(target.name);
    fs::create_dir_all(&directory)?;
    let file = directory.join(format!("crash-{:08x}", crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, input)));
    fs::write(&file, input)?;
    Err(format!("{} panics on {}", target.name, file.display()).into())
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |value| value.parse().expect("a number"))
}
