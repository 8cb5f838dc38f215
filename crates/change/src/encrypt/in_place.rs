//! `ALTER TABLESPACE … ENCRYPTION = 'Y'`, which must never meet a tablespace that is encrypted already.
//!
//! Seen on MySQL 9.7.4: after a crash during that statement the server finishes the encryption when it
//! starts, but its dictionary can go on calling the tablespace clear. The same statement then makes a
//! second key for it, and every page that is not in memory is lost. So page 0 of the file decides.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use files::regular::{self, Links};
use innodb::tablespace::Page0;

use super::{Leftover, Progress};
use crate::{Error, Outcome, Session, control::Requests, quote};

/// Page 0 is no longer than this.
const LONGEST_PAGE: u64 = 64 << 10;
/// How often the server is asked whether it is still at it.
const PAUSE: Duration = Duration::from_millis(500);
/// A server without work writes all changed pages within seconds.
const WRITTEN_WITHIN: Duration = Duration::from_secs(60);

/// Encrypts a general tablespace, or `mysql`, in place, unless its bytes are encrypted.
pub(super) fn encrypt(
    session: &mut Session<'_>,
    datadir: &Path,
    name: &str,
    requests: &Requests,
    progress: &Progress<'_>,
    ran: &mut Vec<String>,
) -> Result<Outcome, Error> {
    wait_for_the_server(session, name, requests, progress)?;
    let Some(file) = file_of(session, datadir, name)? else {
        return Ok(Outcome::Skipped { reason: "the tablespace is gone".to_owned() });
    };
    wait_for_page_0(&file, requests, progress)?;
    match declares_encryption(&file) {
        Ok(true) => Ok(Outcome::Skipped { reason: "its bytes are encrypted, whatever the server calls it".to_owned() }),
        Ok(false) => {
            let sql = statement(name);
            ran.push(sql.clone());
            session.change(&sql).map(|()| Outcome::Done)
        }
        Err(error) => Ok(Outcome::Failed {
            reason: format!(
                "{}: not touched, since it cannot be seen whether it is encrypted: {error}",
                file.display()
            ),
        }),
    }
}

/// Whether the bytes are encrypted; no if that cannot be seen.
pub(super) fn is_encrypted(session: &mut Session<'_>, datadir: &Path, name: &str) -> Result<bool, Error> {
    let file = file_of(session, datadir, name)?;
    Ok(file.is_some_and(|file| declares_encryption(&file).unwrap_or(false)))
}

/// What people have to know of a tablespace whose bytes are encrypted while the server calls it clear.
pub(super) fn miscalled(name: &str) -> Leftover {
    Leftover {
        artefact: format!("tablespace {name}"),
        check: audit::checks::MISMATCH.id.to_owned(),
        reason: "its bytes are encrypted, but the server calls it clear since a crash during its encryption".to_owned(),
        remedy: format!(
            "leave it so, and never run {} on it: a second key would make what is on disk unreadable",
            statement(name)
        ),
        closable: false,
    }
}

/// What encrypts it.
pub(super) fn statement(name: &str) -> String {
    format!("ALTER TABLESPACE {} ENCRYPTION = 'Y'", quote::name(name))
}

/// After a crash the server goes on with what was interrupted, and keeps others off meanwhile.
fn wait_for_the_server(
    session: &mut Session<'_>,
    name: &str,
    requests: &Requests,
    progress: &Progress<'_>,
) -> Result<(), Error> {
    let held = format!(
        "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE OBJECT_TYPE = 'TABLESPACE' \
         AND LOCK_TYPE = 'EXCLUSIVE' AND LOCK_STATUS = 'GRANTED' AND OBJECT_NAME = {}",
        quote::text(name)
    );
    while session.value(&held)?.is_some_and(|count| count != "0") {
        if requests.cancel() {
            return Err(Error::Canceled);
        }
        progress(&format!("waiting for the server, which changes the tablespace {name} itself"));
        sleep(PAUSE);
    }
    Ok(())
}

/// Page 0 of a tablespace that was just made is none until the server writes it.
fn wait_for_page_0(file: &Path, requests: &Requests, progress: &Progress<'_>) -> Result<(), Error> {
    let began = Instant::now();
    while began.elapsed() < WRITTEN_WITHIN && head(file).is_ok_and(|head| Page0::parse(&head).is_err()) {
        if requests.cancel() {
            return Err(Error::Canceled);
        }
        progress(&format!("waiting for the server to write the first page of {}", file.display()));
        sleep(PAUSE);
    }
    Ok(())
}

fn file_of(session: &mut Session<'_>, datadir: &Path, name: &str) -> Result<Option<PathBuf>, Error> {
    let sql =
        format!("SELECT FILE_NAME FROM information_schema.FILES WHERE TABLESPACE_NAME = {} LIMIT 1", quote::text(name));
    Ok(session.value(&sql)?.map(|file| datadir.join(file)))
}

fn head(file: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    regular::open(file, Links::Followed)?.take(LONGEST_PAGE).read_to_end(&mut head)?;
    Ok(head)
}

fn declares_encryption(file: &Path) -> io::Result<bool> {
    let page0 = Page0::parse(&head(file)?).map_err(io::Error::other)?;
    Ok(page0.declares_encryption())
}
