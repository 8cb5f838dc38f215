//! Verification waits some milliseconds before it reads a bad unit again, because a server may be
//! writing it. Nobody writes to the inputs of a fuzzer, so short waits are left out.

use std::hint::black_box;

use libc::{c_int, clockid_t, timespec};

/// Makes sure that the linker takes the functions of this module.
pub fn no_waiting() {
    black_box((nanosleep as *const (), clock_nanosleep as *const ()));
}

/// Waits of a second and more are the fuzzer's own.
fn is_short(wanted: *const timespec) -> bool {
    // SAFETY: callers of the system's function pass a pointer that is valid or null.
    unsafe { wanted.as_ref() }.is_some_and(|wanted| wanted.tv_sec == 0)
}

#[unsafe(no_mangle)]
extern "C" fn nanosleep(wanted: *const timespec, left: *mut timespec) -> c_int {
    if is_short(wanted) {
        return 0;
    }
    // SAFETY: the arguments are the caller's.
    let done = unsafe { libc::syscall(libc::SYS_nanosleep, wanted, left) };
    if done == 0 { 0 } else { -1 }
}

#[unsafe(no_mangle)]
extern "C" fn clock_nanosleep(clock: clockid_t, flags: c_int, wanted: *const timespec, left: *mut timespec) -> c_int {
    if flags == 0 && is_short(wanted) {
        return 0;
    }
    // SAFETY: the arguments are the caller's.
    let done = unsafe { libc::syscall(libc::SYS_clock_nanosleep, clock, flags, wanted, left) };
    // This function returns the error that `nanosleep` leaves in `errno`.
    if done == 0 { 0 } else { std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINTR) }
}
