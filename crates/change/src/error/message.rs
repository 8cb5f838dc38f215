//! Parts of the texts of errors that are put together from lists and figures.

use std::{fmt::Write as _, path::PathBuf};

use files::quantity::sizes;
use keyring::LostKeys;

/// Maximum number of unusable keys that a message names.
const MAX_REASONS: usize = 5;
/// Maximum number of files that a message names.
const MAX_NAMED: usize = 20;

/// The reasons why keys cannot be used, each after a semicolon.
pub(super) fn after_semicolons(lost: &LostKeys) -> String {
    let reasons = lost.reasons();
    let mut text: String = reasons.iter().take(MAX_REASONS).map(|reason| format!("; {reason}")).collect();
    let more = reasons.len().saturating_sub(MAX_REASONS);
    if more > 0 {
        let _ = write!(text, "; {more} more keys cannot be used, which `sealant keys` names");
    }
    text
}

pub(super) fn unopened(files: &[PathBuf]) -> String {
    let mut names = files.iter().take(MAX_NAMED).map(|file| file.display().to_string());
    let first = names.next().unwrap_or_default();
    let others: Vec<String> = names.collect();
    let mut message = format!("the first that it does not open is {first}");
    if !others.is_empty() {
        message.push_str(&format!("; the others are {}", others.join(", ")));
    }
    match files.len().saturating_sub(MAX_NAMED) {
        0 => message,
        more => message + &format!(" and {more} more"),
    }
}

pub(super) fn room(free: u64, needed: u64) -> String {
    let [free, needed] = sizes(free, needed);
    format!("{free} are free on its disk and {needed} are needed")
}

pub(super) fn evidence(remembered: u64, encrypted_files: u64) -> String {
    format!("{encrypted_files} encrypted files, and {remembered} keys in the server's memory")
}

pub(super) fn too_old(tls_version: &Option<String>) -> String {
    let known = |versions| {
        format!("; with tls_version {versions} it offers no TLS 1.2, with which its certificate could be checked")
    };
    tls_version.as_ref().map(known).unwrap_or_default()
}
