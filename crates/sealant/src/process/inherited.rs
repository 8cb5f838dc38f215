//! Open files that this process inherited. A server passes many, among them its own state file. While this process
//! keeps them open, the server's changes to them are not complete.
#![allow(unsafe_code, reason = "a number becomes an owned descriptor; see SAFETY")]

use std::os::fd::{FromRawFd, OwnedFd};

/// Closes everything except standard input, output and error. Must be called before this process opens anything.
pub(crate) fn close_inherited() {
    let Ok(items) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<i32> = items.filter_map(|item| item.ok()?.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2 && is_open(*number)) {
        // SAFETY: this runs first, on the only thread, so nothing in this process owns the descriptor: it was
        // inherited. The directory that was listed is closed already, and `is_open` is false.
        drop(unsafe { OwnedFd::from_raw_fd(number) });
    }
}

fn is_open(number: i32) -> bool {
    std::fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_ok()
}
