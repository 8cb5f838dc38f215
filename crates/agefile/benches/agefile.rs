//! Speed of encryption and decryption, compared with the `age` program in the same run. Both process a file of 256 MiB
//! from the page cache to `/dev/null`, in turns; the library also runs alone in memory. Measures elapsed time and CPU
//! time: other work on the machine disturbs CPU time less.
//!
//! `cargo bench --package sealant-agefile --bench agefile`

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{
    error::Error,
    fs::File,
    io::{self, BufRead, Read, Write},
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use agefile::{Decryptor, Encryptor, Identity, Recipient};

type Failure = Box<dyn Error>;

const FILE_BYTES: usize = 256 << 20;
const ROUNDS: usize = 5;

fn main() -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let [plain, encrypted, key] = ["plain", "encrypted", "key"].map(|name| directory.path().join(name));
    let identity = Identity::generate()?;
    let recipient = identity.recipient();
    std::fs::write(&key, identity.to_secret_text())?;
    let bytes: Vec<u8> = (0..FILE_BYTES / 8).flat_map(|at| (at as u64 ^ 0x5eed).to_le_bytes()).collect();
    std::fs::write(&plain, &bytes)?;
    encrypt(bytes.as_slice(), File::create(&encrypted)?, recipient)?;
    let file = std::fs::read(&encrypted)?;
    let null = || File::options().write(true).open("/dev/null");
    let with_age = Command::new("age").arg("--version").stdout(Stdio::null()).status().is_ok();
    let mut rates: [Vec<Rate>; 6] = Default::default();
    for _ in 0..ROUNDS {
        let mut round = vec![
            rate(|| encrypt(bytes.as_slice(), io::sink(), recipient))?,
            rate(|| decrypt(file.as_slice(), io::sink(), &identity))?,
            rate(|| encrypt(File::open(&plain)?, null()?, recipient))?,
            rate(|| decrypt(File::open(&encrypted)?, null()?, &identity))?,
        ];
        if with_age {
            round.push(rate(|| age(&["-r", &recipient.to_string()], &plain))?);
            round.push(rate(|| age(&["-d", "-i", &key.to_string_lossy()], &encrypted))?);
        }
        rates.iter_mut().zip(round).for_each(|(all, rate)| all.push(rate));
    }
    let [memory_seal, memory_open, file_seal, file_open, age_seal, age_open] = rates.map(summary);
    println!("{:<24} {:>10} {:>10} {:>10} {:>10}", "MB/s (of the processor)", "encrypt", "", "decrypt", "");
    for (name, seal, open) in [
        ("in memory", memory_seal, memory_open),
        ("file to /dev/null", file_seal, file_open),
        ("age, file to /dev/null", age_seal, age_open),
    ] {
        let [seal_cpu, open_cpu] = [seal.cpu, open.cpu].map(|cpu| format!("({cpu:.0})"));
        println!("{name:<24} {:>10.0} {seal_cpu:>10} {:>10.0} {open_cpu:>10}", seal.clock, open.clock);
    }
    Ok(())
}

fn encrypt(mut from: impl Read, to: impl Write, recipient: Recipient) -> Result<(), Failure> {
    let mut encryptor = Encryptor::new(to, &[recipient])?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match from.read(&mut buffer)? {
            0 => break,
            read => encryptor.write_all(buffer.get(..read).unwrap_or_default())?,
        }
    }
    encryptor.finish()?;
    Ok(())
}

fn decrypt(from: impl Read, mut to: impl Write, identity: &Identity) -> Result<(), Failure> {
    let mut decryptor = Decryptor::new(from, std::slice::from_ref(identity))?;
    loop {
        let bytes = decryptor.fill_buf()?;
        if bytes.is_empty() {
            return Ok(());
        }
        to.write_all(bytes)?;
        let read = bytes.len();
        decryptor.consume(read);
    }
}

fn age(args: &[&str], from: &Path) -> Result<(), Failure> {
    let status = Command::new("age").args(args).stdin(File::open(from)?).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err("age failed".into()) }
}

/// MB/s.
#[derive(Clone, Copy)]
struct Rate {
    clock: f64,
    cpu: f64,
}

/// Measures one pass over the file.
fn rate(work: impl FnOnce() -> Result<(), Failure>) -> Result<Rate, Failure> {
    let (began, cpu) = (Instant::now(), cpu_seconds()?);
    work()?;
    let rate = |seconds: f64| FILE_BYTES as f64 / 1e6 / seconds;
    Ok(Rate { clock: rate(began.elapsed().as_secs_f64()), cpu: rate(cpu_seconds()? - cpu) })
}

/// CPU time of this process and of its children that have ended: proc(5), `/proc/pid/stat`, fields 14 to 17, in
/// hundredths of a second.
fn cpu_seconds() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, behind_name) = stat.rsplit_once(')').ok_or("no name")?;
    let ticks = behind_name.split_whitespace().skip(11).take(4).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}

/// The median by the clock; the mean of CPU times, whose unit is coarse. NaN if `rates` is empty.
fn summary(mut rates: Vec<Rate>) -> Rate {
    rates.sort_by(|one, other| one.clock.total_cmp(&other.clock));
    let clock = rates.get(rates.len() / 2).map_or(f64::NAN, |rate| rate.clock);
    let seconds: f64 = rates.iter().map(|rate| rate.cpu.recip()).sum();
    Rate { clock, cpu: rates.len() as f64 / seconds }
}
