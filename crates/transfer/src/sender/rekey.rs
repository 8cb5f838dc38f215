//! Sends the unwrapped keys to a receiver that wraps them with its own master key.
//!
//! All keys are sent before any data, so a missing key is reported at once.

use std::time::Instant;

use innodb::{
    crypt::wrapped::Secret,
    keys::{KeySource, NoKeys},
};
use zeroize::Zeroizing;

use crate::{
    error::Error,
    plan::Plan,
    rekey::{KeySink, RekeyFault, unwrap_keys},
    sender::KEEPALIVE_INTERVAL,
    tls::ControlChannel,
    wire::{Control, SecretBytes},
};

/// Sends the unwrapped key of every file that has one; returns the number of files.
pub(super) fn send_keys(
    plan: &Plan,
    keys: Option<&dyn KeySource>,
    control: &mut ControlChannel,
) -> Result<usize, Error> {
    let mut sink = KeySender { control, files: 0, last_sent: Instant::now() };
    unwrap_keys(plan, keys.unwrap_or(&NoKeys), &mut sink).map_err(fault)?;
    let KeySender { control, files, .. } = sink;
    control.send(&Control::UnwrappedEnd { files })?;
    Ok(usize::try_from(files).unwrap_or_default())
}

/// The receiver, and the time of the last message to it.
struct KeySender<'c> {
    control: &'c mut ControlChannel,
    files: u32,
    last_sent: Instant,
}

impl KeySink for KeySender<'_> {
    fn add(&mut self, file: usize, secret: Secret) -> Result<(), Error> {
        let secret = SecretBytes(Zeroizing::new(secret.expose().to_vec()));
        self.control.send(&Control::Unwrapped { file: u32::try_from(file).unwrap_or(u32::MAX), secret })?;
        (self.files, self.last_sent) = (self.files.saturating_add(1), Instant::now());
        Ok(())
    }

    fn keep_alive(&mut self) -> Result<(), Error> {
        if self.last_sent.elapsed() <= KEEPALIVE_INTERVAL {
            return Ok(());
        }
        self.last_sent = Instant::now();
        self.control.send(&Control::Ping)
    }
}

fn fault(fault: RekeyFault) -> Error {
    match fault {
        RekeyFault::NoKeyring { path } => Error::NoKeyring { path },
        RekeyFault::File { path, reason, is_optional: true } => {
            Error::Rekey { path, reason: format!("{reason}; leave it out with --exclude") }
        }
        RekeyFault::File { path, reason, is_optional: false } => Error::Rekey { path, reason },
        RekeyFault::KeyRecords { path, is_kept } => Error::Rekey { path, reason: key_records(is_kept).to_owned() },
        RekeyFault::Transfer(error) => error,
    }
}

/// Advice if the redo log contains wrapped keys. Since MySQL 8.0.30 stopping the server clears the
/// log; before, it is kept.
const fn key_records(is_kept: bool) -> &'static str {
    if is_kept {
        "it holds wrapped keys that recovery could write back, and before MySQL 8.0.30 stopping the server does not \
            clear them; only a server that was shut down cleanly (innodb_fast_shutdown=0 or 1) creates a new log: then \
            leave this one out with --exclude 'ib_logfile*'"
    } else {
        "recovery would restore keys that were wrapped since the last checkpoint; shut the server down cleanly \
            (innodb_fast_shutdown=0 or 1) and send again"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_stopping_does_not_clear_is_recognised() {
        assert!(key_records(false).contains("send again"));
        assert!(key_records(true).contains("--exclude 'ib_logfile*'"));
    }
}
