//! `ALTER TABLESPACE … ENCRYPTION = 'Y'`, which must never run on an encrypted tablespace.
//!
//! Seen on MySQL 9.7.4: after a crash during that statement the server completes the encryption when it starts, but its
//! dictionary may still list the tablespace as unencrypted. The same statement then generates a second key, and every
//! page that is not in memory is lost. Therefore page 0 of the file decides.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use files::regular::{self, Links};
use innodb::{page::layout::MAX_PAGE_BYTES, tablespace::Page0};
use server::dialect::statement::encrypt_tablespace;
use server::quote;

use super::{Leftover, Progress, binlogs};
use crate::{Error, Outcome, Session, control::Requests};

/// Interval at which the server's work on the tablespace is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Time limit for writing dirty pages. An idle server writes all of them within seconds.
const WRITTEN_WITHIN: Duration = Duration::from_secs(60);

/// Encrypts a general tablespace, or `mysql`, in place, unless page 0 says that it is encrypted.
pub(super) fn encrypt(
    session: &mut Session<'_>,
    datadir: &Path,
    name: &str,
    requests: &Requests,
    progress: &Progress<'_>,
    executed: &mut Vec<String>,
) -> Result<Outcome, Error> {
    wait_for_the_server(session, name, requests, progress)?;
    let Some(file) = file_of(session, datadir, name)? else {
        return Ok(Outcome::Skipped { reason: "the tablespace is gone".to_owned() });
    };
    wait_for_page_0(&file, requests, progress)?;
    match declares_encryption(&file) {
        Ok(true) => Ok(Outcome::Skipped { reason: "its bytes are encrypted, whatever the server reports".to_owned() }),
        Ok(false) => {
            binlogs::rotate_long(session, executed)?;
            let sql = encrypt_tablespace(name);
            executed.push(sql.clone());
            session.change(&sql).map(|()| Outcome::Done)
        }
        Err(error) => Ok(Outcome::Failed {
            reason: format!(
                "{}: not changed, because it is not known whether it is encrypted: {error}",
                file.display()
            ),
        }),
    }
}

/// Whether page 0 says that the tablespace is encrypted; false if it cannot be read.
pub(super) fn is_encrypted(session: &mut Session<'_>, datadir: &Path, name: &str) -> Result<bool, Error> {
    let file = file_of(session, datadir, name)?;
    Ok(file.is_some_and(|file| declares_encryption(&file).unwrap_or(false)))
}

/// The leftover for an encrypted tablespace that the server lists as unencrypted.
pub(super) fn misreported(name: &str) -> Leftover {
    Leftover {
        artefact: format!("tablespace {name}"),
        check: audit::checks::MISMATCH.id.to_owned(),
        reason: "its bytes are encrypted, but since a crash during its encryption the server reports it as clear"
            .to_owned(),
        remedy: format!(
            "leave it as it is, and never run {} on it: a second key would make its data unreadable",
            encrypt_tablespace(name)
        ),
        closable: false,
    }
}

/// Waits for the server, which resumes an interrupted change after a crash and blocks others meanwhile.
fn wait_for_the_server(
    session: &mut Session<'_>,
    name: &str,
    requests: &Requests,
    progress: &Progress<'_>,
) -> Result<(), Error> {
    let held = format!(
        "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE OBJECT_TYPE = 'TABLESPACE' \
         AND LOCK_TYPE = 'EXCLUSIVE' AND LOCK_STATUS = 'GRANTED' AND OBJECT_NAME = {}",
        quote::text_in_any_mode(name)
    );
    while session.value(&held)?.is_some_and(|count| count != "0") {
        if requests.cancel() {
            return Err(Error::Canceled);
        }
        progress(&format!("waiting for the server, which is changing the tablespace {name}"));
        sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Waits for page 0 of a new tablespace, which is not on disk until the server writes it.
fn wait_for_page_0(file: &Path, requests: &Requests, progress: &Progress<'_>) -> Result<(), Error> {
    let began = Instant::now();
    while began.elapsed() < WRITTEN_WITHIN && head(file).is_ok_and(|head| Page0::parse(&head).is_err()) {
        if requests.cancel() {
            return Err(Error::Canceled);
        }
        progress(&format!("waiting for the server to write the first page of {}", file.display()));
        sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn file_of(session: &mut Session<'_>, datadir: &Path, name: &str) -> Result<Option<PathBuf>, Error> {
    let sql = format!(
        "SELECT FILE_NAME FROM information_schema.FILES WHERE TABLESPACE_NAME = {} LIMIT 1",
        quote::text_in_any_mode(name)
    );
    Ok(session.value(&sql)?.map(|file| datadir.join(file)))
}

fn head(file: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    regular::open(file, Links::Followed)?.take(MAX_PAGE_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}

fn declares_encryption(file: &Path) -> io::Result<bool> {
    let page0 = Page0::parse(&head(file)?).map_err(io::Error::other)?;
    Ok(page0.declares_encryption())
}
