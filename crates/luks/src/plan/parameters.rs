//! Parameters for this disk and processor, each with its reason.

use serde::Serialize;

use super::PlanInput;
use crate::RANDOM_KEY_ITERATIONS;
use crate::boot::options::CRYPTTAB;

/// A parameter and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Name of the parameter.
    pub what: &'static str,
    /// The chosen value, as options and tables write it.
    pub value: String,
    /// Why this value, on this disk and processor.
    pub why: String,
}

/// All parameters of the volume, its mount and its start at boot.
#[must_use]
pub fn parameters(input: &PlanInput) -> Vec<Parameter> {
    let parameter = |what, value: &str, why: &str| Parameter { what, value: value.to_owned(), why: why.to_owned() };
    vec![
        cipher(input),
        parameter("key", "512 bits", "XTS takes two keys: this is AES-256"),
        sector(input),
        parameter(
            "key derivation",
            &format!(
                "PBKDF2 with {RANDOM_KEY_ITERATIONS} iterations for the machine's key, Argon2id for the recovery \
                 passphrase"
            ),
            "a random key of 64 bytes cannot be guessed, however cheap a guess; a passphrase can",
        ),
        queues(input),
        discards(input),
        parameter(
            "crypttab options",
            CRYPTTAB,
            "the host boots even without the key, and does not wait for a passphrase that nobody enters",
        ),
        parameter(
            "server unit",
            "RequiresMountsFor=",
            "the server starts after the mount or not at all, and systemd says why; the mount point below is immutable",
        ),
    ]
}

fn cipher(input: &PlanInput) -> Parameter {
    let why = if input.machine.aes_instructions {
        "the processor has AES instructions, and XTS runs in parallel: several GB/s on a core, where CBC encrypts at a \
         quarter of that; `plain64` never repeats, unlike `plain` above 2 TiB"
    } else {
        "the processor has no AES instructions, so that encryption will cost; still AES in XTS, for a wide-block \
         cipher (Adiantum) turns a torn 4096-byte sector into noise as a whole"
    };
    Parameter { what: "cipher", value: "aes-xts-plain64".to_owned(), why: why.to_owned() }
}

fn sector(input: &PlanInput) -> Parameter {
    let physical = input.disk.as_ref().and_then(|disk| disk.physical_block_bytes);
    let why = match physical {
        Some(4096..) => {
            "as the disk's physical blocks and the blocks of the file system: an eighth of the requests of 512"
        }
        _ => {
            "as the blocks of the file system: an eighth of the requests of 512. The disk may tear such a sector when \
             the power fails; with XTS every 16 bytes of it are then old or new, as in a torn page without encryption, \
             which the doublewrite buffer is for"
        }
    };
    Parameter { what: "sector", value: "4096 bytes".to_owned(), why: why.to_owned() }
}

fn queues(input: &PlanInput) -> Parameter {
    let (value, why) = match input.disk.as_ref().and_then(|disk| disk.rotational) {
        Some(true) => ("on", "the disk rotates, and the queues sort what is written"),
        Some(false) => ("off", "the disk does not rotate: the queues only add latency"),
        None => (
            "off",
            "nothing is known of the disk: off is right for one that does not rotate, leave them on for one that does",
        ),
    };
    Parameter { what: "work queues", value: value.to_owned(), why: why.to_owned() }
}

fn discards(input: &PlanInput) -> Parameter {
    let why = match input.disk.as_ref().and_then(|disk| disk.discards) {
        Some(false) => "the disk does not support it",
        _ => "TRIM shows an attacker which blocks are in use; allow it if the disk's wear or speed needs it",
    };
    Parameter { what: "discards", value: "off".to_owned(), why: why.to_owned() }
}
