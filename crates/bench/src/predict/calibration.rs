//! What single operations of encryption cost on this machine: CPU time, measured with this program's own cryptography.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use files::proc::Processor;
use innodb::{crypt::aes::Aes, page::checksum::crc32};
use pki::KeyType;
use serde::{Deserialize, Serialize};

use super::handshake::TlsPair;
use crate::{
    Error, TemporaryDirectory,
    processor::thread_seconds,
    stats::median,
    tls::{authority, issue},
};

/// CPU time of single operations, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// AES with keys of 128 bits.
    pub aes128: AesCost,
    /// AES with keys of 256 bits.
    pub aes256: AesCost,
    /// Handshakes of TLS 1.3 by kind of key, the cheapest first.
    pub handshakes: Vec<HandshakeCost>,
    /// Encrypting or decrypting a short TLS record.
    pub record_seconds: f64,
    /// Each further byte of a record.
    pub record_byte_seconds: f64,
    /// The checksum of a page, for each byte; `None` in reports of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_checksum: Option<f64>,
    /// Waking another thread and waiting for it, with the system calls that do so; `None` in reports of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_switch: Option<f64>,
}

/// The calibration in a report of costs, and where it comes from.
#[derive(Clone, Debug)]
pub struct ReportedCalibration {
    /// The calibration.
    pub calibration: Calibration,
    /// Path of the report.
    pub path: PathBuf,
    /// Model of the processor that it was measured on.
    pub cpu: Option<String>,
}

impl ReportedCalibration {
    /// Refuses a calibration of another machine for a server on this one.
    pub(super) fn check_machine(&self) -> Result<(), Error> {
        let here = Processor::this().model;
        match (&self.cpu, here) {
            (Some(cpu), Some(here)) if *cpu != here => {
                Err(Error::OtherMachine { path: self.path.clone(), cpu: cpu.clone(), here })
            }
            _ => Ok(()),
        }
    }

    /// A note that names the machine.
    pub(super) fn source(&self) -> String {
        let cpu = self.cpu.as_deref().unwrap_or("an unknown processor");
        format!("costs of single operations are those of the machine that wrote the report: {cpu}")
    }
}

/// CPU time of AES in seconds, for each byte unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AesCost {
    /// Decrypting a page in CBC mode.
    pub page_decrypt: f64,
    /// Encrypting a page in CBC mode.
    pub page_encrypt: f64,
    /// Encrypting blocks of 512 bytes in CBC mode.
    pub block_encrypt: f64,
    /// Encrypting a stream in CTR mode.
    pub stream: f64,
    /// Seconds for a message of 32 bytes in CTR mode, with a cipher that is made for it alone; `None` in reports of older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<f64>,
}

/// CPU time of a TLS handshake with one kind of server key, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandshakeCost {
    /// Kind of the server's key.
    pub key: String,
    /// The server's part.
    pub server: f64,
    /// Both sides together.
    pub both: f64,
}

/// Kinds of keys, the cheapest first. Servers create RSA keys of 2048 bits for themselves (MySQL) or are given one of
/// these.
const KEYS: [(&str, KeyType); 2] = [("ECDSA P-256", KeyType::EcdsaP256), ("RSA-2048", KeyType::Rsa2048)];
/// A sample takes at least this long; the median of several samples counts.
const SAMPLE: Duration = Duration::from_millis(4);
const SAMPLES: usize = 5;
/// How often two threads wake each other.
const SWITCHES: u32 = 1000;
/// Size of the pages that are encrypted: the servers' default. The cost of a byte hardly depends on it.
const PAGE_BYTES: usize = 16 << 10;
/// Bytes at the start of a page that are never encrypted: the header.
const CLEAR_BYTES: usize = 38;
/// Size of a block of the redo log.
const BLOCK_BYTES: usize = 512;
/// Size of a short message, such as a record of the redo log.
const MESSAGE_BYTES: usize = 32;
/// No single operation takes longer on any machine.
const LONGEST_SECONDS: f64 = 10.0;
/// Sizes of a short record, and of the largest one.
const RECORDS: [usize; 2] = [100, 16 << 10];

impl Calibration {
    /// Measures for some hundred milliseconds. `directory` receives certificates for a moment.
    ///
    /// # Errors
    /// [`Error`]: certificates cannot be created there, or a library fails.
    pub fn measure(directory: &Path) -> Result<Self, Error> {
        let scratch = TemporaryDirectory::below(directory)?;
        let (ca, authority) = authority(&scratch.path().join("ca"))?;
        let mut handshakes = Vec::new();
        let mut records = [0.0; 2];
        for (name, key) in KEYS {
            let pair = TlsPair::new(&ca, &issue(&authority, &name.replace(' ', "-").to_lowercase(), key)?)?;
            let [server, both] = handshake(&pair)?;
            handshakes.push(HandshakeCost { key: name.to_owned(), server, both });
            records = record(&pair)?;
        }
        let [short, long] = records;
        let record_byte_seconds = (long - short).max(0.0) / bytes(RECORDS[1] - RECORDS[0]);
        let [aes128, aes256] = [aes(&[7; 16])?, aes(&[7; 32])?];
        let page_checksum = Some(page_checksum());
        let context_switch = Some(context_switch().map_err(Error::file("a pair of sockets"))?);
        let record_seconds = short;
        Ok(Self { aes128, aes256, handshakes, record_seconds, record_byte_seconds, page_checksum, context_switch })
    }

    /// What in these figures no machine can have measured.
    pub(crate) fn fault(&self) -> Option<String> {
        let aes = |name: &str, cost: &AesCost| {
            let AesCost { page_decrypt, page_encrypt, block_encrypt, stream, message } = *cost;
            let message = message.map(|message| (format!("{name}.message"), message));
            let others = [
                (format!("{name}.page_decrypt"), page_decrypt),
                (format!("{name}.page_encrypt"), page_encrypt),
                (format!("{name}.block_encrypt"), block_encrypt),
                (format!("{name}.stream"), stream),
            ];
            others.into_iter().chain(message)
        };
        let handshakes = self.handshakes.iter().enumerate().flat_map(|(at, cost)| {
            [(format!("handshakes[{at}].server"), cost.server), (format!("handshakes[{at}].both"), cost.both)]
        });
        let records = [("record_seconds".to_owned(), self.record_seconds)];
        let others = [("page_checksum", self.page_checksum), ("context_switch", self.context_switch)];
        let others = others.into_iter().filter_map(|(name, seconds)| Some((name.to_owned(), seconds?)));
        let times = aes("aes128", &self.aes128).chain(aes("aes256", &self.aes256));
        let mut times = times.chain(handshakes).chain(records).chain(others);
        let is_time = |seconds: f64| seconds > 0.0 && seconds < LONGEST_SECONDS;
        // The difference of two times may be zero.
        if !(0.0..LONGEST_SECONDS).contains(&self.record_byte_seconds) {
            return Some(format!("record_byte_seconds is {}", self.record_byte_seconds));
        }
        if self.handshakes.is_empty() {
            return Some("it has no handshakes".to_owned());
        }
        times.find(|(_, seconds)| !is_time(*seconds)).map(|(name, seconds)| format!("{name} is {seconds}"))
    }
}

fn aes(key: &[u8]) -> Result<AesCost, Error> {
    let failed = |reason: String| Error::Work { arm: "AES".to_owned(), reason };
    let (aes, iv) = (Aes::new(key).map_err(|error| failed(error.to_string()))?, [3; 16]);
    let mut page = vec![5; PAGE_BYTES - CLEAR_BYTES];
    let mut cost = |length: usize, work: &dyn Fn(&mut [u8]) -> Result<(), innodb::crypt::aes::CipherFault>| {
        let mut result = Ok(());
        let each = seconds_each(|| result = result.and_then(|()| work(&mut page[..length])));
        result.map_err(|error| failed(error.to_string()))?;
        Ok::<f64, Error>(each / bytes(length))
    };
    let whole = PAGE_BYTES - CLEAR_BYTES;
    Ok(AesCost {
        page_decrypt: cost(whole, &|page| aes.mysql_decrypt(&iv, page))?,
        page_encrypt: cost(whole, &|page| aes.mysql_encrypt(&iv, page))?,
        block_encrypt: cost(BLOCK_BYTES, &|block| aes.cbc_encrypt(&iv, block))?,
        stream: cost(whole, &|page| aes.ctr(&iv, page))?,
        message: Some(message(key, iv)?),
    })
}

/// CPU time of a short message.
fn message(key: &[u8], iv: [u8; 16]) -> Result<f64, Error> {
    let (mut bytes, mut result) = ([5; MESSAGE_BYTES], Ok(()));
    let seconds = seconds_each(|| {
        let encrypted = Aes::new(key).map_err(|error| error.to_string());
        let encrypted = encrypted.and_then(|aes| aes.ctr(&iv, &mut bytes).map_err(|error| error.to_string()));
        if encrypted.is_err() {
            result = encrypted;
        }
    });
    result.map(|()| seconds).map_err(|reason| Error::Work { arm: "AES".to_owned(), reason })
}

/// CPU time of a page's checksum, for each byte.
fn page_checksum() -> f64 {
    let mut page = vec![5; PAGE_BYTES];
    let each = seconds_each(|| {
        let checksum = crc32(&page);
        // So that no repetition is left out.
        page[CLEAR_BYTES] = checksum.to_le_bytes()[0];
    });
    each / bytes(PAGE_BYTES)
}

/// CPU time of a switch: two threads wake each other in turn.
fn context_switch() -> io::Result<f64> {
    let (mut here, mut there) = UnixStream::pair()?;
    let other = thread::spawn(move || {
        let mut byte = [0];
        for _ in 0..SWITCHES {
            there.read_exact(&mut byte)?;
            there.write_all(&byte)?;
        }
        io::Result::Ok(thread_seconds())
    });
    let begin = thread_seconds();
    for _ in 0..SWITCHES {
        here.write_all(&[1])?;
        here.read_exact(&mut [0])?;
    }
    let own = thread_seconds() - begin;
    let other = other.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
    Ok((own + other) / f64::from(2 * SWITCHES))
}

/// Median CPU time of a handshake: of the server, and of both sides.
fn handshake(pair: &TlsPair) -> Result<[f64; 2], Error> {
    const HANDSHAKES: usize = 15;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..HANDSHAKES {
        let begin = thread_seconds();
        let done = pair.connect()?;
        times[0].push(done.server_seconds);
        times[1].push(thread_seconds() - begin);
    }
    Ok(times.map(|times| median(&times).unwrap_or_default()))
}

/// CPU time of one side for a short record, and for a long one. Encrypting and decrypting cost about the same.
fn record(pair: &TlsPair) -> Result<[f64; 2], Error> {
    let mut connected = pair.connect()?;
    let mut times = [0.0; 2];
    for (time, size) in times.iter_mut().zip(RECORDS) {
        let message = vec![1; size];
        let mut result = Ok(());
        let each = seconds_each(|| {
            if result.is_ok() {
                result = connected.send(&message);
            }
        });
        result?;
        *time = each / 2.0;
    }
    Ok(times)
}

/// CPU time of an operation that is repeated; the median of several samples.
fn seconds_each(mut operation: impl FnMut()) -> f64 {
    let samples: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let (begin, cpu, mut count) = (Instant::now(), thread_seconds(), 0.0);
            while begin.elapsed() < SAMPLE {
                operation();
                count += 1.0;
            }
            (thread_seconds() - cpu) / count
        })
        .collect();
    median(&samples).unwrap_or_default()
}

#[allow(clippy::cast_precision_loss, reason = "a length of some kilobytes")]
fn bytes(length: usize) -> f64 {
    length as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_cost() {
        let directory = tempfile::tempdir().unwrap();
        let measured = Calibration::measure(directory.path()).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "certificates are removed");
        let AesCost { page_decrypt, page_encrypt, block_encrypt, stream, message } = measured.aes256;
        for each in [page_decrypt, page_encrypt, block_encrypt, stream] {
            assert!((1e-12..1e-6).contains(&each), "{measured:?}");
        }
        assert!(message.is_some_and(|seconds| (1e-9..1e-4).contains(&seconds)), "{measured:?}");
        assert!(measured.record_seconds > 0.0);
        assert_eq!(measured.fault(), None);
        let [checksum, switch] = [measured.page_checksum, measured.context_switch].map(Option::unwrap);
        assert!((1e-12..1e-8).contains(&checksum) && (1e-8..1e-3).contains(&switch), "{measured:?}");
        let wrong = |seconds| Calibration { record_seconds: seconds, ..measured.clone() }.fault();
        assert_eq!(wrong(-1.0), Some("record_seconds is -1".to_owned()));
        for seconds in [f64::NAN, f64::INFINITY, 0.0] {
            assert!(wrong(seconds).is_some(), "{seconds}");
        }
        assert!(Calibration { handshakes: Vec::new(), ..measured.clone() }.fault().is_some());
        let [ecdsa, rsa] = measured.handshakes.as_slice() else { panic!("{measured:?}") };
        assert!(ecdsa.server > 0.0 && ecdsa.server < ecdsa.both, "{measured:?}");
        assert!(rsa.server > ecdsa.server, "an RSA signature costs more than one of ECDSA: {measured:?}");
    }
}
