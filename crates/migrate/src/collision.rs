//! Repeats transactions of the target that collide with others: loads, applied changes and clients of other tables wait
//! for each other's locks.

use std::{thread::sleep, time::Duration};

use server::Connection;

use crate::{Error, Side};

/// Attempts at a transaction.
const TRIES: u32 = 20;
/// Pause between them.
const PAUSE: Duration = Duration::from_millis(20);

/// Executes a transaction, and repeats it while it is rolled back because of another one. After any other failure it is
/// not rolled back here: the session ends with the thread.
///
/// # Errors
/// Those of `transaction`.
pub(crate) fn repeat<S>(
    session: &mut S,
    target: impl Fn(&mut S) -> &mut Connection,
    transaction: impl Fn(&mut S) -> Result<(), Error>,
) -> Result<(), Error> {
    for _ in 1..TRIES {
        match transaction(session) {
            // A wait for a lock that took too long has rolled back only its statement.
            Err(error) if error.is_collision() => {
                target(session).query("ROLLBACK").map_err(Error::at(Side::Target))?;
            }
            ended => return ended,
        }
        sleep(PAUSE);
    }
    transaction(session)
}
