//! Repeats transactions at the target that collide: loads, applied changes and clients of other tables wait for each
//! other's locks.

use std::{thread::sleep, time::Duration};

use server::Connection;

use crate::{Error, Side};

/// Attempts at a transaction.
const TRIES: u32 = 20;
/// Pause between attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Executes a transaction, and repeats it if a collision has rolled it back. After any other failure the transaction is
/// rolled back when the thread closes its session.
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
            // After a lock wait timeout, only the statement is rolled back.
            Err(error) if error.is_collision() => {
                target(session).query("ROLLBACK").map_err(Error::at(Side::Target))?;
            }
            ended => return ended,
        }
        sleep(PAUSE);
    }
    transaction(session)
}
